"""Promises of the project as a whole."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def names(text):
    return {re.match(r"[\w-]+", item)[0] for item in re.findall(r'"([^"]+)"', text)}


def test_environment_lists_every_dependency():
    project = (ROOT / "pyproject.toml").read_text()
    lists = re.findall(
        r"^(?:dependencies|notebooks|fasttext|cluster|dev) = \[(.*?)\]$", project, re.M | re.S
    )
    wanted = set().union(*map(names, lists)) - {"demalib"}
    listed = set(re.findall(r"^\s+- ([\w-]+)", (ROOT / "environment.yml").read_text(), re.M))
    assert wanted <= listed


def test_constraints_pin_torch_for_everyone():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert "torch==2.13.0" in lines
    assert "-c constraints.txt" in (ROOT / "environment.yml").read_text()
    assert "-c constraints.txt" in (ROOT / "Makefile").read_text()


def test_demalib_imports_without_jupyter():
    code = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"IPython", "ipywidgets", "papermill", "jupytext", "nbval",
                                  "jupyter_client", "nbformat", "gensim", "dask", "distributed"}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import demalib, demalib.cli, demalib.plots
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_public_names_exist_and_explain_themselves():
    import demalib

    for name in demalib.__all__:
        assert getattr(demalib, name).__doc__, name


@pytest.mark.parametrize("path", sorted((ROOT / "demalib").glob("*.py")), ids=lambda p: p.name)
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 300
