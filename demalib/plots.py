"""Figures: a data frame in, Axes out, one style."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from demalib.fonts import families


def style() -> None:
    """The look of every figure: colour-blind palette, readable sizes, 100 dpi, any script."""
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
    plt.rcParams.update({
        "figure.dpi": 100, "savefig.dpi": 100, "savefig.bbox": "tight", "axes.spines.top": False,
        "axes.spines.right": False, "figure.constrained_layout.use": True,
        "font.family": families(),
    })  # fmt: skip


def arrow(direction: str) -> str:
    """``en → fr`` for ``en-fr``."""
    return direction.replace("-", " → ")


def error_bars(rows: pd.DataFrame, column: str) -> list[pd.Series]:
    """How far ``low`` and ``high`` lie from a column, as matplotlib wants it."""
    return [rows[column] - rows["low"], rows["high"] - rows[column]]


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
    ax.set_xticklabels([arrow(direction) for direction in results])
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
        error = [100 * side for side in error_bars(frame, "p@1")]
        ax.errorbar(x, height, error, marker="o", capsize=3)
        ends.append((height.iloc[-1], x[-1] + 0.1, arrow(name), f"C{i}"))
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
        first = curve.iloc[0]
        ax.text(first["seconds"] + 1, 100 * first[ways].min() - 2, name, color=f"C{i}", va="top")
    arrows = [arrow(way) for way in ways]
    ax.plot([], [], "-", color="0.3", label=arrows[0])
    ax.plot([], [], "--", color="0.3", label=arrows[-1])
    ax.legend(frameon=False, loc="lower right")
    ax.set(xlabel="time spent solving (seconds, two cores)", ylabel="P@1 (%)", ylim=(0, 100))
    ax.set_xlim(0, 1.05 * max(curve["seconds"].max() for curve in curves.values()))
    return ax


def ablations(table: pd.DataFrame) -> list[Axes]:
    """Points of P@1 lost when a part is left out: ours as dots, the paper's as diamonds.

    Args:
        table: What :func:`demalib.tables.ablations` returned.
    """
    ways, rows = list(table["direction"].unique()), table[table["ablate"] != "nothing"]
    parts = list(rows["ablate"].unique())
    figure, axes = plt.subplots(1, len(ways), figsize=(1.2 + 2.5 * len(ways), 2.8), sharey=True,
                                squeeze=False)  # fmt: skip
    for ax, way in zip(axes[0], ways, strict=True):
        some = rows[rows["direction"] == way]
        at = [parts.index(part) for part in some["ablate"]]
        error = error_bars(some, "p@1")
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


def hubness(counts: pd.DataFrame) -> list[Axes]:
    """Histograms of the k-occurrence, a panel per metric, with skewness and the worst hub.

    Args:
        counts: What :func:`demalib.retrieval.k_occurrence` returned: a row per target word, named
            in the index, and a column per metric.
    """
    width = 3.1 * counts.shape[1]
    _, axes = plt.subplots(1, counts.shape[1], figsize=(width, 3), sharey=True, squeeze=False)
    bins = np.arange(-0.5, counts.to_numpy().max() + 3, 3)
    for ax, (name, column) in zip(axes[0], counts.items(), strict=True):
        ax.hist(column, bins, color="C0")
        most, word = column.max(), column.idxmax()
        ax.axvline(most, color="C1", linewidth=1.2, ymax=0.35)
        word = word if max(word) < "\u0250" else "worst hub"  # the font may know Latin only
        ax.text(most, 0.37, word, color="C1", ha="right", transform=ax.get_xaxis_transform())
        none = (column == 0).mean()
        said = f"skewness {column.skew():.2f}\nhighest {most}\nin no list {none:.1%}"
        ax.text(0.98, 0.97, said, ha="right", va="top", fontsize=11, transform=ax.transAxes)
        ax.set(title=name.upper(), yscale="log", xlabel="lists that hold the word")
    axes[0, 0].set_ylabel("target words")
    return list(axes[0])


def rounds(frame: pd.DataFrame, column: str = "p@1", ax: Axes | None = None) -> Axes:
    """A line per ``name`` over the rounds of refinement, labelled at its end.

    Args:
        frame: Rows of :func:`demalib.pipeline.follow_refinement`, with a ``name`` for each line.
        column: What to draw: ``p@1`` or ``gain``, with their intervals, ``pairs`` or ``cosine``.
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
    labels = {"p@1": "P@1 (%)", "gain": "gain over the start\n(points of P@1)",
              "pairs": "pairs in its dictionary", "cosine": "their mean cosine"}  # fmt: skip
    ax.set(xlabel="round", ylabel=labels[column], xticks=sorted(frame["round"].unique()))
    ax.set_ylim(None if column == "gain" else 0, None)
    _label_ends(ax, [end for end in ends if end[1]])
    return ax


