from chaos import world

from demalib import runs
from demalib.cli import main
from demalib.config import PAPER_PAIRS, REGISTRY_PAIRS
from demalib.data.files import cache_dir
from demalib.evaluation.rivals import RIVALS
from demalib.runs import reproduce
from demalib.runs.notebooks import notebook_parameters


def test_the_plan_has_every_system_pair_lexicon_and_hint():
    planned = reproduce.sweeps(REGISTRY_PAIRS, ("bundled", "muse"), RIVALS, (0,))
    jobs = {
        (pair, solver, params["lexicons"], params.get("hints", ""))
        for grid, params in planned
        for pair in grid["pair"]
        for solver in grid["solver"]
    }
    bundled = {job for job in jobs if job[2] == "bundled"}
    impossible = {("en-zh", name) for name in ("gradient", "identical", "sl-unsup-id")}
    assert not impossible & {job[:2] for job in jobs} and ("en-zh", "em") in {j[:2] for j in jobs}
    assert len(bundled) == len(REGISTRY_PAIRS) * len(RIVALS) - len(impossible)
    assert {pair for pair, _, source, _ in jobs if source == "muse"} <= set(PAPER_PAIRS)
    assert ("en-fr", "em", "muse", "none") in jobs and ("en-fr", "em", "muse", "") in jobs


def test_tables_are_made_with_parameters_that_the_notebooks_have():
    for name, params in (*reproduce.TABLES, *reproduce.ABLATIONS):
        notebook_parameters(name, params)  # refuses unknown ones


def test_a_second_time_nothing_is_run(capsys, tmp_path, monkeypatch):
    world.build(cache_dir() / "muse", 200)
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    command = ["reproduce", "--pairs", "en-es", "--lexicons", "muse", "--no-tables"]
    command += ["--systems", "procrustes", "em,hints=none"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "en-es procrustes 0: done" in first and "en-es em 0: done" in first
    assert {run["name"] for run in runs.finished_runs()} == {"procrustes", "em,hints=none"}
    assert main(command) == 0
    assert capsys.readouterr().out.count("skipped") == 3  # two runs, and the summary


def test_what_cannot_be_run_is_one_line(capsys):
    for words, told in (
        ("--pairs fr-ja --lexicons muse", "on fr-ja: MUSE has lexicons for pairs with English"),
        ("--pairs en-zh --systems identical", "a system that learns from common words needs some"),
        ("--pairs en-fr --systems em,hints", "a setting needs a value"),
    ):
        assert main(["reproduce", "--no-tables", *words.split()]) == 2
        assert told in capsys.readouterr().err
