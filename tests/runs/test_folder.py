import json
import os
from pathlib import Path

import pytest
import torch
from conftest import at_once, lexicon, planted

from demalib import runs
from demalib.config import PAPER_PAIRS, Config, preset
from demalib.data.files import write_json
from demalib.data.tensors import load_mapping
from demalib.errors import DataError
from demalib.evaluation.benchmark import Gold, Known, solve_and_judge
from demalib.pair import make_pair
from demalib.runs.folder import CHECKPOINT, UNFINISHED


def _build(folder: Path, log: Path) -> None:
    def build(work: Path) -> None:
        with log.open("a") as file:
            file.write("x")
        write_json(work / "metrics.json", {"seed": os.getpid()})

    runs.build_run(folder, build)


def test_of_two_processes_one_builds_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    folder = tmp_path / "runs/en-fr/em/0"
    at_once(_build, [(folder, tmp_path / "log")] * 4)
    assert (tmp_path / "log").read_text() == "x" and runs.read_metrics(folder)["seed"]
    assert not list((tmp_path / "runs" / UNFINISHED).rglob("*.lock"))


def _build_again(folder: Path, times: int) -> None:
    def build(work: Path) -> None:
        (work / "alone").touch(exist_ok=False)
        write_json(work / "metrics.json", {})

    for _ in range(times):
        runs.build_run(folder, build, again=True)


def test_lock_files_go_and_still_only_one_builds_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    at_once(_build_again, [(tmp_path / "runs/en-fr/em/0", 25)] * 4)
    assert [path.name for path in (tmp_path / "runs" / UNFINISHED).rglob("*")] == ["en-fr", "em"]


