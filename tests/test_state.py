import pytest
import torch

from demalib.flow import LinearFlow
from demalib.state import NAMES, State


@pytest.fixture
def fresh(gen):
    def make():
        flows = (LinearFlow(3, gen), LinearFlow(3, gen))
        return State(flows, torch.optim.Adam([flow.W for flow in flows]), gen)

    return make


def test_a_state_is_taken_up_with_all_that_a_held_step_needs(fresh):
    state = fresh()
    state.step, state.sigma2 = 7, [0.03, 0.04]
    state.pull = {name: torch.full((3, 3), float(k)) for k, name in enumerate(NAMES)}
    state.history = [{"step": 7, "seconds": 1.0}]
    other = fresh()
    other.restore(*state.dump())
    assert (other.step, other.sigma2, other.history) == (7, [0.03, 0.04], state.history)
    for name, flow, kept in zip(NAMES, state.flows, other.flows, strict=True):
        assert torch.equal(flow.W, kept.W) and torch.equal(state.pull[name], other.pull[name])


@pytest.mark.parametrize("broken", ["W_xy", "pull.W_yx"])
def test_a_broken_tensor_is_refused(fresh, broken):
    state = fresh()
    state.pull = {name: torch.zeros(3, 3) for name in NAMES}
    tensors, facts = state.dump()
    tensors[broken] = tensors[broken][:2]
    with pytest.raises(ValueError, match=f"{broken} is broken"):
        fresh().restore(tensors, facts)


def test_a_state_between_two_validations_is_taken_up(fresh):
    state = fresh()
    state.step, state.history = 9, [{"step": 5, "seconds": 1.0}]
    other = fresh()
    other.restore(*state.dump())
    assert other.step == 9
    state.step = 4
    with pytest.raises(ValueError, match="do not agree"):
        fresh().restore(*state.dump())
