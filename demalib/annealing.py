"""The loop's first part, where the maps are searched for: wide components that narrow.

From a random start the paper's loop finds close languages only. Three things let it find distant
ones: the variances begin wide and narrow by the rule of :mod:`demalib.em`, the effective number of
candidates per word; the start is silent where the identical words say nothing; frequent words come
first. The objective and its gradient are the paper's (Eq. 11, :mod:`demalib.losses`).

The wider the components, the more log|det W| pays for volume, and a free map inflates. So both
maps are held orthogonal, where log|det W| = 0, until the variances are narrow; then they are let
go, and the loop goes on as it is in the paper.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from demalib.em import PROBES, choose_sigma2
from demalib.finish import NOISE as FREE_NOISE
from demalib.flow import LinearFlow
from demalib.losses import Batch
from demalib.mixture import WordMixture
from demalib.procrustes import orthogonal_factor
from demalib.state import NAMES, State

HELD = 0.8  # of all steps; the rest are steps of free maps
NOISE = 0.0005  # variance of samples in held steps; at 0.01 they are twice as long as words
CYCLE = 40.0  # times the weight of the cycle loss in held steps: it ties the maps
IDENTICAL = 1 / 60  # times the weight of the identical words: they said where to start
EVERY = 10  # steps between two choices of the variances
FIRST_BATCH = 8  # batches of the first step, which has no earlier gradients
GENTLE = 3e-3  # Adam's highest rate once the maps are free: they are nearly right


class Stage(NamedTuple):
    """Some held steps: the effective candidates of a word fall from ``first`` to ``last``."""

    share: float  # of all held steps
    words: int  # most frequent words per side that take part
    first: float
    last: float
    memory: float  # how much of the earlier gradients a step keeps


STAGES = (
    Stage(5 / 6, 6_000, 500.0, 3.0, 0.9),  # anneal, on frequent words
    Stage(1 / 6, 20_000, 3.0, 2.0, 0.97),  # take in rarer words, of which there are more to average
)


class Rotation(LinearFlow):
    """The map of a flow while it is held orthogonal, so that its log-volume change is 0."""

    def __init__(self, flow: LinearFlow) -> None:
        torch.nn.Module.__init__(self)
        self.W = flow.W  # the same parameter

    def log_abs_det(self, x: Tensor | None = None) -> Tensor:
        """Zero, also for a silent start, which is not orthogonal yet."""
        return self.W.new_zeros(())


def held_steps(steps: int) -> int:
    """How many of the steps hold the maps orthogonal."""
    return round(HELD * steps)


def stage_of(step: int, held: int) -> tuple[Stage, float]:
    """Find the stage of a held step, and how many effective candidates a word has at it."""
    first, then = STAGES
    early = round(first.share * held)
    stage, done, size = (first, step, early) if step < early else (then, step - early, held - early)
    return stage, stage.first * (stage.last / stage.first) ** (done / max(1, size - 1))


def narrow(
    state: State, src: WordMixture, tgt: WordMixture, held: int, by_rank: bool
) -> tuple[WordMixture, WordMixture]:
    """Make the mixtures of a held step: frequent words only, with variances that fit the maps.

    Source words score mapped target samples, so their variance is chosen under W_yx.

    Args:
        state: The run; its variances are chosen anew at every tenth step.
        src: The source language.
        tgt: The target language.
        held: Number of held steps.
        by_rank: Use the rank prior; otherwise the naive one.
    """
    stage, wanted = stage_of(state.step, held)
    if state.step % EVERY == 0 or state.step == 1:  # at 1 the silent start has become a rotation
        W_xy, W_yx = (flow.W.detach() for flow in state.flows)
        x, y = (side.centers[: stage.words] for side in (src, tgt))
        wanted = min(wanted, min(len(x), len(y)) / 4)
        state.sigma2 = [
            choose_sigma2(a, b, W, wanted, src.tau, by_rank)
            for a, b, W in ((y, x, W_yx), (x, y, W_xy))
        ]
    return mixtures(state, src, tgt, stage.words)


def mixtures(
    state: State, src: WordMixture, tgt: WordMixture, words: int
) -> tuple[WordMixture, WordMixture]:
    """Make both languages of frequent words, with the variances that the run has chosen."""
    return (
        _remake(src, words, state.sigma2[0], NOISE),
        _remake(tgt, words, state.sigma2[1], NOISE),
    )


def calm(src: WordMixture, tgt: WordMixture) -> tuple[WordMixture, WordMixture]:
    """Make the mixtures of the steps that follow the held ones: all words, less noise."""
    return (
        _remake(src, len(src), src.sigma2, FREE_NOISE),
        _remake(tgt, len(tgt), tgt.sigma2, FREE_NOISE),
    )


def _remake(side: WordMixture, words: int, sigma2: float, noise: float) -> WordMixture:
    """The same language with fewer words, another variance and at most some noise."""
    noise = min(noise, side.noise)
    return WordMixture(side.centers[:words], sigma2, side.weights, noise=noise, tau=side.tau)


def effective_candidates(points: Tensor, mixture: WordMixture, by_rank: bool = True) -> float:
    """Count a word's effective candidates: exp of the mean entropy of the posteriors.

    Args:
        points: Mapped words by rank, ``(n, d)``; some of them stand for all.
        mixture: The words that they could be.
        by_rank: Use the rank prior; otherwise the naive one.
    """
    rows = torch.linspace(0, len(points) - 1, min(PROBES, len(points)), device=points.device).long()
    found = mixture.posterior(points[rows], rows + 1 if by_rank else None, entropy=True)
    assert found.candidates is not None
    return float(found.candidates.log().mean().exp())


@torch.no_grad()
def turn(state: State, src: Batch, tgt: Batch, memory: float, density: bool) -> None:
    r"""Take a held step, once the gradients are there: the rotation that they point to.

    On the orthogonal group :math:`\|xW\|` is constant, and without it the log-density is convex in
    W. So the rotation that maximises its linear part, the orthogonal factor of minus its gradient,
    never lowers it. Gradients of samples are averaged over many steps.

    Args:
        state: The run; its flows have their gradients.
        src: The samples of the step.
        tgt: The same for the target language.
        memory: How much of the earlier gradients is kept.
        density: Whether the loss has its densities; without them there is no constant to leave out.
    """
    for name, flow, batch, other in zip(NAMES, state.flows, (src, tgt), (tgt, src), strict=True):
        assert flow.W.grad is not None
        pull = -flow.W.grad
        if density:
            points = batch.points
            pull += points.T @ (points @ flow.W) / (len(points) * other.mixture.sigma2)
        if state.step > 1:  # the gradients of a silent start are no guide for the next steps
            pull = torch.lerp(pull, state.pull[name], memory)
        state.pull[name] = pull
        flow.W.copy_(orthogonal_factor(pull))
