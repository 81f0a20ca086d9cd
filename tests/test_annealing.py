import math

import numpy as np
import pytest
import torch
from conftest import planted
from test_gradient import SMALL, accuracy

from demalib import annealing
from demalib.config import RECIPES, preset
from demalib.em import start_map
from demalib.flow import LinearFlow
from demalib.gradient import Settings
from demalib.losses import Batch, density_loss
from demalib.mixture import WordMixture
from demalib.pair import make_pair
from demalib.solvers import align
from demalib.state import State

ANNEALED = SMALL.replace(anneal=True, steps=100)


@pytest.fixture(scope="module")
def few():
    """A noisy rotation in 40 dimensions, of which 12 identical words say little."""
    src, tgt, _ = planted(np.random.default_rng(0), n=1500, d=40, noise=0.5, shared=12)
    return make_pair(src, tgt)


def test_annealing_finds_what_the_plain_loop_does_not(few):
    config = ANNEALED.replace(components=1500, batch=256)
    assert accuracy(few, align(few, config)) > 0.95
    assert accuracy(few, align(few, config.replace(anneal=False))) < 0.5


def test_history_shows_variances_candidates_and_singular_values(few):
    history = align(few, ANNEALED).history.set_index("step")
    held = history[history.index <= ANNEALED.gradient.held]
    for side in ("src", "tgt"):
        assert held[f"sigma2_{side}"].iloc[-1] < held[f"sigma2_{side}"].max()
        assert history[f"sigma2_{side}"].iloc[-1] == pytest.approx(0.02)
    for way in ("xy", "yx"):
        np.testing.assert_allclose(held[[f"smallest_{way}", f"largest_{way}"]], 1, atol=1e-4)
        assert history[f"largest_{way}"].iloc[-1] > 1.001  # free in the end
        candidates = held[f"candidates_{way}"].iloc[2:]  # once there is a map
        assert candidates.is_monotonic_decreasing and candidates.iloc[0] > 40
        assert candidates.iloc[-1] < 10


def test_a_held_step_never_lowers_the_likelihood_of_its_samples(gen):
    """At one variance and without averaging: the reason why the step needs no rate."""
    x, y = (torch.nn.functional.normalize(torch.randn(n, 6, generator=gen)) for n in (80, 90))
    src, tgt = WordMixture(x, 0.1), WordMixture(y, 0.1)
    a, b = Batch.draw(src, 200, gen), Batch.draw(tgt, 200, gen)
    flows = (LinearFlow(6, gen), LinearFlow(6, gen))
    state, losses = State(flows, torch.optim.Adam([f.W for f in flows]), gen), []
    for _ in range(20):
        state.adam.zero_grad()
        there, back = (annealing.Rotation(flow) for flow in flows)
        loss = density_loss(there, a.points, tgt, a.ranks) + density_loss(
            back, b.points, src, b.ranks
        )
        loss.backward()
        losses.append(loss.item())
        annealing.turn(state, a, b, 0.9, density=True)  # step 0, so nothing is averaged
    falls = -torch.tensor(losses).diff()
    assert falls.min() > -1e-5 and falls[0] > 0.01


def test_candidates_fall_geometrically_over_the_held_steps():
    stages, wanted = zip(*(annealing.stage_of(step, 60) for step in range(60)), strict=True)
    for stage, share in zip(annealing.STAGES, (slice(0, 50), slice(50, 60)), strict=True):
        assert set(stages[share]) == {stage}
        assert wanted[share][0] == stage.first and wanted[share][-1] == pytest.approx(stage.last)
        ratios = np.array(wanted[share][1:]) / np.array(wanted[share][:-1])
        assert np.ptp(ratios) < 1e-12 and ratios[0] < 1


def test_the_start_is_silent_and_its_volume_is_not_asked_for(few, monkeypatch):
    """Twelve words in 40 dimensions: log|det W| of the start is minus infinity."""
    started = []
    real = annealing.narrow

    def narrow(state, *args):
        if state.step == 0:
            started.extend(flow.W.detach().clone() for flow in state.flows)
        return real(state, *args)

    monkeypatch.setattr(annealing, "narrow", narrow)
    align(few, ANNEALED.replace(steps=10))
    x, y = few.hint(ANNEALED)
    torch.testing.assert_close(started[0], start_map(x.T @ y))
    torch.testing.assert_close(started[1], started[0].T)
    assert torch.linalg.slogdet(started[0]).logabsdet < -50


@pytest.mark.parametrize("ablate", ["density", "cycle", "identical", "prior"])
def test_every_part_can_be_left_out(few, ablate):
    mapping = align(few, ANNEALED.replace(ablate=ablate, steps=60, validate_every=60))
    assert mapping.W_xy.isfinite().all()
    found = accuracy(few, mapping)
    assert found > 0.5 if ablate in ("cycle", "prior") else found < 0.5


def test_gentle_steps_follow_the_held_ones():
    settings = Settings(steps=100, anneal=True)
    assert settings.held == 80 and Settings().held == 0
    rates = [settings.learning_rate(step) for step in range(80, 100)]
    assert (
        max(rates) == pytest.approx(annealing.GENTLE, rel=0.01)
        and rates[-1] < 0.1 * annealing.GENTLE
    )
    assert math.isclose(Settings(steps=100).learning_rate(10), 3e-2)


def test_the_papers_recipes_do_not_anneal():
    assert preset("en-fr").gradient.anneal
    assert not any(preset("en-fr", name).gradient.anneal for name in set(RECIPES) - {"laptop"})
