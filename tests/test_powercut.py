"""Power cuts: after each, the old result, the new one, or none; the new one once it was said."""

import os

import pytest
from chaos.disk import cut
from chaos.powercut import CASES, power_cuts


@pytest.mark.parametrize("name", CASES)
def test_nothing_but_whole_results_survive_a_power_cut(name):
    tried, wrong = power_cuts(name, seed=1, most=40)
    assert wrong == [] and tried > 10


def replace(root, *flushed):
    """Write a file anew and rename it; flush the file, the folder, both or none."""
    with open(root / "aside", "w") as file:
        file.write("new" * 100)
        file.flush()
        if "file" in flushed:
            os.fsync(file.fileno())
    os.replace(root / "aside", root / "result")
    if "folder" in flushed:
        handle = os.open(root, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


@pytest.mark.parametrize(
    ("flushed", "left"),
    [
        ((), {"old", "new", "damaged"}),
        (("file",), {"old", "new"}),
        (("folder",), {"new", "damaged"}),
        (("file", "folder"), {"new"}),
    ],
)
def test_the_states_are_those_that_the_flushes_allow(tmp_path, flushed, left):
    (tmp_path / "disk").mkdir()
    result = tmp_path / "disk" / "result"
    result.write_text("old" * 100)
    found = set()

    def judge(done):
        text = result.read_text()
        if done:
            found.add(next((w for w in ("old", "new") if text == w * 100), "damaged"))
        return ""

    cut(tmp_path / "disk", lambda: replace(tmp_path / "disk", *flushed), judge, seed=0)
    assert found == left
