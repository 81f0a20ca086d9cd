"""The paper's loop: Adam on sampled points, both directions jointly (Section 3)."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import pandas as pd
import torch
from torch import Tensor

from demalib.flow import LinearFlow, Maps, Watch, random_orthogonal
from demalib.losses import Batch, total
from demalib.mixture import WordMixture
from demalib.progress import progress

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
NAMES = ("W_xy", "W_yx")
Tensors = dict[str, Tensor]
Facts = dict[str, Any]
Score = Callable[[Tensor, Tensor], tuple[float, float]]  # (W_xy, W_yx) -> one for each


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
        rate: Adam's step size, the highest one of the schedule.
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
        a cosine to ``rate`` in the first tenth of the steps and falls to nothing in the rest.
        """
        if self.schedule == "decay":
            return self.rate * 0.999999**step
        peak = max(1.0, 0.1 * self.steps)
        if step < peak:
            return self.rate * (1 + 24 * 0.5 * (1 - math.cos(math.pi * step / peak))) / 25
        left = (step - peak) / max(1.0, self.steps - peak)
        return self.rate * 0.5 * (1 + math.cos(math.pi * left))


class Checkpoint(Protocol):
    """Where a run is kept between two starts; :mod:`demalib.runs.checkpoint` has one on disk."""

    def load(self, signature: str, restore: Callable[[Tensors, Facts], None]) -> None:
        """Call ``restore`` with what was saved, if anything was; refuse another signature."""

    def save(self, signature: str, tensors: Tensors, facts: Facts) -> None:
        """Keep a state."""

    def save_last_good(self, signature: str, tensors: Tensors, facts: Facts) -> str:
        """Keep the state before a failure; say where."""


@dataclass
class State:
    """All that a run needs to go on as if it had never stopped."""

    flows: tuple[LinearFlow, LinearFlow]
    adam: torch.optim.Adam
    generator: torch.Generator
    step: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)  # by NAMES
    scores: dict[str, float] = field(default_factory=lambda: dict.fromkeys(NAMES, -math.inf))
    stale: int = 0  # validations without gain
    history: list[dict[str, float]] = field(default_factory=list)

    def dump(self) -> tuple[Tensors, Facts]:
        """Return all tensors by name, and all else."""
        tensors = {
            "generator": self.generator.get_state(),
            **{f"best.{k}": v for k, v in self.best.items()},
        }
        for name, flow in zip(NAMES, self.flows, strict=True):
            tensors[name] = flow.W.detach()
            for key, value in self.adam.state[flow.W].items():
                tensors[f"adam.{name}.{key}"] = torch.as_tensor(value)
        facts = {name: getattr(self, name) for name in ("step", "scores", "stale", "history")}
        return {k: v.clone().contiguous() for k, v in tensors.items()}, facts

    def restore(self, tensors: Tensors, facts: Facts) -> None:
        """Take up what :meth:`dump` gave; a ValueError or KeyError if it does not fit."""
        W, step = self.flows[0].W, torch.zeros(())  # what a map and Adam's count are like
        for name in tensors.keys() - {"generator"}:
            like, tensor = step if name.endswith(".step") else W, tensors[name]
            if (tensor.shape, tensor.dtype) != (like.shape, like.dtype) or tensor.isnan().any():
                raise ValueError(f"{name} is broken")
        last = [{"step": 0, "seconds": 0.0}, *facts["history"]][-1]
        if facts["step"] != last["step"] or not last["seconds"] >= 0:
            raise ValueError("its step and its history do not agree")
        for name, flow in zip(NAMES, self.flows, strict=True):
            flow.W.data = tensors[name].to(W.device)
            prefix = f"adam.{name}."
            kept = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
            if kept:
                self.adam.state[flow.W] = {
                    key: value if key == "step" else value.to(W.device)
                    for key, value in kept.items()
                }
        self.generator.set_state(tensors["generator"])
        self.best = {k[5:]: v.to(W.device) for k, v in tensors.items() if k.startswith("best.")}
        self.step, self.scores, self.stale = facts["step"], facts["scores"], facts["stale"]
        self.history = facts["history"]

    def validate(self, record: dict[str, float], score: Score | None) -> None:
        """Score both directions; keep the better map of each; add a row to the history."""
        maps = {name: flow.W.detach() for name, flow in zip(NAMES, self.flows, strict=True)}
        scores = dict.fromkeys(NAMES, float(self.step))  # "last": later is better
        if score:
            scores = dict(zip(NAMES, score(*maps.values()), strict=True))
            record |= {f"criterion_{name[2:]}": value for name, value in scores.items()}
        self.stale += 1
        for name, value in scores.items():
            if value > self.scores[name]:
                self.scores[name], self.best[name], self.stale = value, maps[name].clone(), 0
        self.history.append(record)


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
    """Minimise Eq. 11 by Adam from a random orthogonal start, as the paper does.

    Args:
        src: The source language.
        tgt: The target language.
        v_x: Source vectors of the identical words, ``(K, d)``.
        v_y: Target vectors of the same words, ``(K, d)``.
        settings: Everything about the loop; the mixtures already have its words and noise.
        generator: Source of randomness; the same seed gives the same maps.
        ablate: A part of the objective to leave out (Table 4), see :func:`demalib.losses.total`.
        start: Maps to start from, ``(d, d)`` each, instead of random ones.
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


def _step(
    state: State,
    src: WordMixture,
    tgt: WordMixture,
    identical: tuple[Tensor, Tensor] | None,
    settings: Settings,
    ablate: str,
) -> tuple[bool, Tensors]:
    """Take one step if the loss is finite; return whether it was, and its parts."""
    uniform = settings.sampling == "uniform"
    x, y = (Batch.draw(m, settings.batch, state.generator, uniform) for m in (src, tgt))
    left_out = {ablate} - {""} | ({"identical"} if identical is None else set())
    loss, parts = total(
        *state.flows,
        x,
        y,
        identical,
        lam=settings.cycle_weight,
        alpha=settings.identical_weight,
        ablate=left_out,
        reduction=settings.reduction,
        matmul_dtype=DTYPES[settings.matmul_dtype],
    )
    finite = bool(torch.isfinite(loss))
    if finite:
        for group in state.adam.param_groups:
            group["lr"] = settings.learning_rate(state.step)
        state.adam.zero_grad()
        loss.backward()
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
