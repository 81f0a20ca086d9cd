"""Figures of the benchmarks (:mod:`demalib.bench`): precision over time, time over words."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from demalib.plots.common import arrow


def precision_over_time(curves: dict[str, pd.DataFrame]) -> Axes:
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


def growth(
    seconds: dict[str, dict[int, float]], slopes: dict[str, float], ax: Axes | None = None
) -> Axes:
    """Seconds over words per side, both on logarithmic axes, a line each with its slope.

    Args:
        seconds: Seconds by size, by name.
        slopes: Slopes of the lines, by name.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(7.5, 4.2))[1]
    sizes = sorted(set().union(*seconds.values()))
    for i, (name, at) in enumerate(seconds.items()):
        ax.loglog(list(at), list(at.values()), "o-", color=f"C{i}")
        away, side = (8, "left") if max(at) == sizes[-1] else (-8, "right")  # clear of the others
        ax.annotate(f"{name}, slope {slopes[name]:.2f}", (max(at), at[max(at)]), (away, 0),
                    textcoords="offset points", color=f"C{i}", ha=side, va="center",
                    annotation_clip=False)  # fmt: skip
    ax.set_xticks(sizes, [f"{size // 1000}k" for size in sizes])
    ax.set_xticks([], minor=True)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="words per side", ylabel="seconds")
    return ax
