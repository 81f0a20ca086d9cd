"""The paper's loop: gradients of sampled points, both directions jointly (Section 3).

With ``anneal`` it begins wide, see :mod:`demalib.annealing`; without it, it is the paper's: Adam from
a random start at one variance.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass

import pandas as pd
import torch
from torch import Tensor

import demalib.annealing as annealing
from demalib.em import start_map
from demalib.flow import LinearFlow, Maps, Watch, random_orthogonal
from demalib.losses import Batch, total
from demalib.mixture import WordMixture
from demalib.progress import progress
from demalib.state import NAMES, Checkpoint, Score, State, Tensors

# A short run must forget its first gradients, which are far larger than its last ones.
BETAS = {"one-cycle": (0.9, 0.98), "decay": (0.9, 0.999)}
DTYPES = {"float32": None, "bfloat16": torch.bfloat16}
CHOICES = {
    "schedule": tuple(BETAS),
    "sampling": ("uniform", "frequency"),
    "reduction": ("mean", "sum"),
    "selection": ("last", "unsupervised", "supervised"),
    "matmul_dtype": tuple(DTYPES),
}


@dataclass(frozen=True)
class Settings:
    """What the loop alone needs to know.

    Attributes:
        components: Words per side that are components of the mixtures (Eqs. 3, 5).
        noise_src: Variance of the samples around source words (Eq. 4).
        noise_tgt: Variance of the samples around target words.
        cycle_weight: Weight lambda of back-translation (Eq. 11).
        identical_weight: Weight alpha of the identical words (Eq. 11).
        reduction: ``mean`` or ``sum`` over the identical words.
        sampling: Words are drawn ``uniform``-ly or by ``frequency`` (Eq. 3).
        batch: Samples of either side in a step.
        steps: Number of steps.
        anneal: Begin wide, with orthogonal maps, for the first :data:`demalib.annealing.HELD` of the
            steps; otherwise from a random start with the variances as they are.
        rate: Adam's step size, the highest one of the schedule; annealed, at most
            :data:`demalib.annealing.GENTLE`.
        schedule: ``decay`` (times 0.999999 a step) or ``one-cycle``.
        validate_every: Steps between validations, which are also checkpoints.
        patience: Validations without gain before stopping early; 0 never stops early.
        selection: What picks the best step: ``unsupervised``, ``supervised`` or ``last``.
        matmul_dtype: Numbers that the large products multiply: ``float32``, or ``bfloat16``,
            faster on a GPU and refused on a CPU; sums keep the vectors' own dtype.
    """

    components: int = 10_000
    noise_src: float = 0.01
    noise_tgt: float = 0.01
    cycle_weight: float = 0.5
    identical_weight: float = 60.0
    reduction: str = "mean"
    sampling: str = "uniform"
    batch: int = 512
    steps: int = 500
    anneal: bool = False
    rate: float = 3e-2
    schedule: str = "one-cycle"
    validate_every: int = 100
    patience: int = 0
    selection: str = "last"
    matmul_dtype: str = "float32"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"unknown {name} {getattr(self, name)!r}; use one of {', '.join(known)}"
                )

    def learning_rate(self, step: int) -> float:
        """Adam's step size at a step, counted from 0.

        ``decay`` is the released code's: times 0.999999 at every step. ``one-cycle`` rises along
        a cosine to ``rate`` in the first tenth of the steps and falls to nothing in the rest. If
        annealed, Adam's steps are those after the held ones, and gentle ones.
        """
        rate, steps = self.rate, self.steps - self.held
        if self.anneal:
            rate, step = min(rate, annealing.GENTLE), max(0, step - self.held)
        if self.schedule == "decay":
            return rate * 0.999999**step
        peak = max(1.0, 0.1 * steps)
        if step < peak:
            return rate * (1 + 24 * 0.5 * (1 - math.cos(math.pi * step / peak))) / 25
        left = (step - peak) / max(1.0, steps - peak)
        return rate * 0.5 * (1 + math.cos(math.pi * left))

    @property
    def held(self) -> int:
        """Number of steps that hold the maps orthogonal."""
        return annealing.held_steps(self.steps) if self.anneal else 0


def fit_gradient(
    src: WordMixture,
    tgt: WordMixture,
    v_x: Tensor,
    v_y: Tensor,
    settings: Settings = Settings(),
    *,
    generator: torch.Generator,
    ablate: str = "",
    start: tuple[Tensor, Tensor] | None = None,
    score: Score | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
    signature: str = "",
) -> Maps:
    """Minimise Eq. 11: annealed, or by Adam from a random orthogonal start as the paper does.

    Args:
        src: The source language.
        tgt: The target language.
        v_x: Source vectors of the identical words, ``(K, d)``.
        v_y: Target vectors of the same words, ``(K, d)``.
        settings: Everything about the loop; the mixtures already have its words and noise.
        generator: Source of randomness; the same seed gives the same maps.
        ablate: A part of the objective to leave out (Table 4), see :func:`demalib.losses.total`.
        start: Maps to start from, ``(d, d)`` each. If left out, those that the identical words
            say (:func:`demalib.em.start_map`) if annealed, else random ones.
        score: Scores of both maps, by which the best validation is picked; the last if left out.
        watch: Called at every validation with step, W_xy and W_yx; what it returns goes into
            the history. It cannot influence the run.
        checkpoint: Where the run is saved at every validation, and taken up again.
        signature: What else must agree for a checkpoint to be of the same run.

    Returns:
        The maps of the best validation, for each direction its own.
    """
    if (settings.selection != "last") != (score is not None):
        raise ValueError(f"selection {settings.selection!r} and score do not fit together")
    if start is None and settings.anneal and len(v_x):
        W = start_map(v_x.T @ v_y)
        start = W, W.T
    state = _fresh(src, settings, generator, start)
    signature = json.dumps([asdict(settings), ablate, signature])
    if checkpoint:
        checkpoint.load(signature, state.restore)
    identical = (v_x, v_y) if len(v_x) and ablate != "identical" else None
    began, done = time.perf_counter(), state.history[-1]["seconds"] if state.history else 0.0
    bar = progress(total=settings.steps, initial=state.step, desc="gradient", unit="step")
    while state.step < settings.steps:
        if settings.patience and state.stale >= settings.patience:
            break
        finite, parts = _step(state, src, tgt, identical, settings, ablate)
        if not finite:
            raise ValueError(_explain_failure(state, parts, checkpoint, signature))
        bar.update()
        if state.step % settings.validate_every == 0 or state.step == settings.steps:
            record = {"step": state.step, "seconds": done + time.perf_counter() - began}
            record["rate"] = settings.learning_rate(state.step - 1)
            record |= _shape(state, src, tgt, settings, ablate != "prior")
            record |= (losses := {name: float(part) for name, part in parts.items()})
            state.validate(record, score)
            if watch:
                paused = time.perf_counter()
                record |= watch(state.step, *(flow.W.detach() for flow in state.flows))
                began += time.perf_counter() - paused
            bar.set_postfix({name: f"{loss:.3f}" for name, loss in losses.items()})
            if checkpoint:
                checkpoint.save(signature, *state.dump())
    bar.close()
    W_xy, W_yx = (state.best.get(n, f.W.detach()) for n, f in zip(NAMES, state.flows, strict=True))
    return Maps(W_xy, W_yx, pd.DataFrame(state.history))


def _fresh(
    src: WordMixture,
    settings: Settings,
    generator: torch.Generator,
    start: tuple[Tensor, Tensor] | None,
) -> State:
    """Begin with random orthogonal maps (Section 5.2), or with given ones."""
    d = src.centers.shape[1]
    maps = start or (random_orthogonal(d, generator), random_orthogonal(d, generator))
    flows = [LinearFlow(d, weight=W.to(src.centers)) for W in maps]
    adam = torch.optim.Adam([flow.W for flow in flows], settings.rate, BETAS[settings.schedule])
    return State((flows[0], flows[1]), adam, generator)


def _shape(
    state: State, src: WordMixture, tgt: WordMixture, settings: Settings, by_rank: bool
) -> dict[str, float]:
    """Describe a validation: variances, effective candidates, extreme singular values of W."""
    if state.step <= settings.held:
        words = annealing.stage_of(state.step - 1, settings.held)[0].words
        src, tgt = annealing.mixtures(state, src, tgt, words)
    record = {"sigma2_src": src.sigma2, "sigma2_tgt": tgt.sigma2}
    for direction, flow, a, b in zip(
        ("xy", "yx"), state.flows, (src, tgt), (tgt, src), strict=True
    ):
        W = flow.W.detach()
        values = torch.linalg.svdvals(W)
        record |= {
            f"candidates_{direction}": annealing.effective_candidates(a.centers @ W, b, by_rank),
            f"smallest_{direction}": float(values[-1]),
            f"largest_{direction}": float(values[0]),
        }
    return record


def _step(
    state: State,
    src: WordMixture,
    tgt: WordMixture,
    identical: tuple[Tensor, Tensor] | None,
    settings: Settings,
    ablate: str,
) -> tuple[bool, Tensors]:
    """Take one step if the loss is finite; return whether it was, and its parts."""
    uniform, size, held = settings.sampling == "uniform", settings.batch, state.step < settings.held
    lam, alpha, (there, back) = settings.cycle_weight, settings.identical_weight, state.flows
    alpha *= annealing.IDENTICAL if settings.anneal else 1
    if held:
        lam *= annealing.CYCLE
        there, back = annealing.Rotation(there), annealing.Rotation(back)
        size *= annealing.FIRST_BATCH if state.step == 0 else 1
        src, tgt = annealing.narrow(state, src, tgt, settings.held, ablate != "prior")
    elif settings.anneal:
        src, tgt = annealing.calm(src, tgt)
    x, y = (Batch.draw(m, size, state.generator, uniform) for m in (src, tgt))
    left_out = {ablate} - {""} | ({"identical"} if identical is None else set())
    loss, parts = total(
        there,
        back,
        x,
        y,
        identical,
        lam=lam,
        alpha=alpha,
        ablate=left_out,
        reduction=settings.reduction,
        matmul_dtype=DTYPES[settings.matmul_dtype],
    )
    finite = bool(torch.isfinite(loss))
    if finite:
        state.adam.zero_grad()
        loss.backward()
        if held:
            memory = annealing.stage_of(state.step, settings.held)[0].memory
            annealing.turn(state, x, y, memory, density="density" not in left_out)
        else:
            for group in state.adam.param_groups:
                group["lr"] = settings.learning_rate(state.step)
            state.adam.step()
        state.step += 1
    return finite, parts


def _explain_failure(
    state: State, parts: Tensors, checkpoint: Checkpoint | None, signature: str
) -> str:
    """The loss is NaN or infinite: keep the last good state and say so."""
    values = ", ".join(f"{name} {float(part):.4g}" for name, part in parts.items())
    text = f"gradient: the loss is not finite at step {state.step + 1} ({values}); lower the rate "
    text += "or raise the variances"
    if checkpoint:
        text += f"; the state before it is in {checkpoint.save_last_good(signature, *state.dump())}"
    return text
