"""Figures: a data frame in, Axes out, one style."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
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


def solvers(curves: dict[str, pd.DataFrame]) -> Axes:
    """P@1 over the time spent solving: a colour per solver, a line style per direction.

    Args:
        curves: By solver, a column ``seconds`` and a column per direction, shares.
    """
    ax = plt.subplots(figsize=(6.4, 3.6))[1]
    for i, (name, curve) in enumerate(curves.items()):
        ways = [column for column in curve if column != "seconds"]
        for way, line in zip(ways, ("-", "--"), strict=False):
            ax.plot(curve["seconds"], 100 * curve[way], line, color=f"C{i}", marker=".")
        last = curve.iloc[-1]
        ax.text(last["seconds"] * 1.02, 100 * last[ways].mean(), name, color=f"C{i}", va="center")
    arrows = [way.replace("-", " → ") for way in ways]
    ax.plot([], [], "-", color="0.3", label=arrows[0])
    ax.plot([], [], "--", color="0.3", label=arrows[-1])
    ax.legend(frameon=False, loc="lower right")
    ax.set(xlabel="time spent solving (seconds, two cores)", ylabel="P@1 (%)", ylim=(0, 100))
    ax.set_xlim(0, 1.18 * max(curve["seconds"].max() for curve in curves.values()))
    return ax


def beside_paper(table: pd.DataFrame, system: str = "CSLS (w/o R)", ax: Axes | None = None) -> Axes:
    """P@1 of the paper (diamonds) and ours (dots with intervals) by direction, one panel.

    Args:
        table: What :func:`demalib.tables.beside_paper` returned.
        system: Which row of the paper.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(5, 4.6))[1]
    rows = table[table["system"] == system]
    ways = list(rows["direction"].unique())
    paper = rows.drop_duplicates("direction")
    ax.scatter(paper["paper"], range(len(ways)), marker="D", s=42, facecolors="none",
               edgecolors="0.2", zorder=3, label="the paper, its vectors and test words")  # fmt: skip
    done = rows[rows["seeds"] > 0]
    for i, data in enumerate((("registry", "bundled"), ("registry", "muse"), ("muse", "muse"))):
        some = done[(done["vectors"] == data[0]) & (done["lexicons"] == data[1])]
        at = [ways.index(way) for way in some["direction"]]
        error = [some["p@1"] - some["low"], some["high"] - some["p@1"]]
        label = f"ours, {data[0]} vectors, {data[1]} test words" if at else None
        ax.errorbar(some["p@1"], at, xerr=error, fmt="o", color=f"C{i}", capsize=3, label=label)
    for at, way in enumerate(ways):
        if way not in set(done["direction"]):
            box = {"facecolor": "w", "edgecolor": "none", "pad": 1}
            ax.text(2, at, "not run", va="center", fontsize=9, color="0.4", bbox=box)
    ax.set(yticks=range(len(ways)), xlim=(0, 100), ylim=(len(ways) - 0.4, -0.6), xlabel="P@1 (%)")
    ax.set_yticklabels([way.replace("-", " → ") for way in ways])
    return ax


def cosines(groups: dict[str, np.ndarray], ax: Axes | None = None) -> Axes:
    """Histograms of cosines, a colour per kind of word pair, labelled at their tops.

    Args:
        groups: Cosines, (n,), by kind.
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
    """AUC with intervals: a line per map, a colour per what translations are told apart from.

    Args:
        table: Columns ``map``, ``against``, ``auc``, ``low`` and ``high``, shares.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6.4, 2.8))[1]
    maps = list(table["map"].unique())
    for i, (kind, some) in enumerate(table.groupby("against", sort=False)):
        at = [maps.index(name) for name in some["map"]]
        error = [some["auc"] - some["low"], some["high"] - some["auc"]]
        ax.errorbar(some["auc"], at, xerr=error, fmt="o", color=f"C{i}", capsize=3)
        ax.text(some["auc"].iloc[-1], len(maps) - 0.55, kind, ha="center", va="top", color=f"C{i}")
    ax.axvline(0.5, color="0.4", linestyle="--", linewidth=1.2)
    ax.text(0.5, -0.6, "coin toss", ha="center", va="bottom", fontsize=9, color="0.4")
    ax.set(yticks=range(len(maps)), xlim=(0.4, 1), ylim=(len(maps) - 0.2, -0.6))
    ax.set(xlabel="share of times that the translation has the higher cosine (AUC)")
    ax.set_yticklabels(maps)
    return ax
