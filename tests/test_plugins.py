import sys

import pytest

from demalib.errors import DataError
from demalib.plugins import find_plugin, use_working_folder
from demalib.solvers import get_solver

GROUP = "demalib.solvers"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of one's own in the working folder."""
    (tmp_path / "my_solver.py").write_text(
        "def fit(pair, config):\n    pass\n\nfit.hint = 'none'\nx = 1\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "before")
    yield "my_solver"
    sys.modules.pop("my_solver", None)


def test_a_function_of_a_module_in_the_working_folder_is_a_solver(module, tmp_path):
    use_working_folder(["em"])
    with pytest.raises(DataError, match="my_solver:fit: cannot be imported .*PYTHONPATH"):
        get_solver("my_solver:fit")
    use_working_folder(["my_solver:fit"])
    solver = get_solver("my_solver:fit")
    assert solver.fit.__name__ == "fit" and solver.hint == "none"
    import os

    assert os.environ["PYTHONPATH"] == f"{tmp_path}{os.pathsep}before"  # for kernels
    with pytest.raises(DataError, match="no attribute 'missing'"):
        find_plugin(GROUP, "my_solver:missing")
    with pytest.raises(DataError, match="not a function fit"):
        find_plugin(GROUP, "my_solver:x")


def test_an_installed_package_adds_solvers_by_an_entry_point(module, tmp_path):
    use_working_folder(["my_solver:fit"])
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[demalib.solvers]\nmine = my_solver:fit\n")
    assert get_solver("mine").fit.__module__ == "my_solver"
    with pytest.raises(DataError, match="unknown solver 'emm'; use one of em, .*module:function"):
        get_solver("emm")
