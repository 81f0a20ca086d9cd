import os
import subprocess
import sys
from pathlib import Path

import pytest

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


WITHOUT_JUPYTER = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"papermill", "IPython", "nbformat", "nbclient", "traitlets"}:
            raise ImportError(f"No module named {name!r}")
sys.meta_path.insert(0, Block())
from demalib.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "command, told",
    [
        (f"run {TRAIN}", "pip install 'demalib[notebooks]'"),
        (f"sweep --notebook {TRAIN} --pairs en-fr", "pip install 'demalib[notebooks]'"),
        ("run notebooks/02_train.ipynb", "clone the project"),
        ("sweep --pairs en-fr", "clone the project"),
        ("table", "clone the project and change into it, or name a folder"),
    ],
)
def test_installed_alone_a_command_says_what_it_lacks_in_one_line(command, told, tmp_path):
    """As from a wheel: no Jupyter, and a working folder that is no checkout."""
    code = [sys.executable, "-c", WITHOUT_JUPYTER, *command.split()]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
