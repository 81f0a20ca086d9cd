"""Accuracy over time of EM and of the gradient loop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import torch

from demalib import plots
from demalib.config import Config, preset
from demalib.em import fit_em
from demalib.mapping import Mapping, Pair
from demalib.pipeline import Gold, judge_both, load_gold, load_pair, measure, retrievers
from demalib.runs import project_root
from demalib.train import fit_gradient


def solvers(pair: str = "en-fr") -> dict[str, Any]:
    """P@1 of both solvers over the seconds they spent; judging them does not count.

    Returns:
        A curve per solver (seconds, and P@1 by direction), and how much of the gradient loop's
        time EM needs to reach the loop's last mean P@1. Also ``results/figures/solvers.png``.
    """
    muse = "muse" if os.environ.get("DEMALIB_MUSE") else ""
    config = preset(pair, lexicons=muse, validate_every=100)
    words, gold = load_pair(config), load_gold(config)
    fits = {"em": fit_em, "gradient": fit_gradient}
    curves = {name: _curve(fit, words, gold, config) for name, fit in fits.items()}
    _draw_solvers(curves)
    return {"pair": pair, "lexicons": gold.forward.name, "curves": curves, **_sooner(curves)}


def _curve(fit: Callable, words: Pair, gold: Gold, config: Config) -> list[dict[str, float]]:
    """P@1 by direction whenever a solver can be watched, and of its last map."""
    curve, watching, started = [], 0.0, time.perf_counter()

    def watch(_: int, W_xy: torch.Tensor, W_yx: torch.Tensor) -> dict[str, float]:
        nonlocal watching
        paused = time.perf_counter()
        ways = retrievers(Mapping.of(W_xy, W_yx, words, config), words)
        results = measure(judge_both(ways, words, gold, config, ("csls",)), gold)
        row = {way: figures["csls"]["p@1"] for way, figures in results.items()}
        curve.append({"seconds": paused - started - watching} | row)
        watching += time.perf_counter() - paused
        return row

    mapping = fit(words, config, watch=watch)
    watch(0, mapping.W_xy, mapping.W_yx)
    return curve


def _sooner(curves: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """When each solver first reaches the gradient loop's last mean P@1."""
    frames = {name: pd.DataFrame(curve).set_index("seconds") for name, curve in curves.items()}
    level = frames["gradient"].mean(axis=1).iloc[-1]
    first = {name: float(f.index[f.mean(axis=1) >= level].min()) for name, f in frames.items()}
    return {"level": float(level), "seconds_to_level": first,
            "time_ratio": {"gradient": first["em"] / frames["gradient"].index[-1]}}  # fmt: skip


def _draw_solvers(curves: dict[str, list[dict[str, float]]]) -> None:
    plots.style()
    ax = plots.precision_over_time({name: pd.DataFrame(curve) for name, curve in curves.items()})
    plots.save(ax, project_root() / "results" / "figures" / "solvers.png")
