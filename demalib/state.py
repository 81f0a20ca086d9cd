"""A run of the gradient loop between two steps: all that it needs to go on if it is stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from demalib.flow import LinearFlow

NAMES = ("W_xy", "W_yx")
FACTS = ("step", "scores", "stale", "history", "sigma2")  # of a state, beside its tensors
Tensors = dict[str, Tensor]
Facts = dict[str, Any]
Score = Callable[[Tensor, Tensor], tuple[float, float]]  # (W_xy, W_yx) -> one for each


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
    pull: dict[str, Tensor] = field(default_factory=dict)  # by NAMES; see demalib.annealing
    sigma2: list[float] = field(default_factory=list)  # of source and target, while annealed

    def dump(self) -> tuple[Tensors, Facts]:
        """Return all tensors by name, and all else."""
        tensors = {
            "generator": self.generator.get_state(),
            **{f"best.{k}": v for k, v in self.best.items()},
            **{f"pull.{k}": v for k, v in self.pull.items()},
        }
        for name, flow in zip(NAMES, self.flows, strict=True):
            tensors[name] = flow.W.detach()
            for key, value in self.adam.state[flow.W].items():
                tensors[f"adam.{name}.{key}"] = torch.as_tensor(value)
        facts = {name: getattr(self, name) for name in FACTS}
        return {k: v.clone().contiguous() for k, v in tensors.items()}, facts

    def restore(self, tensors: Tensors, facts: Facts) -> None:
        """Take up what :meth:`dump` gave; a ValueError or KeyError if it does not fit."""
        W, step = self.flows[0].W, torch.zeros(())  # what a map and Adam's count are like
        for name in tensors.keys() - {"generator"}:
            like, tensor = step if name.endswith(".step") else W, tensors[name]
            if (tensor.shape, tensor.dtype) != (like.shape, like.dtype) or tensor.isnan().any():
                raise ValueError(f"{name} is broken")
        last = [{"step": 0, "seconds": 0.0}, *facts["history"]][-1]
        if not facts["step"] >= last["step"] or not last["seconds"] >= 0:
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
        self.best, self.pull = (
            {k[5:]: v.to(W.device) for k, v in tensors.items() if k.startswith(prefix)}
            for prefix in ("best.", "pull.")
        )
        for name, value in {name: facts[name] for name in FACTS}.items():
            setattr(self, name, value)

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
