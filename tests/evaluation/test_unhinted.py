import numpy as np
import pandas as pd
import pytest
from conftest import shaped_pair

from demalib import runs
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.evaluation import benchmark, unhinted
from demalib.hints import Lexicon
from demalib.solvers import SOLVERS


@pytest.fixture(autouse=True)
def made(tmp_path, monkeypatch, rng):
    """One made-up pair of spaces that are alike, and one that cannot be loaded."""
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    pair = shaped_pair(rng)
    sides = tuple(Embedding(side.words, side.vectors, side.lang) for side in (pair.src, pair.tgt))

    def missing(words):
        raise DataError("npm is not installed")

    spaces = {
        "alike": unhinted.Spaces("all", "aa-bb", "bundled", lambda words: sides),
        "missing": unhinted.Spaces("all", "aa-bb", "bundled", missing),
    }
    monkeypatch.setattr(unhinted, "SPACES", spaces)
    lexicons = {
        ("aa", "bb"): Lexicon([(f"src{i}", f"tgt{i}") for i in range(50, 150)], "there"),
        ("bb", "aa"): Lexicon([(f"tgt{i}", f"src{i}") for i in range(50, 150)], "back"),
    }
    monkeypatch.setattr(benchmark, "load_lexicon", lambda a, b, split, source: lexicons[a, b])


def test_what_is_missing_is_measured_once_and_kept():
    said = []
    table = unhinted.measure_all(["alike"], ["em"], 300, said.append)
    done = table[table["seeds"] > 0]
    assert done["direction"].tolist() == ["aa-bb", "bb-aa"] and (done["p@1"] > 90).all()
    assert set(done["name"]) == {"em"} and done["settings"].eq("ours").all()
    path = runs.results_dir() / "tables" / "unhinted.csv"
    assert (pd.read_csv(path)["state"] == "measured").sum() == 2 and len(said) == 1
    more = unhinted.measure_all(["alike"], ["em", "sl-unsup"], 300, said.append)
    done = more[more["seeds"] > 0]
    assert len(done) == 4 and len(more) == len(table) and len(said) == 2  # em is not run again
    assert np.isfinite(done["seconds"].astype(float)).all()
    missing = more[more["seeds"] == 0]
    assert missing["state"].str.startswith("not run: python -m demalib.evaluation.unhinted").all()
    order = [*unhinted.SYSTEMS, *unhinted.HINTED]  # whatever was measured first
    assert list(unhinted.read_table().query("spaces == 'alike'")["name"].unique()) == order


def test_what_this_machine_lacks_is_said_and_the_rest_goes_on():
    said = []
    table = unhinted.measure_all(["missing", "alike"], ["identical"], 300, said.append)
    assert said[0] == "missing, identical: not measured: npm is not installed"
    assert set(table.loc[table["seeds"] > 0, "spaces"]) == {"alike"}


def test_only_systems_without_a_hint_take_part():
    for name in unhinted.SYSTEMS[1:]:
        assert SOLVERS[name].hint == "none"
    assert unhinted.SYSTEMS[0] == "em,hints=none"
