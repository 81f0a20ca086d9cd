import importlib
import pkgutil

import pytest

import demalib
from demalib import errors
from demalib.cli import main
from demalib.runs.notebooks import NotebookError


def test_a_data_error_is_a_value_error_that_is_imported_from_one_place():
    assert issubclass(errors.DataError, ValueError) and demalib.DataError is errors.DataError
    for found in pkgutil.walk_packages(demalib.__path__, "demalib."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            assert getattr(module, "DataError", errors.DataError) is errors.DataError, found.name


def test_the_command_line_shows_a_data_error_as_one_line(monkeypatch, capsys):
    def fail(args):
        raise errors.DataError("a.vec:3: wrong; do that")

    monkeypatch.setattr("demalib.cli.aligned.info", fail)
    assert main(["info", "x"]) == 2
    assert capsys.readouterr().err == "demalib info: a.vec:3: wrong; do that\n"


def test_other_errors_are_not_swallowed(monkeypatch):
    def fail(args):
        raise KeyError("a slip of ours")

    monkeypatch.setattr("demalib.cli.aligned.info", fail)
    with pytest.raises(KeyError):
        main(["info", "x"])


def test_a_failed_notebook_is_a_data_error_with_its_traceback(tmp_path):
    error = NotebookError("02 failed", "line 1\nline 2", tmp_path / "02.ipynb")
    assert isinstance(error, errors.DataError) and error.traceback == "line 1\nline 2"
    assert str(error).startswith("02 failed (kept with its traceback: ")
