"""Figures of word similarity (:mod:`demalib.evaluation.similarity`): cosines and AUC; what is left of a search."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from demalib.plots.common import error_bars, label_ends


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


def recall(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw recall over the number of known pairs with its interval, a line per ``map``.

    Args:
        table: Rows with ``map``, ``known pairs``, ``recall@10``, ``low`` and ``high``. A map without
            known pairs is a dashed line.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6, 3.4))[1]
    ends = []
    for i, (name, some) in enumerate(table.groupby("map", sort=False)):
        height = some["recall@10"].iloc[-1]
        if some["known pairs"].max() == 0:
            ax.axhline(height, color="0.3", linestyle="--", linewidth=1.2)
        else:
            x = some["known pairs"]
            ax.plot(x, some["recall@10"], marker="o", markersize=4, color=f"C{i}")
            ax.fill_between(x, some["low"], some["high"], color=f"C{i}", alpha=0.15, linewidth=0)
        ends.append((height, str(name), f"C{i}" if some["known pairs"].max() else "0.3"))
    counts = sorted(set(table["known pairs"]) - {0})
    ax.set_xscale("log")
    ax.set_xticks(counts, [f"{count:,}" for count in counts])
    ax.minorticks_off()
    ax.set(xlabel="known pairs", ylabel="recall@10", ylim=(-0.05, 1))
    label_ends(ax, ends)
    return ax
