"""Figures of the tables (:mod:`demalib.evaluation.tables`): paper and ours, ablations, rivals."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from demalib.plots.common import arrow, error_bars, label_points

FAILED = 5  # percent of P@1 below which a system is listed in a corner instead of labelled

DATA = (("registry", "bundled"), ("registry", "muse"), ("muse", "muse"))  # vectors, test words
DIAMOND: dict[str, Any] = {
    "marker": "D",
    "s": 42,
    "facecolors": "none",
    "edgecolors": "0.2",
    "zorder": 3,
}


def beside_paper(table: pd.DataFrame, system: str = "CSLS (w/o R)", ax: Axes | None = None) -> Axes:
    """Draw P@1 of the paper (diamonds) and ours (dots with intervals) by direction.

    Args:
        table: Result of :func:`demalib.evaluation.tables.beside_paper`.
        system: Row of the paper's table.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(5, 4.6))[1]
    rows = table[table["system"] == system]
    directions = list(rows["direction"].unique())
    paper = rows.drop_duplicates("direction")["paper"]
    label = "the paper, its vectors and test words"
    ax.scatter(paper, range(len(directions)), label=label, **DIAMOND)
    done = rows[rows["seeds"] > 0]
    for i, (vectors, lexicons) in enumerate(DATA):
        some = done[(done["vectors"] == vectors) & (done["lexicons"] == lexicons)]
        heights = [directions.index(direction) for direction in some["direction"]]
        ax.errorbar(
            some["p@1"],
            heights,
            xerr=error_bars(some, "p@1"),
            fmt="o",
            color=f"C{i}",
            capsize=3,
            label=f"ours, {vectors} vectors, {lexicons} test words" if heights else None,
        )
    for height, direction in enumerate(directions):
        if direction not in set(done["direction"]):
            box = {"facecolor": "w", "edgecolor": "none", "pad": 1}
            ax.text(2, height, "not run", va="center", fontsize=9, color="0.4", bbox=box)
    ax.set(xlim=(0, 100), ylim=(len(directions) - 0.4, -0.6), xlabel="P@1 (%)")
    ax.set_yticks(range(len(directions)), [arrow(direction) for direction in directions])
    return ax


def ablations(table: pd.DataFrame) -> list[Axes]:
    """Draw the points of P@1 lost without a part: ours as dots, the paper's as diamonds.

    Args:
        table: Result of :func:`demalib.evaluation.tables.ablations`.
    """
    directions, rows = list(table["direction"].unique()), table[table["ablate"] != "nothing"]
    parts = list(rows["ablate"].unique())
    size = (1.2 + 2.5 * len(directions), 2.8)
    figure, axes = plt.subplots(1, len(directions), figsize=size, sharey=True, squeeze=False)
    for ax, direction in zip(axes[0], directions, strict=True):
        some = rows[rows["direction"] == direction]
        at = [parts.index(part) for part in some["ablate"]]
        error = error_bars(some, "p@1")[::-1]  # a higher P@1 is a smaller loss
        ax.errorbar(some["lost"], at, xerr=error, fmt="o", color="C0", capsize=3, label="ours")
        ax.scatter(some["paper_lost"], at, label="the paper", **DIAMOND)
        ax.axvline(0, color="0.4", linestyle="--", linewidth=1.2)
        ax.set(title=arrow(direction), yticks=range(len(parts)), ylim=(len(parts) - 0.5, -0.5))
        ax.set_yticklabels([f"without {part}" for part in parts])
    figure.supxlabel("P@1 lost against the full model (points)", fontsize=12)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return list(axes[0])


def effects(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw differences of P@1 with 95 % intervals, a line each, around a zero line.

    Args:
        table: Columns ``difference`` (its name), ``direction``, and ``effect``, ``low`` and
            ``high`` in points of P@1. The first difference is drawn on top.
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
    """Draw accuracy over time, a panel per pair: mean P@1 of both directions over seconds.

    Args:
        table: Result of :func:`demalib.evaluation.tables.rivals`, in percent.
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
        named = zip(points["name"], at, colors, strict=True)
        label_points(ax, [(name, xy, color) for name, xy, color in named if xy[1] >= FAILED], at)
        failed = points[points["p@1"] < FAILED].sort_values("seconds")
        if len(failed):
            text = f"below {FAILED} %: " + ", ".join(failed["name"])
            text = textwrap.fill(text, 34, break_on_hyphens=False)
            across = ax.get_yaxis_transform()
            ax.text(0.03, 0.5, text, transform=across, fontsize=9, color="0.35")
    for ax in axes.flat[len(pairs) - columns : len(pairs)]:  # the lowest panel of each column
        ax.set(xlabel="seconds of the CPU")
    for ax in axes[:, 0]:
        ax.set(ylabel="P@1 (%), mean of both")
    kinds = ["identical words", "no hint", "a dictionary"]
    dots = [plt.Line2D([], [], marker="o", ls="", color=f"C{i}") for i in range(3)]
    figure.legend(
        dots, kinds, title="learns from", loc="outside lower center", frameon=False, ncols=3
    )
    return list(axes.flat[: len(pairs)])


def unhinted(table: pd.DataFrame, names: Sequence[str] = ()) -> list[Axes]:
    """Draw P@1 of systems without a hint, a panel per pair of spaces, a line per system.

    Args:
        table: What :func:`demalib.evaluation.unhinted.measure_all` returned, in percent.
        names: The systems from top to bottom; in the order of the table if left out.
    """
    spaces, names = list(table["spaces"].unique()), list(names or table["name"].unique())
    columns = min(4, len(spaces))
    rows = math.ceil(len(spaces) / columns)
    size = (2.6 * columns + 1.4, 0.6 + (0.9 + 0.24 * len(names)) * rows)
    figure, axes = plt.subplots(
        rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for ax in axes.flat[len(spaces) :]:
        ax.remove()
    for ax, name in zip(axes.flat, spaces, strict=False):
        some = table[table["spaces"] == name]
        means = some.groupby("name", sort=False)[["p@1", "low", "high"]].mean()
        at = [names.index(system) for system in means.index]
        ax.errorbar(means["p@1"], at, xerr=error_bars(means, "p@1"), fmt="o", color="C0", capsize=3)
        ax.axvline(some["copy"].mean(), color="0.4", linestyle="--", linewidth=1.2)
        ax.set(title=name, yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5))
        ax.set_yticklabels(names)
        ax.title.set_fontsize(10)
    figure.supxlabel("P@1 (%), mean of both directions", fontsize=11)
    return list(axes.flat[: len(spaces)])
