import os
from pathlib import Path

import nbformat
import numpy as np
import pytest
from conftest import at_once

from demalib import DataError, Embedding, preset, runs, save_embedding
from demalib.cli import main
from demalib.config import PAPER_LANGS, PAPER_PAIRS
from demalib.files import write_json

TRAIN = """
import json, pathlib, time
if solver == "procrustes":
    raise RuntimeError("no good")
calls = pathlib.Path(log).open("a").write("x")
pathlib.Path(folder, "metrics.json").write_text(json.dumps(
    {"pair": pair, "solver": solver, "seed": seed, "seconds": 1.0, "results": {}}))
"""


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook that trains nothing but behaves as 02_train does."""
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))
    head = 'pair = "en-fr"\nsolver = "em"\nseed = 0\nrecipe = "laptop"\nablate = ""\n'
    head += 'max_vocab = 5000\nfolder = ""\n'
    cells = [nbformat.v4.new_code_cell(head, metadata={"tags": ["parameters"]})]
    source = f"log = {str(tmp_path / 'log')!r}" + TRAIN
    cells += [nbformat.v4.new_code_cell(source)]
    path = tmp_path / "train.ipynb"
    plain = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=plain), path)
    return path


def calls(notebook):
    log = notebook.with_name("log")
    return len(log.read_text()) if log.exists() else 0


def test_a_run_is_named_after_what_differs_from_its_preset():
    assert preset("en-fr").name == "em"
    assert preset("en-fr", ablate="prior", max_vocab=500).name == "em,max_vocab=500,ablate=prior"
    assert preset("en-es", "paper", solver="gradient").name == "gradient,recipe=paper"
    assert preset("ja-en", solver="gradient", seed=7, lexicons="muse").name == (
        "gradient,lexicons=muse"
    )


def test_sweep_runs_what_is_missing_and_names_what_failed(notebook, capsys):
    sweep = ["sweep", "--notebook", str(notebook), "--pairs", "en-fr", "--seeds", "0", "1"]
    assert main([*sweep, "--solvers", "gradient"]) == 0
    assert calls(notebook) == 2
    folder = runs.results_dir() / "runs" / "en-fr"
    assert sorted(p.name for p in (folder / "gradient" / "1").iterdir()) == [
        "metrics.json",
        "train.ipynb",
    ]
    capsys.readouterr()
    solvers = ["gradient", "procrustes"]  # the one is there, the other fails
    assert main([*sweep, "--solvers", *solvers]) == 2
    assert calls(notebook) == 2
    out, err = capsys.readouterr()
    assert "skipped    2" in out and "failed     1" in out and "same       1" in out
    assert "1 runs failed" in err and "RuntimeError: no good" in err
    assert not (folder / "procrustes").exists()
    kept = runs.work_dir(folder / "procrustes" / "0") / "train.ipynb"
    assert "no good" in kept.read_text() and str(kept) in err
    assert [m["seed"] for m in runs.finished_runs()] == [0, 1]


def test_a_seed_that_does_not_matter_is_not_run_again(notebook):
    sweep = ["sweep", "--notebook", str(notebook), "--pairs", "en-fr", "--seeds", "1", "2", "3"]
    assert main([*sweep, "--solvers", "em", "--ablate", "none", "identical"]) == 0
    assert [(m["solver"], m["seed"]) for m in runs.finished_runs()] == [("em", 1)] * 2 + [
        ("em", 2),
        ("em", 3),
    ]  # without its hint EM starts at random


def test_a_run_is_repeated_on_demand_and_the_old_one_stays_until_then(notebook, capsys):
    assert main(["run", str(notebook), "-p", "seed", "5"]) == 0
    folder = runs.run_dir(preset("en-fr", seed=5, max_vocab=5000))
    (folder / "note").write_text("old")
    assert main(["run", str(notebook), "-p", "seed", "5", "-p", "solver", "procrustes"]) == 2
    assert (folder / "note").exists()
    assert main(["run", str(notebook), "-p", "seed", "5"]) == 0
    assert calls(notebook) == 2 and not (folder / "note").exists()
    assert not list((runs.results_dir() / "runs" / runs.UNFINISHED).rglob(".old-*"))


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
    assert not list((tmp_path / "runs" / runs.UNFINISHED).rglob("*.lock"))


def _build_again(folder: Path, times: int) -> None:
    def build(work: Path) -> None:
        (work / "alone").touch(exist_ok=False)
        write_json(work / "metrics.json", {})

    for _ in range(times):
        runs.build_run(folder, build, again=True)


def test_lock_files_go_and_still_only_one_builds_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    at_once(_build_again, [(tmp_path / "runs/en-fr/em/0", 25)] * 4)
    assert [path.name for path in (tmp_path / "runs" / runs.UNFINISHED).rglob("*")] == [
        "en-fr", "em"
    ]  # fmt: skip


def test_a_failure_keeps_what_it_has_and_leaves_no_lock_held(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    folder = tmp_path / "runs/en-fr/em/0"
    with pytest.raises(DataError, match="no figures here"):
        runs.build_run(folder, lambda work: (work / "checkpoint").touch())
    assert (runs.work_dir(folder) / "checkpoint").is_file() and not folder.exists()
    assert runs.build_run(folder, lambda work: write_json(work / "metrics.json", {}))
    assert (folder / "checkpoint").is_file()


def test_unreadable_figures_say_so(tmp_path):
    with pytest.raises(DataError, match="no figures here"):
        runs.read_metrics(tmp_path)
    (tmp_path / "metrics.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        runs.read_metrics(tmp_path)


@pytest.fixture
def muse_host(server, rng, tmp_path, monkeypatch):
    """A host with small vectors and dictionaries of every language of the paper."""
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    for folder in ("fasttext/vectors-wiki", "arrival/dictionaries"):
        (server / folder).mkdir(parents=True)
    x = rng.standard_normal((400, 12)).astype(np.float32)
    for lang in ("en", *PAPER_LANGS):
        turn, _ = np.linalg.qr(rng.standard_normal((12, 12)))
        words = [f"both{i}" if i < 60 else f"{lang}{i}" for i in range(400)]
        y = (x @ turn + 0.02 * rng.standard_normal((400, 12))).astype(np.float32)
        save_embedding(server / f"fasttext/vectors-wiki/wiki.{lang}.vec", Embedding(words, y, lang))
        for split, (low, high) in {"0-5000": (60, 200), "5000-6500": (200, 400)}.items():
            lines = [(f"en{i}", f"{lang}{i}") for i in range(low, high)]
            for a, b, flip in (("en", lang, 1), (lang, "en", -1)):
                text = "".join(" ".join(line[::flip]) + "\n" for line in lines)
                (server / f"arrival/dictionaries/{a}-{b}.{split}.txt").write_text(text)
    return server


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


def test_the_train_notebook_downloads_and_runs_a_pair_of_the_paper(muse_host, capsys):
    notebook = Path(__file__).parents[1] / "notebooks" / "02_train.ipynb"
    assert main(["run", str(notebook), "-p", "pair", "en-es", "-p", "max_vocab", "0"]) == 0
    assert "en-es, solver em, seed 0" in capsys.readouterr().out
    assert runs.read_metrics(runs.run_dir(preset("en-es")))["results"]["es-en"]["csls"]["p@1"] > 0.9
