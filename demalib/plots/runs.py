"""Figures of one run: precision, history of the solver, refinement, hubs."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from demalib.plots.common import arrow, error_bars, label_ends


def precision(results: dict[str, dict[str, dict]], ax: Axes | None = None) -> Axes:
    """Draw P@1 by direction and metric with 95 % intervals, and the copy baseline as a dashed line.

    Args:
        results: ``results`` of a ``metrics.json``: by direction, then by metric, the figures.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6, 3.2))[1]
    metrics = list(next(iter(results.values())))
    width, colors = 0.8 / len(metrics), sns.color_palette("colorblind")
    for at, by_metric in enumerate(results.values()):
        for i, (metric, r) in enumerate(by_metric.items()):
            x, height = at + (i - (len(metrics) - 1) / 2) * width, 100 * r["p@1"]
            low, high = (100 * v for v in r["ci95"])
            label = metric.upper() if at == 0 else None
            ax.bar(x, height, 0.9 * width, color=colors[i], label=label)
            ax.errorbar(x, height, [[height - low], [high - height]], color="0.2", capsize=3)
            ax.text(x, high + 1.5, f"{height:.1f}", ha="center", va="bottom", fontsize=10)
        copy = 100 * r["copy"]
        ax.hlines(copy, at - 0.45, at + 0.45, color="0.2", linestyle="--", linewidth=1.2)
    ax.text(at + 0.47, copy, "copy", va="center", fontsize=9, color="0.2")
    ax.set(
        xticks=range(len(results)), ylabel="P@1 (%)", ylim=(0, 100), xlim=(-0.6, len(results) - 0.3)
    )
    ax.set_xticklabels([arrow(direction) for direction in results])
    ax.grid(axis="x", visible=False)
    ax.legend(frameon=False, ncols=2, loc="upper right")
    return ax


def history(frame: pd.DataFrame) -> list[Axes]:
    """Draw the history of a solver, a small panel for each of up to three columns.

    Args:
        frame: ``Mapping.history``, a row per round of EM or per validation of the gradient loop.
    """
    time = "round" if "round" in frame else "step"
    labels = {
        "candidates": "effective candidates\nper word",
        "sigma2": "variance σ²",
        "criterion": "mean cosine of the\ninduced dictionary",
        "candidates_xy": "effective candidates\nper word",
        "largest_xy": "largest singular\nvalue of W",
        "density_xy": "density loss (nats)",
        "cycle": "cycle loss",
        "identical": "identical-word loss",
    }
    shown = [name for name in labels if name in frame][:3]
    _, axes = plt.subplots(1, len(shown), figsize=(3.2 * len(shown), 2.6), squeeze=False)
    for ax, name in zip(axes[0], shown, strict=True):
        ax.plot(frame[time], frame[name], marker=".")
        ax.set(xlabel=time, ylabel=labels[name])
        if name.startswith("candidates"):
            ax.set_yscale("log")
    return list(axes[0])


def by_frequency(frames: dict[str, pd.DataFrame], ax: Axes | None = None) -> Axes:
    """Draw P@1 over the frequency rank of the query, a line per direction, labelled at its end.

    Args:
        frames: By direction, the result of :func:`demalib.evaluation.translation.by_frequency`.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6, 3.2))[1]
    bins = max((list(frame["ranks"]) for frame in frames.values()), key=len)
    ends = []
    for i, (name, frame) in enumerate(frames.items()):
        x = [bins.index(ranks) + 0.06 * (i - 0.5) for ranks in frame["ranks"]]
        height = 100 * frame["p@1"]
        error = [100 * side for side in error_bars(frame, "p@1")]
        ax.errorbar(x, height, error, marker="o", capsize=3)
        ends.append((height.iloc[-1], arrow(name), f"C{i}"))
    ax.set(xticks=range(len(bins)), ylabel="P@1 (%)", ylim=(0, 100), xlim=(-0.4, len(bins) - 0.6))
    ax.set(xlabel="frequency rank of the query (1 = most frequent)", xticklabels=bins)
    label_ends(ax, ends)
    return ax


def rounds(frame: pd.DataFrame, column: str = "p@1", ax: Axes | None = None) -> Axes:
    """Draw a column over the rounds of refinement, a line per ``name``, labelled at its end.

    Args:
        frame: Rows of :func:`demalib.evaluation.benchmark.follow_refinement`, with a column
            ``name`` added that says to which line a row belongs.
        column: The column to draw: ``p@1`` or ``gain``, both with intervals, ``pairs`` or
            ``cosine``.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6, 3.6))[1]
    band = {"p@1": ("low", "high"), "gain": ("gain_low", "gain_high")}.get(column)
    scale, level = (100 if band else 1), (frame["copy"].mean() if column == "p@1" else 0)
    ends = [(100 * level, "copy" if level else "", "0.3")]
    for i, (name, some) in enumerate(frame.groupby("name", sort=False)):
        ax.plot(some["round"], scale * some[column], marker="o", markersize=4, color=f"C{i}")
        if band:
            low, high = (100 * some[end] for end in band)
            ax.fill_between(some["round"], low, high, color=f"C{i}", alpha=0.15, linewidth=0)
        ends.append((scale * some[column].iloc[-1], name, f"C{i}"))
    ax.axhline(100 * level, color="0.3", linestyle="--", linewidth=1.2)
    labels = {
        "p@1": "P@1 (%)",
        "gain": "gain over the start\n(points of P@1)",
        "pairs": "pairs in the dictionary",
        "cosine": "mean cosine of the pairs",
    }
    ax.set(xlabel="round", ylabel=labels[column], xticks=sorted(frame["round"].unique()))
    ax.set_ylim(None if column == "gain" else 0, None)
    label_ends(ax, [end for end in ends if end[1]])
    return ax


def hubness(counts: pd.DataFrame) -> list[Axes]:
    """Draw histograms of the k-occurrence, a panel per metric, with skewness and the worst hub.

    Args:
        counts: Results of :func:`demalib.retrieval.k_occurrence`: a row per target word, with the
            word as index, and a column per metric.
    """
    width = 3.1 * counts.shape[1]
    _, axes = plt.subplots(1, counts.shape[1], figsize=(width, 3), sharey=True, squeeze=False)
    bins = np.arange(-0.5, counts.to_numpy().max() + 3, 3)
    for ax, (name, column) in zip(axes[0], counts.items(), strict=True):
        ax.hist(column, bins, color="C0")
        most, word = column.max(), column.idxmax()
        ax.axvline(most, color="C1", linewidth=1.2, ymax=0.35)
        word = word if max(word) < "\u0250" else "worst hub"  # the font may lack other scripts
        ax.text(most, 0.37, word, color="C1", ha="right", transform=ax.get_xaxis_transform())
        none = (column == 0).mean()
        summary = f"skewness {column.skew():.2f}\nhighest {most}\nin no list {none:.1%}"
        ax.text(0.98, 0.97, summary, ha="right", va="top", fontsize=11, transform=ax.transAxes)
        ax.set(title=name.upper(), yscale="log", xlabel="lists that contain the word")
    axes[0, 0].set_ylabel("target words")
    return list(axes[0])
