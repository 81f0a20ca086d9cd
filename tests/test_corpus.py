"""What the fuzzer found: each input of its corpus is read or refused (make fuzz grows it)."""

from pathlib import Path

import pytest
from chaos.samples import samples
from chaos.seeds import CORPUS, targets

INPUTS = sorted(CORPUS.iterdir())


def test_the_corpus_keeps_the_contract_and_is_small(tmp_path):
    found = targets(tmp_path)
    assert len(found) == len(samples()) + 2 and INPUTS
    assert sum(path.stat().st_size for path in INPUTS) < 100_000
    for path in INPUTS:
        found_by, data = path.read_bytes()[:1], path.read_bytes()[1:]
        found[found_by[0] % len(found)](data)


def test_a_breach_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr("chaos.seeds.plain_name", lambda name: name)
    with pytest.raises(AssertionError):
        targets(tmp_path)[-2](b"../x")
    assert Path("/folder", "../x").parent != Path("/folder")
