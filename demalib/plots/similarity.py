"""Figures of word similarity (:mod:`demalib.evaluation.similarity`): cosines and AUC."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from demalib.plots.common import error_bars


def cosines(groups: dict[str, np.ndarray], ax: Axes | None = None) -> Axes:
    """Draw histograms of cosines, a colour per kind of word pair; the caller adds the legend.

    Args:
        groups: Cosines by kind of pair, ``(n,)`` each.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(4.6, 3))[1]
    edges = np.linspace(-0.4, 1, 57)
    for i, (kind, values) in enumerate(groups.items()):
        share = 100 * np.histogram(values, edges)[0] / len(values)
        ax.stairs(share, edges, fill=True, alpha=0.45, color=f"C{i}")
        ax.stairs(share, edges, color=f"C{i}", label=kind)
    ax.set(xlabel="cosine of the two words", ylabel="share of the pairs (%)", xlim=(-0.4, 1))
    return ax


def separation(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw how well cosines separate translations from other pairs: AUC with intervals.

    Args:
        table: Columns ``map`` (a line each), ``against`` (the other pairs, a colour each),
            ``auc``, ``low`` and ``high``, from 0 to 1.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6.4, 2.8))[1]
    maps = list(table["map"].unique())
    for i, (kind, some) in enumerate(table.groupby("against", sort=False)):
        at = [maps.index(name) + 0.2 * (i - 0.5) for name in some["map"]]
        error = error_bars(some, "auc")
        ax.errorbar(some["auc"], at, xerr=error, fmt="o", color=f"C{i}", capsize=3)
        x, y = some["auc"].iloc[-1], len(maps) - 0.65
        ax.text(x, y, kind, ha="center", va="top", fontsize=11, color=f"C{i}")
    ax.axvline(0.5, color="0.4", linestyle="--", linewidth=1.2)
    ax.text(0.5, -0.6, "coin toss", ha="center", va="bottom", fontsize=9, color="0.4")
    ax.set(yticks=range(len(maps)), xlim=(0.4, 1.04), ylim=(len(maps) - 0.1, -0.6))
    ax.set(xlabel="share of times that the translation has the higher cosine (AUC)")
    ax.set_yticklabels(maps)
    return ax