def test_a_failure_keeps_what_it_has_and_leaves_no_lock_held(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    folder = tmp_path / "runs/en-fr/em/0"
    with pytest.raises(DataError, match="no figures; did the run finish"):
        runs.build_run(folder, lambda work: (work / "checkpoint").touch())
    assert (runs.work_dir(folder) / "checkpoint").is_file() and not folder.exists()
    assert runs.build_run(folder, lambda work: write_json(work / "metrics.json", {}))
    assert (folder / "checkpoint").is_file()


def test_unreadable_figures_say_so(tmp_path):
    with pytest.raises(DataError, match="no figures; did the run finish"):
        runs.read_metrics(tmp_path)
    (tmp_path / "metrics.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        runs.read_metrics(tmp_path)


@pytest.mark.parametrize("pair", PAPER_PAIRS)
def test_every_pair_of_the_paper_runs_when_its_vectors_are_there(muse_host, pair):
    muse = {"vectors": "muse", "lexicons": "muse"}
    for recipe, solver in (("laptop", "em"), ("laptop", "procrustes"), ("script", "gradient")):
        short = {"steps": 4, "validate_every": 2} if solver == "gradient" else {}
        metrics = runs.solve(preset(pair, recipe, solver=solver, **muse, **short))
        assert metrics["vectors"] == "muse" and metrics["identical_words"] == 60
        for figures in metrics["results"].values():
            assert figures["csls"]["queries"] == 200
            assert figures["csls"]["p@1"] > 0.95 or solver == "gradient"


@pytest.fixture
def solved(rng):
    src, tgt, _ = planted(rng, n=300, noise=0.5)
    pair, gold = make_pair(src, tgt), Gold(lexicon(150, 250), lexicon(150, 250).reverse())
    return solve_and_judge(pair, gold, Config("en-es", vectors="muse", lexicons="muse"))


def test_everything_of_a_run_is_in_its_folder_and_its_checkpoint_is_gone(solved, tmp_path):
    (tmp_path / CHECKPOINT).touch()
    runs.save_run(tmp_path, solved)
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {
        "mapping.safetensors",
        "config.json",
        "history.json",
        "queries.csv",
        "metrics.json",
    }
    assert runs.read_metrics(tmp_path) == solved.metrics
    assert torch.equal(load_mapping(tmp_path / "mapping.safetensors").W_xy, solved.mapping.W_xy)
    history = json.loads((tmp_path / "history.json").read_text())
    assert history["round"] == solved.mapping.history["round"].tolist()
    assert json.loads((tmp_path / "config.json").read_text()) == solved.mapping.info


def test_queries_come_back_by_direction_and_metric(solved, tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    config = solved.mapping.config
    runs.save_run(runs.run_dir(config), solved)
    for direction, by_metric in solved.judged.items():
        for metric, judged in by_metric.items():
            found = runs.read_queries(config, direction, metric)
            assert found["query"].tolist() == judged["query"].tolist()
            assert found["position"].tolist() == judged["position"].tolist()
    with pytest.raises(DataError, match="queries.csv: no such file; run it again"):
        runs.read_queries(config.replace(seed=9), "aa-bb")


def test_a_run_has_its_place_and_is_built_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    folder = runs.run_dir(preset("en-fr", seed=3, ablate="prior"))
    assert folder == tmp_path / "runs" / "en-fr" / "em,ablate=prior" / "3"
    assert runs.work_dir(folder) == tmp_path / "runs" / UNFINISHED / "en-fr/em,ablate=prior/3"


def test_only_finished_runs_count(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    for seed in (1, 0):
        write_json(runs.run_dir(preset("en-fr", seed=seed)) / "metrics.json", {"seed": seed})
    runs.run_dir(preset("en-fr", seed=2)).mkdir(parents=True)
    unfinished = runs.work_dir(runs.run_dir(preset("en-fr", seed=3)))
    write_json(unfinished / "metrics.json", {"seed": 3})
    assert runs.finished_runs() == [{"seed": 0}, {"seed": 1}]


def test_the_project_is_found_from_below_and_nowhere_else(tmp_path, monkeypatch):
    marker = tmp_path / "project" / "notebooks" / "jupytext.toml"
    below = tmp_path / "project" / "a" / "b"
    for folder in (marker.parent, below):
        folder.mkdir(parents=True)
    marker.touch()
    assert runs.project_root(below) == tmp_path / "project"
    with pytest.raises(DataError, match="not inside a checkout of demalib"):
        runs.project_root(tmp_path)
    monkeypatch.chdir(below)
    assert runs.results_dir() == tmp_path / "project" / "results"


@pytest.mark.parametrize(
    "settings, found",
    [
        ({"solver": "sl-unsup"}, True),
        ({"solver": "em", "hints": "none"}, True),
        ({"solver": "em"}, False),
        ({"solver": "em+lexicon", "hints": "none"}, False),
        ({"solver": "identical", "hints": "none"}, False),
        ({"solver": "sl-unsup", "commit": "of another day"}, False),
        ({"solver": "sl-unsup", "seed": 1}, False),
    ],
)
def test_a_system_without_hints_is_solved_once_for_all_lexicons(
    solved, settings, found, tmp_path, monkeypatch
):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    monkeypatch.setattr("demalib.runs.folder.commit", lambda: "0123456789")
    commit, seed = settings.pop("commit", "0123456789"), settings.pop("seed", 0)
    done = preset("en-fr", **settings, lexicons="bundled")
    metrics = solved.metrics | {"commit": commit, "cpu_seconds": 7.5}
    runs.save_run(runs.run_dir(done), solved._replace(metrics=metrics))
    known = runs.known_map(done.replace(lexicons="muse", seed=seed))
    assert runs.known_map(done) is None and (known is not None) == found
    if known:
        assert torch.equal(known.mapping.W_xy, solved.mapping.W_xy)
        assert known.mapping.config.lexicons == "muse" and known.metrics["cpu_seconds"] == 7.5


def test_a_known_map_is_judged_and_not_solved_again(solved, rng, monkeypatch):
    src, tgt, _ = planted(rng, n=300, noise=0.5)
    pair, gold = make_pair(src, tgt), Gold(lexicon(100, 200), lexicon(100, 200).reverse())
    monkeypatch.setattr("demalib.evaluation.benchmark.align", None)
    known = Known(solved.mapping, solved.metrics | {"cpu_seconds": 7.5})
    again = solve_and_judge(pair, gold, solved.mapping.config, known=known)
    assert again.mapping is solved.mapping and again.metrics["cpu_seconds"] == 7.5
    queries = next(iter(again.judged.values()))["csls"]["query"]
    assert set(queries) == {f"src{i}" for i in range(100, 200)}
