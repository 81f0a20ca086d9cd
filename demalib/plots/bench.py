"""Figures of the benchmarks (``tests/bench``): precision over time, seconds over words."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from demalib.plots.common import arrow


def precision_over_time(curves: dict[str, pd.DataFrame]) -> Axes:
    """Draw P@1 over the time spent solving: a colour per solver, a line style per direction.

    Args:
        curves: By solver, a column ``seconds`` and a column of P@1, from 0 to 1, per direction.
    """
    ax = plt.subplots(figsize=(6.4, 3.6))[1]
    for i, (name, curve) in enumerate(curves.items()):
        directions = [column for column in curve if column != "seconds"]
        for direction, line in zip(directions, ("-", "--"), strict=False):
            ax.plot(curve["seconds"], 100 * curve[direction], line, color=f"C{i}", marker=".")
        first = curve.iloc[0]
        below = 100 * first[directions].min() - 2
        ax.text(first["seconds"] + 1, below, name, color=f"C{i}", va="top")
    arrows = [arrow(direction) for direction in directions]
    ax.plot([], [], "-", color="0.3", label=arrows[0])
    ax.plot([], [], "--", color="0.3", label=arrows[-1])
    ax.legend(frameon=False, loc="lower right")
    ax.set(xlabel="time spent solving (seconds, two cores)", ylabel="P@1 (%)", ylim=(0, 100))
    ax.set_xlim(0, 1.05 * max(curve["seconds"].max() for curve in curves.values()))
    return ax


def growth(
    seconds: dict[str, dict[int, float]], slopes: dict[str, float], ax: Axes | None = None
) -> Axes:
    """Draw seconds over words per language on logarithmic axes, each line with its slope.

    Args:
        seconds: By name of the line, the seconds by number of words.
        slopes: By name of the line, its slope.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(7.5, 4.2))[1]
    sizes = sorted(set().union(*seconds.values()))
    for i, (name, by_size) in enumerate(seconds.items()):
        ax.loglog(list(by_size), list(by_size.values()), "o-", color=f"C{i}")
        largest = max(by_size)
        # Short lines are labelled on the left, where they do not run into the longer ones.
        offset, align = (8, "left") if largest == sizes[-1] else (-8, "right")
        ax.annotate(
            f"{name}, slope {slopes[name]:.2f}",
            (largest, by_size[largest]),
            (offset, 0),
            textcoords="offset points",
            color=f"C{i}",
            ha=align,
            va="center",
            annotation_clip=False,
        )
    ax.set_xticks(sizes, [f"{size // 1000}k" for size in sizes])
    ax.set_xticks([], minor=True)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="words per side", ylabel="seconds")
    return ax
