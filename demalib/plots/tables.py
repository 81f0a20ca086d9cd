"""Figures of the tables (:mod:`demalib.evaluation.tables`): ours beside the paper's, ablations, rivals."""

from __future__ import annotations

import math
import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from demalib.plots.common import arrow, error_bars, label_points

LOST = 5  # percent, below which a system is listed, not labelled


def beside_paper(table: pd.DataFrame, system: str = "CSLS (w/o R)", ax: Axes | None = None) -> Axes:
    """P@1 of the paper (diamonds) and ours (dots with intervals) by direction, one panel.

    Args:
        table: What :func:`demalib.evaluation.tables.beside_paper` returned.
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
        error = error_bars(some, "p@1")
        label = f"ours, {data[0]} vectors, {data[1]} test words" if at else None
        ax.errorbar(some["p@1"], at, xerr=error, fmt="o", color=f"C{i}", capsize=3, label=label)
    for at, way in enumerate(ways):
        if way not in set(done["direction"]):
            box = {"facecolor": "w", "edgecolor": "none", "pad": 1}
            ax.text(2, at, "not run", va="center", fontsize=9, color="0.4", bbox=box)
    ax.set(yticks=range(len(ways)), xlim=(0, 100), ylim=(len(ways) - 0.4, -0.6), xlabel="P@1 (%)")
    ax.set_yticklabels([arrow(way) for way in ways])
    return ax


def ablations(table: pd.DataFrame) -> list[Axes]:
    """Points of P@1 lost when a part is left out: ours as dots, the paper's as diamonds.

    Args:
        table: What :func:`demalib.evaluation.tables.ablations` returned.
    """
    ways, rows = list(table["direction"].unique()), table[table["ablate"] != "nothing"]
    parts = list(rows["ablate"].unique())
    figure, axes = plt.subplots(1, len(ways), figsize=(1.2 + 2.5 * len(ways), 2.8), sharey=True,
                                squeeze=False)  # fmt: skip
    for ax, way in zip(axes[0], ways, strict=True):
        some = rows[rows["direction"] == way]
        at = [parts.index(part) for part in some["ablate"]]
        error = error_bars(some, "p@1")[::-1]  # what is found more is lost less
        ax.errorbar(some["lost"], at, xerr=error, fmt="o", color="C0", capsize=3, label="ours")
        ax.scatter(some["paper_lost"], at, marker="D", s=42, facecolors="none", edgecolors="0.2",
                   label="the paper", zorder=3)  # fmt: skip
        ax.axvline(0, color="0.4", linestyle="--", linewidth=1.2)
        ax.set(title=arrow(way), yticks=range(len(parts)), ylim=(len(parts) - 0.5, -0.5))
        ax.set_yticklabels([f"without {part}" for part in parts])
    figure.supxlabel("P@1 lost against the full model (points)", fontsize=12)
    keys = axes[0, 0].get_legend_handles_labels()
    figure.legend(*keys, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return list(axes[0])


def effects(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Differences of P@1 with 95 % intervals, a line for each: which of them is not zero?

    Args:
        table: Columns ``difference`` (its name), ``direction``, ``effect``, ``low``, ``high``,
            in points of P@1; drawn from top to bottom in this order.
        ax: Where to draw; a new figure if left out.
    """
    names = list(table["difference"].unique())
    ax = ax or plt.subplots(figsize=(8, 1 + 0.45 * len(names)))[1]
    ax.axvline(0, color="0.2", linewidth=1.2)
    for i, (direction, rows) in enumerate(table.groupby("direction", sort=False)):
        y = [names.index(name) + 0.3 * (i - 0.5) for name in rows["difference"]]
        error = error_bars(rows, "effect")
        ax.errorbar(rows["effect"], y, xerr=error, fmt="os"[i], color=f"C{i}", capsize=3)
        label = f"{'●■'[i]} {arrow(direction)}"
        ax.text(0.3 * i, 1.02, label, color=f"C{i}", transform=ax.transAxes)
    ax.set(yticks=range(len(names)), ylim=(len(names) - 0.4, -0.6), xlabel="effect on P@1 (points)")
    ax.set_yticklabels(names)
    ax.grid(axis="y", visible=False)
    return ax


def rivals(table: pd.DataFrame) -> list[Axes]:
    """Accuracy against time, a panel per pair: mean P@1 of both directions over seconds.

    Args:
        table: What :func:`demalib.evaluation.tables.rivals` returned, in percent.
    """
    done = table[table["seeds"] > 0]
    pairs, hints = list(done["pair"].unique()), ["identical", "none", "train"]
    columns, rows = min(3, len(pairs)), math.ceil(len(pairs) / 3)
    figure, axes = plt.subplots(
        rows, columns, figsize=(5.4 * columns, 0.4 + 4.4 * rows), sharey=True, squeeze=False
    )
    for ax in axes.flat[len(pairs) :]:
        ax.remove()
    for ax, pair in zip(axes.flat, pairs, strict=False):
        keys = ["name", "hint"]
        points = done[done["pair"] == pair].groupby(keys, sort=False)[["seconds", "p@1"]].mean()
        points = points.assign(seconds=points["seconds"].clip(lower=0.05)).reset_index()
        colors = [f"C{hints.index(hint)}" for hint in points["hint"]]
        ax.scatter(points["seconds"], points["p@1"], c=colors, s=36, zorder=3)
        ax.set(xscale="log", title=arrow(pair).replace("→", "↔"))
        ax.set_xlim(0.004, 20_000)
        ax.set_ylim(-3, done.groupby(["pair", "name"])["p@1"].mean().max() + 8)
        at = points[["seconds", "p@1"]].to_numpy()
        found = [
            text for text in zip(points["name"], at, colors, strict=True) if text[1][1] >= LOST
        ]
        label_points(ax, found, at)
        lost = points[points["p@1"] < LOST].sort_values("seconds")
        if len(lost):
            text = f"below {LOST} %: " + ", ".join(lost["name"])
            ax.text(0.03, 0.5, textwrap.fill(text, 34, break_on_hyphens=False), transform=ax.get_yaxis_transform(),
                    fontsize=9, color="0.35")  # fmt: skip
    for ax in axes.flat[len(pairs) - columns : len(pairs)]:  # those with none below
        ax.set(xlabel="seconds to solve")
    for ax in axes[:, 0]:
        ax.set(ylabel="P@1 (%), mean of both")
    kinds = ["words spelled alike", "no hint", "a dictionary"]
    dots = [plt.Line2D([], [], marker="o", ls="", color=f"C{i}") for i in range(3)]
    figure.legend(
        dots, kinds, title="learns from", loc="outside lower center", frameon=False, ncols=3
    )
    return list(axes.flat[: len(pairs)])