def _label_ends(ax: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Name lines (height, name, colour) at the right edge, moved apart where they meet."""
    at = np.sort([height for height, _, _ in ends])
    gap = 0.08 * np.ptp(ax.get_ylim())
    for _ in range(200):  # neighbours push each other until all are clear
        push = np.clip(gap - np.diff(at), 0, None) / 2
        at[:-1] -= push
        at[1:] += push
    for height, (_, name, color) in zip(at, sorted(ends), strict=True):
        place = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
        text = ax.annotate(name, (1, height), (5, 0), va="center", color=color, **place)
        text.set_annotation_clip(False)


def shared_space(points: pd.DataFrame, langs: tuple[str, str], ax: Axes | None = None) -> Axes:
    """Words of two languages in one plane; a line joins each word and its translation.

    Args:
        points: A row per word with its translation: ``src`` and ``tgt``, the words, with their
            places ``src_x``, ``src_y``, ``tgt_x`` and ``tgt_y``.
        langs: Names of the two languages.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(8, 6))[1]
    x, y = points[["src_x", "tgt_x"]].to_numpy().T, points[["src_y", "tgt_y"]].to_numpy().T
    ax.plot(x, y, color="0.7", linewidth=1.2, zorder=1)
    labels = []
    for side, lang, marker, color in (("src", langs[0], "o", "C0"), ("tgt", langs[1], "s", "C1")):
        at = points[[f"{side}_x", f"{side}_y"]].to_numpy()
        ax.scatter(*at.T, s=36, marker=marker, color=color, label=lang, zorder=2)
        labels += [(word, xy, color) for word, xy in zip(points[side], at, strict=True)]
    ax.set(xlabel="first principal component", ylabel="second principal component")
    ax.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    ax.margins(0.1)
    along = np.linspace(0, 1, 9)  # places on the lines, their ends too
    lines = np.stack([np.outer(1 - along, p[0]) + np.outer(along, p[1]) for p in (x, y)], axis=-1)
    label_points(ax, labels, lines.reshape(-1, 2))
    return ax


def label_points(ax: Axes, labels: list[tuple[str, np.ndarray, str]], avoid: np.ndarray) -> None:
    """Write each word (text, position, colour) near its point, where it hides least of the rest."""
    ax.figure.draw_without_rendering()
    corners = ax.transData.transform(avoid)
    boxes = np.hstack([corners - 4, corners + 4])  # (n, 4): left, bottom, right, top
    turns = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
    spots = [(8 * r * a, 8 * r * b) for r in (1, 1.6, 2.4) for a, b in turns]
    align = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}
    for word, xy, color in labels:
        tries = []
        for dx, dy in spots:
            ha, va = align[int(np.sign(dx))][0], align[int(np.sign(dy))][1]
            look = {"ha": ha, "va": va, "color": color, "fontsize": 10}
            text = ax.annotate(word, xy, (dx, dy), textcoords="offset points", **look)
            box = text.get_window_extent().padded(1).extents
            sides = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
            hidden = sides.clip(0).prod(axis=1).sum()
            tries.append((hidden, len(tries), box, text))
        _, chosen, box, _ = min(tries, key=lambda t: t[:2])
        boxes = np.vstack([boxes, box])
        for text in (t[3] for t in tries if t[1] != chosen):
            text.remove()
