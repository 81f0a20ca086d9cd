"""Every module has a test file of its name, in a folder that mirrors its room."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = ROOT / "demalib", ROOT / "tests"
MODULES = sorted(
    path.relative_to(PACKAGE)
    for path in PACKAGE.rglob("*.py")
    if path.stem not in ("__init__", "__main__") and "lexicons" not in path.parts
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_test_file(module):
    path = TESTS / module.parent / f"test_{module.name}"
    assert path.is_file() and "\ndef test_" in path.read_text(encoding="utf-8"), path


def test_every_room_of_the_tests_is_one_of_the_package():
    rooms = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert rooms == {module.parent for module in MODULES}
