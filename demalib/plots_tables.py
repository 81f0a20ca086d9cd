"""Figures of the tables: ours beside the paper's, and how similar words are (Tables 1 to 3)."""

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from demalib.plots import arrow, error_bars, label_points

LOST = 5  # percent, below which a system is listed, not labelled


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


def rivals(table: pd.DataFrame) -> list[Axes]:
    """Accuracy against time, a panel per pair: mean P@1 of both directions over seconds.

    Args:
        table: What :func:`demalib.tables.rivals` returned, in percent.
    """
    done = table[table["seeds"] > 0]
    pairs, hints = list(done["pair"].unique()), ["identical", "none", "train"]
    figure, axes = plt.subplots(
        1, len(pairs), figsize=(5.4 * len(pairs), 4.8), sharey=True, squeeze=False
    )
    for ax, pair in zip(axes[0], pairs, strict=True):
        keys = ["name", "hint"]
        points = done[done["pair"] == pair].groupby(keys, sort=False)[["seconds", "p@1"]].mean()
        points = points.assign(seconds=points["seconds"].clip(lower=0.05)).reset_index()
        colors = [f"C{hints.index(hint)}" for hint in points["hint"]]
        ax.scatter(points["seconds"], points["p@1"], c=colors, s=36, zorder=3)
        ax.set(xscale="log", xlabel="seconds to solve", title=arrow(pair).replace("→", "↔"))
        ax.set_xlim(0.004, 3000)
        ax.set_ylim(-3, done.groupby(["pair", "name"])["p@1"].mean().max() + 8)
        at = points[["seconds", "p@1"]].to_numpy()
        found = [
            text for text in zip(points["name"], at, colors, strict=True) if text[1][1] >= LOST
        ]
        label_points(ax, found, at)
        lost = points[points["p@1"] < LOST].sort_values("seconds")
        if len(lost):
            text = f"below {LOST} %: " + ", ".join(lost["name"])
            ax.text(0.03, LOST + 1, textwrap.fill(text, 34, break_on_hyphens=False), transform=ax.get_yaxis_transform(),
                    fontsize=9, color="0.35")  # fmt: skip
    axes[0, 0].set(ylabel="P@1 (%), mean of both directions")
    kinds = ["words spelled alike", "no hint", "a dictionary"]
    dots = [plt.Line2D([], [], marker="o", ls="", color=f"C{i}") for i in range(3)]
    figure.legend(
        dots, kinds, title="learns from", loc="outside lower center", frameon=False, ncols=3
    )
    return list(axes[0])


def growth(
    seconds: dict[str, dict[int, float]], slopes: dict[str, float], ax: Axes | None = None
) -> Axes:
    """Seconds over words per side, both on logarithmic axes, a line each with its slope.

    Args:
        seconds: Seconds by size, by name.
        slopes: Slopes of the lines, by name.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(6, 4.2))[1]
    for i, (name, at) in enumerate(seconds.items()):
        ax.loglog(list(at), list(at.values()), "o-", color=f"C{i}")
        label = f"{name}\nslope {slopes[name]:.2f}"
        ax.annotate(label, (max(at), at[max(at)]), (8, 0), textcoords="offset points",
                    color=f"C{i}", va="center", annotation_clip=False)  # fmt: skip
    ax.set(xlabel="words per side", ylabel="seconds")
    return ax
