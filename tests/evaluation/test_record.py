import subprocess

import numpy as np
import pytest
from conftest import lexicon, planted

from demalib.config import Config, preset
from demalib.evaluation import record
from demalib.evaluation.benchmark import Gold, make_exclude, solve_and_judge
from demalib.hints import Lexicon
from demalib.pair import make_pair
from demalib.solvers import SOLVERS


def solver(pair, config):
    """A solver of one's own."""


def test_no_reduced_system_calls_itself_published():
    for name, solver in SOLVERS.items():
        said, size = record.settings(preset("en-fr", solver=name))
        if solver.sizes is not None:
            assert said == "reduced" and "(published" in size
        if name.startswith("em"):
            assert said == "ours"
    said, size = record.settings(preset("en-fr", solver="gradient"))
    assert said == "reduced" and "steps 450 (published 150,000)" in size
    assert record.settings(preset("en-fr", "paper", solver="gradient"))[0] == "published"
    other = preset("en-fr", "paper", solver="gradient", tau=9.0)
    assert (
        record.settings(other)[0] == "reduced" and "tau 9.0 (published" in record.settings(other)[1]
    )
    assert record.settings(preset("en-fr", "paper", solver="muse"))[0] == "published"
    assert record.settings(preset("en-fr", solver="evaluation.test_record:solver")) == ("own", "")
    assert record.settings(preset("en-fr", solver="procrustes")) == ("published", "")


@pytest.fixture
def case(rng):
    src, tgt, _ = planted(rng)
    gold = Gold(lexicon(300, 320), Lexicon([("both3", "both3"), ("tgt310", "src310")], "back"))
    return src, tgt, gold


@pytest.mark.parametrize("name", ["em", "em+lexicon", "identical", "procrustes", "sl-unsup"])
def test_hints_are_counted_and_so_are_test_pairs_in_them(case, name):
    src, tgt, gold = case
    pair = make_pair(src, tgt, lexicon(200, 310))  # ten of the test pairs are in the lexicon
    config = Config("aa-bb", solver=name, vectors="files")
    hint = SOLVERS[name].hint
    leaked = record.count_leaks(config, pair, gold)
    assert leaked["aa-bb"] == (10 if hint == "train" else 0)
    wrong = {"em": 1, "em+lexicon": 1, "identical": 1}  # tgt310 is not in the lexicon
    assert leaked["bb-aa"] == wrong.get(name, 0)


def test_the_benchmark_s_hints_hold_no_test_pair(case):
    src, tgt, gold = case
    pair = make_pair(src, tgt, exclude=make_exclude(gold))
    for name in ("em", "identical"):
        leaked = record.count_leaks(Config("aa-bb", solver=name, vectors="files"), pair, gold)
        assert leaked == {"aa-bb": 0, "bb-aa": 0}


def test_a_run_says_what_a_reader_needs(case):
    src, tgt, gold = case
    pair = make_pair(src, tgt, lexicon(200, 300))
    config = Config("aa-bb", solver="procrustes", vectors="files")
    metrics = solve_and_judge(pair, replace_gold(gold), config).metrics
    assert metrics["settings"] == "published" and metrics["config"]["solver"] == "procrustes"
    assert metrics["hint_sizes"] == {"lexicon": 100, "lexicon back": 100}
    assert metrics["cpu"] and metrics["threads"] >= 1 and metrics["torch"]
    assert metrics["peak_gb"] is None or 0.05 < metrics["peak_gb"] < 100


def replace_gold(gold):
    return gold._replace(backward=gold.forward.reverse())


def test_the_peak_of_memory_is_that_since_the_reset():
    if record.peak_gb() is None:
        pytest.skip("this system does not tell")
    record.reset_peak()
    before = record.peak_gb()
    block = np.ones(40_000_000)
    after = record.peak_gb()
    assert after > before + 0.25 and block.any()


def test_the_commit_is_that_of_the_folder(tmp_path):
    assert record.commit(tmp_path) == ""
    for words in ("init -q", "-c user.name=a -c user.email=b commit -q --allow-empty -m x"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    assert len(record.commit(tmp_path)) == 10
    code, results = tmp_path / "code", tmp_path / "results"
    for folder in (code, results):
        folder.mkdir()
        (folder / "file").write_text("old")
    for words in ("add .", "-c user.name=a -c user.email=b commit -q -m y"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    (results / "file").write_text("new")
    assert len(record.commit(code)) == 10  # what runs write does not change the code
    (code / "file").write_text("new")
    assert record.commit(code).endswith("-dirty")
    assert record.commit(tmp_path / "none") == ""
