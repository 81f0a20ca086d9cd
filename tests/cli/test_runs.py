import os
import sys
from pathlib import Path

from demalib.cli import main

TRAIN = Path(__file__).parents[2] / "notebooks" / "02_train.ipynb"


def test_a_notebook_refuses_what_it_does_not_declare(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    assert main(["run", "notebooks/02_train.ipynb", "-p", "sedd", "1"]) == 2
    assert "02_train.ipynb: no parameter sedd; it has" in capsys.readouterr().err


SOLVER = """
from demalib.pair import Mapping
from demalib.procrustes import procrustes

def fit(pair, config):
    rows = pair.train
    return Mapping.orthogonal(procrustes(pair.x[rows[:, 0]], pair.y[rows[:, 1]]), pair, config)
"""


def test_own_data_and_own_solvers_enter_sweeps_and_tables(files, capsys, monkeypatch):
    """The pair aa-bb has vectors and lexicons in a folder, and a solver in a file beside it."""
    monkeypatch.setenv("DEMALIB_DATA", str(files))
    monkeypatch.setenv("DEMALIB_RESULTS", str(files / "results"))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(files)
    for split in ("train", "test"):
        (files / f"{split}.txt").rename(f"aa-bb.{split}.txt")
    (files / "my_solver.py").write_text(SOLVER)
    sweep = f"sweep --pairs aa-bb --solvers procrustes my_solver:fit --seeds 0 --notebook {TRAIN}"
    assert main(sweep.split()) == 0
    folders = [f"results/runs/aa-bb/{name}/0" for name in ("procrustes", "my_solver:fit")]
    capsys.readouterr()
    assert main(["compare", *folders]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert rows[0].split()[:2] == ["direction", "queries"]
    assert rows[1].split()[:5] == ["aa-bb", "200", "100.0", "100.0", "0.0"]
    assert main(["table"]) == 0
    out = capsys.readouterr().out
    assert "my_solver:fit" in out and "own, own" in out and "bb-aa" in out
    assert main(["table", "--csv", "table.csv"]) == 0
    assert (files / "table.csv").read_text().startswith("direction,data,")
    sys.modules.pop("my_solver", None)
