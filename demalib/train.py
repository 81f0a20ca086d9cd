"""The paper's gradient loop: both directions jointly, with checkpoints that lose nothing."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import safe_open
from torch import Tensor
from tqdm import tqdm

from demalib.config import Config
from demalib.density import sample_mixture, word_weights
from demalib.device import seeded
from demalib.files import DataError, display_path
from demalib.flow import LinearFlow
from demalib.losses import Side, total
from demalib.mapping import Mapping, Pair, Watch, write_tensors
from demalib.refine import dictionary_cosine
from demalib.retrieval import Metric, Retriever

# A short run must forget its first gradients, which are far larger than its last ones.
BETAS = {"one-cycle": (0.9, 0.98), "decay": (0.9, 0.999)}


def learning_rate(config: Config, step: int) -> float:
    """Adam's step size at a step, counted from 0.

    ``decay`` is the released code's: times 0.999999 at every step. ``one-cycle`` rises along a
    cosine to ``config.rate`` in the first tenth of the steps and falls to nothing in the rest.
    """
    if config.schedule == "decay":
        return config.rate * 0.999999**step
    peak = max(1.0, 0.1 * config.steps)
    if step < peak:
        return config.rate * (1 + 24 * 0.5 * (1 - math.cos(math.pi * step / peak))) / 25
    left = (step - peak) / max(1.0, config.steps - peak)
    return config.rate * 0.5 * (1 + math.cos(math.pi * left))


@dataclass
class State:
    """All that a run needs to go on as if it had never stopped."""

    flows: tuple[LinearFlow, LinearFlow]
    adam: torch.optim.Adam
    generator: torch.Generator
    step: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)  # W_xy, W_yx
    scores: dict[str, float] = field(default_factory=lambda: {"W_xy": -math.inf, "W_yx": -math.inf})
    stale: int = 0  # validations without gain
    history: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def fresh(cls, pair: Pair, config: Config, start: Mapping | None) -> State:
        """Random orthogonal maps (Section 5.2), or those of another solver."""
        if config.schedule not in BETAS:
            raise DataError(f"unknown schedule {config.schedule!r}; use {' or '.join(BETAS)}")
        generator = seeded(config.seed)
        given = (start.W_xy.to(pair.x), start.W_yx.to(pair.x)) if start else (None, None)
        flows = tuple(LinearFlow(pair.src.dim, generator, W) for W in given)
        adam = torch.optim.Adam([f.W for f in flows], config.rate, BETAS[config.schedule])
        return cls(flows, adam, generator)

    def save(self, path: Path, signature: str) -> None:
        """Write a checkpoint, whole or not at all."""
        tensors = {
            "generator": self.generator.get_state(),
            **{f"best.{k}": v for k, v in self.best.items()},
        }
        for name, flow in zip(("W_xy", "W_yx"), self.flows, strict=True):
            tensors[name] = flow.W.detach()
            for key, value in self.adam.state[flow.W].items():
                tensors[f"adam.{name}.{key}"] = torch.as_tensor(value)
        facts = {
            "step": self.step,
            "scores": self.scores,
            "stale": self.stale,
            "history": self.history,
        }
        tensors = {k: v.clone().contiguous() for k, v in tensors.items()}
        write_tensors(path, tensors, {"facts": json.dumps(facts), "signature": signature})

    def load(self, path: Path, signature: str) -> None:
        """Take up a checkpoint of the same run."""
        try:
            with safe_open(path, framework="pt") as file:
                # cloned: memory aligned as in the first run, so sums round the same way
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
                meta = file.metadata()
            if meta["signature"] != signature:
                raise DataError(
                    f"{display_path(path)}: a checkpoint of other settings or other "
                    "vectors; delete it or give another folder"
                )
            self._restore(tensors, json.loads(meta["facts"]))
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"{display_path(path)}: not a whole checkpoint ({error}); delete it"
            ) from error

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        W, step = self.flows[0].W, torch.zeros(())  # what a map and Adam's count are like
        for name in tensors.keys() - {"generator"}:
            like, tensor = step if name.endswith(".step") else W, tensors[name]
            if (tensor.shape, tensor.dtype) != (like.shape, like.dtype) or tensor.isnan().any():
                raise ValueError(f"{name} is broken")
        if facts["step"] != (facts["history"][-1]["step"] if facts["history"] else 0):
            raise ValueError("its step and its history do not agree")
        for name, flow in zip(("W_xy", "W_yx"), self.flows, strict=True):
            flow.W.data = tensors[name]
            prefix = f"adam.{name}."
            kept = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
            if kept:
                self.adam.state[flow.W] = kept
        self.generator.set_state(tensors["generator"])
        self.best = {k[5:]: v for k, v in tensors.items() if k.startswith("best.")}
        self.step, self.scores, self.stale = facts["step"], facts["scores"], facts["stale"]
        self.history = facts["history"]


def fit_gradient(
    pair: Pair,
    config: Config,
    start: Mapping | None = None,
    watch: Watch | None = None,
    checkpoint: str | Path | None = None,
) -> Mapping:
    """Minimise Eq. 11 by Adam from a random orthogonal start, as the paper does.

    Args:
        pair: The two spaces, with identical words as the only hint.
        config: The settings; the same seed gives the same maps.
        start: Maps to start from instead of random ones.
        watch: Called at every validation with step, W_xy and W_yx; what it returns goes into
            the history. It cannot influence the run.
        checkpoint: A file to save to at every validation, and to take up if it is there.

    Returns:
        The maps of the step that ``config.selection`` picks, for each direction its own.
    """
    state = State.fresh(pair, config, start)
    path = Path(checkpoint) if checkpoint else None
    signature = _signature(pair, config, start)
    if path and path.exists():
        state.load(path, signature)
    draw, began = _sampler(pair, config, state.generator), time.perf_counter()
    done = state.history[-1]["seconds"] if state.history else 0.0
    hint, matmul_dtype = pair.hint(config), _matmul_dtype(config)
    if not len(hint[0]) and "identical" not in config.ablate:
        pair.require_identical()
    bar = tqdm(total=config.steps, initial=state.step, desc="gradient", unit="step", disable=None)
    while state.step < config.steps and not (config.patience and state.stale >= config.patience):
        for group in state.adam.param_groups:
            group["lr"] = learning_rate(config, state.step)
        loss, parts = total(
            *state.flows, *draw(), hint if len(hint[0]) else None, lam=config.cycle_weight, alpha=config.identical_weight,
            tau=config.tau, ablate=config.ablate, reduction=config.reduction, matmul_dtype=matmul_dtype,
        )  # fmt: skip
        if not torch.isfinite(loss):
            _give_up(state, path, signature, parts)
        state.adam.zero_grad()
        loss.backward()
        state.adam.step()
        state.step += 1
        bar.update()
        if state.step % config.validate_every == 0 or state.step == config.steps:
            record = {"step": state.step, "seconds": done + time.perf_counter() - began,
                      "rate": learning_rate(config, state.step - 1),
                      **{name: float(part) for name, part in parts.items()}}  # fmt: skip
            _validate(state, pair, config, record)
            if watch:
                paused = time.perf_counter()
                record |= watch(state.step, *(flow.W.detach() for flow in state.flows))
                began += time.perf_counter() - paused
            bar.set_postfix({name: f"{float(part):.3f}" for name, part in parts.items()})
            if path:
                state.save(path, signature)
    bar.close()
    maps = state.best or {"W_xy": state.flows[0].W.detach(), "W_yx": state.flows[1].W.detach()}
    return Mapping.of(maps["W_xy"], maps["W_yx"], pair, config, pd.DataFrame(state.history))


def _matmul_dtype(config: Config) -> torch.dtype | None:
    """What ``config.matmul_dtype`` names; None is the dtype of the vectors."""
    known = {"float32": None, "bfloat16": torch.bfloat16}
    if config.matmul_dtype not in known:
        raise DataError(
            f"unknown matmul_dtype {config.matmul_dtype!r}; use one of {', '.join(known)}"
        )
    return known[config.matmul_dtype]


def _sampler(
    pair: Pair, config: Config, generator: torch.Generator
) -> Callable[[], tuple[Side, Side]]:
    """A function that draws one batch of either side (Eqs. 3, 4)."""
    if config.sampling not in ("uniform", "frequency"):
        raise DataError(f"unknown sampling {config.sampling!r}; use 'uniform' or 'frequency'")
    sides = []
    for emb, vectors, noise, sigma2 in (
        (pair.src, pair.x, config.noise_src, config.sigma2_src),
        (pair.tgt, pair.y, config.noise_tgt, config.sigma2_tgt),
    ):
        centers = vectors[: config.components]
        counts = None if emb.counts is None else torch.from_numpy(np.array(emb.counts))
        weights = word_weights(len(centers), counts)
        sides.append((centers, noise, sigma2, weights))

    def draw() -> tuple[Side, Side]:
        out = []
        for centers, noise, sigma2, weights in sides:
            chosen = weights if config.sampling == "frequency" else None
            points, ranks = sample_mixture(centers, config.batch, noise, chosen, generator)
            out.append(Side(points, ranks, centers, sigma2, weights.log().to(centers.dtype)))
        return tuple(out)

    return draw


@torch.no_grad()
def _validate(state: State, pair: Pair, config: Config, record: dict) -> None:
    """Score both directions; keep the better map of each; add a row to the history."""
    maps = {name: flow.W.detach() for name, flow in zip(("W_xy", "W_yx"), state.flows, strict=True)}
    scores = {name: float(state.step) for name in maps}  # "last": later is better
    if config.selection != "last":
        judge = {"unsupervised": _unsupervised, "supervised": _supervised}[config.selection]
        scores = {
            "W_xy": judge(pair, maps["W_xy"], config),
            "W_yx": judge(pair.swap(), maps["W_yx"], config),
        }
        record |= {f"criterion_{name[2:]}": score for name, score in scores.items()}
    state.stale += 1
    for name, score in scores.items():
        if score > state.scores[name]:
            state.scores[name], state.best[name], state.stale = score, maps[name].clone(), 0
    state.history.append(record)


def _unsupervised(pair: Pair, W: Tensor, config: Config) -> float:
    """Mean cosine of the CSLS dictionary of the most frequent words (Section 5.2)."""
    return dictionary_cosine(pair.x @ W, pair.y, config.max_rank, config.knn)


def _supervised(pair: Pair, W: Tensor, config: Config) -> float:
    """P@1 under CSLS on 1,000 held-out queries of the train lexicon (Section 5.2)."""
    if pair.train is None:
        raise DataError(
            "selection 'supervised' needs a train lexicon; use 'unsupervised' or 'last'"
        )
    queries = torch.from_numpy(np.unique(pair.train[:, 0]))
    chosen = torch.randperm(len(queries), generator=seeded(0))[:1000]
    queries = queries[chosen]
    _, best = Retriever(pair.x @ W, pair.y, config.knn).translate(queries, Metric("csls"), 1)
    gold = {tuple(row) for row in pair.train.tolist()}
    return sum((int(q), int(b)) in gold for q, b in zip(queries, best[:, 0], strict=True)) / len(
        queries
    )


def _signature(pair: Pair, config: Config, start: Mapping | None) -> str:
    """What must agree for a checkpoint to be of the same run."""
    facts = [asdict(config), len(pair.src), len(pair.tgt), len(pair.identical)]
    facts += [float(side.sum(dtype=torch.float64)) for side in (pair.x, pair.y)]
    facts += [
        float(W.sum(dtype=torch.float64)) for W in ((start.W_xy, start.W_yx) if start else ())
    ]
    return json.dumps(facts, sort_keys=True)


def _give_up(state: State, path: Path | None, signature: str, parts: dict[str, Tensor]) -> None:
    """The loss is NaN or infinite: keep the last good state and say so."""
    if path:
        state.save(path.with_suffix(".last-good.safetensors"), signature)
    values = ", ".join(f"{name} {float(part):.4g}" for name, part in parts.items())
    kept = f"; the state before it is kept in {display_path(path.with_suffix('.last-good.safetensors'))}"
    raise DataError(
        f"gradient: the loss is not finite at step {state.step + 1} ({values}); lower the "
        f"rate or raise the variances{kept if path else ''}"
    )
