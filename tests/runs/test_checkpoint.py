import pytest
import torch

from demalib.errors import DataError
from demalib.runs.checkpoint import DiskCheckpoint


@pytest.fixture
def checkpoint(tmp_path):
    return DiskCheckpoint(tmp_path / "c.safetensors")


@pytest.fixture
def state(gen):
    return {"W": torch.randn(3, 3, generator=gen)}, {"step": 7, "history": [{"loss": 0.1}]}


def taken(checkpoint, signature="run"):
    """What a checkpoint has for a run, or None."""
    found = []
    checkpoint.load(signature, lambda *parts: found.append(parts))
    return found[0] if found else None


def test_what_was_saved_is_taken_up_bit_for_bit(checkpoint, state):
    checkpoint.save("run", *state)
    tensors, facts = taken(checkpoint)
    assert torch.equal(tensors["W"], state[0]["W"]) and facts == state[1]
    checkpoint.save("run", {"W": 2 * state[0]["W"]}, {"step": 8})
    assert taken(checkpoint)[1] == {"step": 8}


def test_without_a_file_nothing_is_taken_up(checkpoint):
    assert taken(checkpoint) is None


def test_a_checkpoint_of_another_run_is_refused(checkpoint, state):
    checkpoint.save("run", *state)
    with pytest.raises(DataError, match=r"c\.safetensors: a checkpoint of other settings or other"):
        taken(checkpoint, "another run")


@pytest.mark.parametrize("length", [0, 5, 60, -1])
def test_the_error_for_a_damaged_file_says_what_to_do(checkpoint, state, length):
    checkpoint.save("run", *state)
    checkpoint.path.write_bytes(checkpoint.path.read_bytes()[:length])
    with pytest.raises(DataError, match=r"c\.safetensors: not a valid checkpoint .*; delete it"):
        taken(checkpoint)


def test_a_state_that_does_not_fit_counts_as_damage(checkpoint, state):
    checkpoint.save("run", *state)

    def restore(tensors, facts):
        raise KeyError("adam")

    with pytest.raises(DataError, match="not a valid checkpoint .'adam'.; delete it"):
        checkpoint.load("run", restore)


def test_the_state_before_a_failure_is_kept_beside_the_checkpoint(checkpoint, state, monkeypatch):
    checkpoint.save("run", *state)
    before = checkpoint.path.read_bytes()
    monkeypatch.chdir(checkpoint.path.parent)
    assert checkpoint.save_last_good("run", state[0], {"step": 6}) == "c.last-good.safetensors"
    assert taken(DiskCheckpoint("c.last-good.safetensors"))[1] == {"step": 6}
    assert checkpoint.path.read_bytes() == before
