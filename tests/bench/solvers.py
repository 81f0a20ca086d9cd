"""Accuracy over time of EM and of the gradient loop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import torch

from demalib import plots
from demalib.aligner import fit as fit_em
from demalib.config import Config, preset
from demalib.evaluation.benchmark import Gold, evaluate, load_gold, load_pair, summarise
from demalib.pair import Mapping, Pair
from demalib.runs import project_root
from demalib.solvers import fit_gradient

Curve = list[dict[str, float]]  # seconds, and P@1 by direction


def solvers(pair_name: str = "en-fr") -> dict[str, Any]:
    """Measure P@1 of both solvers over the seconds they spent; judging them does not count.

    Returns:
        A curve per solver, and how much of the gradient loop's time EM needs to reach the loop's
        last mean P@1. Also ``results/figures/solvers.png``.
    """
    muse = "muse" if os.environ.get("DEMALIB_MUSE") else ""
    config = preset(pair_name, lexicons=muse, validate_every=100)
    pair, gold = load_pair(config), load_gold(config)
    fits = {"em": fit_em, "gradient": fit_gradient}
    curves = {name: curve(fit, pair, gold, config) for name, fit in fits.items()}
    plots.style()
    ax = plots.precision_over_time({name: pd.DataFrame(rows) for name, rows in curves.items()})
    plots.save(ax, project_root() / "results" / "figures" / "solvers.png")
    return {"pair": pair_name, "lexicons": gold.forward.name, "curves": curves, **sooner(curves)}


def curve(fit: Callable, pair: Pair, gold: Gold, config: Config) -> Curve:
    """Judge every map that a solver shows while it runs, and its last one."""
    rows, watching, started = [], 0.0, time.perf_counter()

    def watch(_: int, W_xy: torch.Tensor, W_yx: torch.Tensor) -> dict[str, float]:
        nonlocal watching
        paused = time.perf_counter()
        judged = evaluate(Mapping.of(W_xy, W_yx, pair, config), pair, gold, config, ("csls",))
        results = summarise(judged, gold)
        row = {direction: figures["csls"]["p@1"] for direction, figures in results.items()}
        rows.append({"seconds": paused - started - watching} | row)
        watching += time.perf_counter() - paused
        return row

    mapping = fit(pair, config, watch=watch)
    watch(0, mapping.W_xy, mapping.W_yx)
    return rows


def sooner(curves: dict[str, Curve]) -> dict[str, Any]:
    """Find when each solver first reaches the gradient loop's last mean P@1."""
    frames = {name: pd.DataFrame(rows).set_index("seconds") for name, rows in curves.items()}
    level = frames["gradient"].mean(axis=1).iloc[-1]
    first = {name: float(f.index[f.mean(axis=1) >= level].min()) for name, f in frames.items()}
    return {
        "level": float(level),
        "seconds_to_level": first,
        "time_ratio": {"gradient": first["em"] / frames["gradient"].index[-1]},
    }
