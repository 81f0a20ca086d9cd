from pathlib import Path

import nbformat
import pytest

from demalib import runs
from demalib.cli import main
from demalib.config import preset
from demalib.errors import DataError
from demalib.runs import notebooks
from demalib.runs.folder import UNFINISHED

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
    assert not list((runs.results_dir() / "runs" / UNFINISHED).rglob(".old-*"))


def test_the_train_notebook_downloads_and_runs_a_pair_of_the_paper(muse_host, capsys):
    notebook = Path(__file__).parents[2] / "notebooks" / "02_train.ipynb"
    assert main(["run", str(notebook), "-p", "pair", "en-es", "-p", "max_vocab", "0"]) == 0
    assert "en-es, solver em, seed 0" in capsys.readouterr().out
    assert runs.read_metrics(runs.run_dir(preset("en-es")))["results"]["es-en"]["csls"]["p@1"] > 0.9


def test_parameters_are_the_defaults_and_what_was_given(notebook):
    shown = notebooks.notebook_parameters(notebook, {"seed": 7})
    assert shown["seed"] == 7 and shown["pair"] == "en-fr" and shown["max_vocab"] == 5000
    with pytest.raises(DataError, match=r"train\.ipynb: no parameter colour, sedd; it has ablate"):
        notebooks.notebook_parameters(notebook, {"sedd": 1, "colour": 2})
    with pytest.raises(DataError, match="no such notebook"):
        notebooks.notebook_parameters(notebook.with_name("none.ipynb"), {})


def test_the_settings_of_a_run_are_those_of_its_preset_and_its_parameters(notebook):
    config = notebooks.run_config(notebook, {"seed": 2, "solver": "gradient"})
    assert config == preset("en-fr", seed=2, solver="gradient", max_vocab=5000)


def test_a_failed_cell_is_named_and_the_notebook_is_kept(notebook, tmp_path):
    out = tmp_path / "out.ipynb"
    with pytest.raises(notebooks.NotebookError, match=r"failed in cell \d: RuntimeError: no good"):
        notebooks.execute(notebook, out, {"solver": "procrustes", "folder": str(tmp_path)})
    assert "no good" in out.read_text() and not (tmp_path / "metrics.json").exists()


def test_equal_runs_of_a_grid_are_carried_out_once_and_failures_do_not_stop_the_others(notebook):
    done = []

    def carry_out(_, todo):
        for folder, params in todo.items():
            done.append((params["pair"], params["seed"]))

            def build(work, seed=params["seed"]):
                if seed == 1:
                    raise DataError("seed 1 is bad")
                (work / "metrics.json").write_text("{}")

            yield folder, 0.0, build

    grid = {"pair": ["en-fr", "en-xx"], "seed": [0, 0, 1, 2]}
    table = notebooks.sweep(notebook, grid, {"solver": "gradient"}, carry_out)
    assert done == [("en-fr", 0), ("en-fr", 1), ("en-fr", 2)]
    assert table["outcome"].tolist() == ["done", "skipped", "failed", "done"] + ["failed"] * 4
    assert table["detail"][2] == "seed 1 is bad" and "unknown pair 'en-xx'" in table["detail"][5]
    again = notebooks.sweep(
        notebook, {"pair": ["en-fr"], "seed": [0, 1, 2]}, {"solver": "gradient"}, carry_out
    )
    assert done[3:] == [("en-fr", 1)]
    assert again["outcome"].tolist() == ["skipped", "failed", "skipped"]
