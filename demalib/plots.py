"""Figures: a data frame in, Axes out, one style."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes


def style() -> None:
    """The look of every figure: colour-blind palette, readable sizes, 100 dpi."""
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
    plt.rcParams.update({
        "figure.dpi": 100, "savefig.dpi": 100, "savefig.bbox": "tight", "axes.spines.top": False,
        "axes.spines.right": False, "figure.constrained_layout.use": True,
    })  # fmt: skip


def precision(results: dict[str, dict[str, dict]], ax: Axes | None = None) -> Axes:
    """P@1 by direction and metric with 95 % intervals; the copy baseline as a dashed line.

    Args:
        results: ``metrics.json``'s results: direction, then metric, then figures.
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
    ax.set_xticklabels([direction.replace("-", " → ") for direction in results])
    ax.grid(axis="x", visible=False)
    ax.legend(frameon=False, ncols=2, loc="upper right")
    return ax


def record(history: pd.DataFrame) -> list[Axes]:
    """The record of a solver: one small panel for each of up to three of its columns.

    Args:
        history: ``Mapping.history``, a row per round of EM or validation of the gradient loop.
    """
    time = "round" if "round" in history else "step"
    labels = {
        "candidates": "effective candidates\nper word", "sigma2": "variance σ²",
        "criterion": "mean cosine of the\ninduced dictionary", "density_xy": "density loss (nats)",
        "cycle": "cycle loss", "identical": "identical-word loss",
    }  # fmt: skip
    shown = [name for name in labels if name in history][:3]
    _, axes = plt.subplots(1, len(shown), figsize=(3.2 * len(shown), 2.6), squeeze=False)
    for ax, name in zip(axes[0], shown, strict=True):
        ax.plot(history[time], history[name], marker=".")
        ax.set(xlabel=time, ylabel=labels[name])
        if name == "candidates":
            ax.set_yscale("log")
    return list(axes[0])


def by_frequency(frames: dict[str, pd.DataFrame], ax: Axes | None = None) -> Axes:
    """P@1 over the frequency rank of the query, a line per direction, labelled at its end.

    Args:
        frames: What :func:`demalib.evaluate.by_frequency` returns, by direction.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6, 3.2))[1]
    bins = max((list(frame["ranks"]) for frame in frames.values()), key=len)
    ends = []
    for i, (name, frame) in enumerate(frames.items()):
        x = [bins.index(ranks) + 0.06 * (i - 0.5) for ranks in frame["ranks"]]
        height = 100 * frame["p@1"]
        error = [height - 100 * frame["low"], 100 * frame["high"] - height]
        ax.errorbar(x, height, error, marker="o", capsize=3)
        ends.append((height.iloc[-1], x[-1] + 0.1, name.replace("-", " → "), f"C{i}"))
    floor = 0.0
    for at, x_end, name, color in sorted(ends):  # lowest first, each label clear of the last
        floor = max(at, floor + 7)
        ax.text(x_end, floor, name, va="center", color=color)
    ax.set(xticks=range(len(bins)), ylabel="P@1 (%)", ylim=(0, 100), xlim=(-0.4, len(bins) - 0.3))
    ax.set(xlabel="frequency rank of the query (1 = most frequent)", xticklabels=bins)
    return ax
