import json

import pytest

from demalib.errors import DataError
from demalib.evaluation.compare import compare_runs, runs_table


def write_run(folder, positions, name="em", pair="de-sv", direction="de-sv"):
    folder.mkdir(parents=True)
    lines = [f"{direction},csls,w{i},{p}" for i, p in positions.items()]
    text = "\n".join(["direction,retrieval,query,position", *lines]) + "\n"
    (folder / "queries.csv").write_text(text)
    share = sum(p == 1 for p in positions.values()) / len(positions)
    figures = {"p@1": share, "ci95": [share - 0.1, share + 0.1], "copy": 0.0, "coverage": 1.0}
    facts = {"pair": pair, "name": name, "solver": name, "seed": 0, "vectors": "own", "torch": "2"}
    facts |= {"lexicon_source": "own", "lexicons": {direction: "x"}, "date": "2026-01-01"}
    facts["results"] = {direction: {"csls": figures | {"queries": len(positions)}}}
    (folder / "metrics.json").write_text(json.dumps(facts))
    return folder


def test_runs_are_compared_on_the_queries_that_both_have(tmp_path):
    a = write_run(tmp_path / "a", {i: 1 if i < 90 else 5 for i in range(100)})
    b = write_run(tmp_path / "b", {i: 1 if i < 60 else 5 for i in range(10, 120)})
    (row,) = compare_runs(a, b).to_dict("records")
    assert row["direction"] == "de-sv" and row["queries"] == 90
    assert row["first"] == pytest.approx(100 * 80 / 90)
    assert row["second"] == pytest.approx(100 * 50 / 90)
    assert row["difference"] == pytest.approx(100 * 30 / 90) and row["p"] < 0.001
    assert row["low"] < row["difference"] < row["high"] and row["low"] > 0
    assert compare_runs(a, a)["p"].item() == 1


def test_runs_of_different_pairs_are_not_compared(tmp_path):
    a = write_run(tmp_path / "a", {1: 1})
    b = write_run(tmp_path / "b", {1: 1}, direction="en-fr")
    with pytest.raises(DataError, match="no query in common under csls"):
        compare_runs(a, b)
    with pytest.raises(DataError, match="no figures; did the run finish"):
        compare_runs(a, tmp_path / "none")


def test_all_runs_in_one_table(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    with pytest.raises(DataError, match="no finished run"):
        runs_table()
    write_run(tmp_path / "runs/de-sv/em/0", {i: 1 + i % 2 for i in range(100)})
    write_run(tmp_path / "runs/de-sv/mine:fit/0", {i: 1 for i in range(100)}, "mine:fit")
    (row,) = runs_table().to_dict("records")
    assert row["direction"] == "de-sv" and row["data"] == "own, own"
    assert row["em"] == "50.0 [40.0, 60.0]" and row["mine:fit"].startswith("100.0 [")
