"""Every single fault: one clear line, the old result or the new one, nothing left behind."""

import os

import pytest
from chaos.single import JOBS, reason_not_to, single_faults

SAMPLE = 1  # fault of each call, and every rename; make chaos injects all

pytestmark = pytest.mark.skipif(bool(reason_not_to()), reason=f"no faults here: {reason_not_to()}")


@pytest.mark.parametrize(
    "name", [name for name in JOBS if name != "notebook"]
)  # that starts kernels
def test_a_call_that_fails_loses_nothing(name):
    counts, breaches = single_faults(name, SAMPLE)
    assert breaches == [] and counts.total() > 5


def test_a_careless_writer_is_noticed(monkeypatch):
    def careless(place):
        path = place / "result"
        path.write_text("old")

        def work():
            path.write_text("")  # from here on there is nothing
            os.mkdir(place / "new")
            path.write_text("new")
            os.rmdir(place / "new")

        return place, work, path.read_text, {"old", "new"}, "new"

    monkeypatch.setitem(JOBS, "careless", careless)
    _, breaches = single_faults("careless")
    assert any("'mkdir'" in text and "but it found ;" in text for text in breaches), breaches
