"""Figures of the world in the plane (:mod:`demalib.teaching.plane`): its densities, losses and moments."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from demalib.plots.common import label_ends, label_points

SRC, TGT = sns.color_palette("colorblind")[0], sns.color_palette("colorblind")[3]


def panels(columns: int, rows: int = 1, size: float = 4.2) -> np.ndarray:
    """Square panels of one plane, side by side, as an array of Axes, ``(rows, columns)``."""
    shape = {"figsize": (size * columns, size * rows + 0.3), "sharex": True, "sharey": True}
    axes = plt.subplots(rows, columns, squeeze=False, **shape)[1]
    for ax in axes.flat:
        ax.set(aspect="equal", xlabel="first dimension", ylabel="second dimension")
        ax.label_outer()
        ax.grid(visible=False)
    return axes


def cloud(
    ax: Axes,
    title: str,
    log_density: np.ndarray | None = None,
    reach: float = 1.8,
    samples: np.ndarray | None = None,
    words: np.ndarray | None = None,
    labels: Sequence[str] = (),
    color=SRC,
) -> Axes:
    """A space of words: its density shaded, samples as small dots, words as labelled ones.

    Args:
        ax: Where to draw.
        title: What it is.
        log_density: On :func:`demalib.teaching.plane.grid` of this ``reach``, ``(n * n,)``; a shade is a nat.
        reach: The panel goes from ``-reach`` to ``reach`` in both dimensions.
        samples: Points, ``(B, 2)``.
        words: Points, ``(N, 2)``.
        labels: A text for each word.
        color: Of samples and words.
    """
    if log_density is not None:
        height = np.asarray(log_density)
        n, levels = round(len(height) ** 0.5), height.max() - np.arange(8, -1, -1)
        line = np.linspace(-reach, reach, n)
        ax.contourf(line, line, height.reshape(n, n), levels, cmap="Greys", alpha=0.6)
    if samples is not None:
        ax.scatter(*np.transpose(samples), s=6, color=color, alpha=0.5, linewidths=0)
    if words is not None:
        ax.scatter(*np.transpose(words), s=18, color=color, edgecolor="white", linewidth=0.5)
    ax.set(title=title, xlim=(-reach, reach), ylim=(-reach, reach))
    if words is not None and len(labels):
        at = np.asarray(words)
        label_points(ax, [(text, xy, "0.15") for text, xy in zip(labels, at, strict=False)], at, 9)
    return ax


def curves(
    table: pd.DataFrame, ylabel: str, ax: Axes | None = None, truth: float | None = None
) -> Axes:
    """Lines over a common axis, each labelled at its end; with ``truth``, valleys are marked.

    Args:
        table: A column per line; the index, with its name, is the axis.
        ylabel: What is measured, with its unit.
        ax: Where to draw; a new figure if left out.
        truth: Where the lowest point should be: a dashed line, and a dot in every valley. The
            axis is then a circle, its last value the first again.
    """
    ax = ax or plt.subplots(figsize=(6, 3.2))[1]
    at, ends = table.index.to_numpy(), []
    for i, (name, column) in enumerate(table.items()):
        height = column.to_numpy()
        ax.plot(at, height, color=f"C{i}")
        ends.append((height[-1], str(name), f"C{i}"))
        if truth is not None:
            inner, around = height[:-1], (np.roll(height[:-1], 1), np.roll(height[:-1], -1))
            low = (inner < around[0]) & (inner <= around[1])
            ax.plot(at[:-1][low], inner[low], "o", color=f"C{i}", markersize=5, clip_on=False)
    if truth is not None:
        ax.axvline(truth, color="0.3", linestyle="--", linewidth=1)
    ax.set(xlabel=table.index.name, ylabel=ylabel, xlim=(at[0], at[-1]))
    if len(ends) > 1:
        label_ends(ax, ends)
    return ax


def landscapes(table: pd.DataFrame, truth: float) -> list[Axes]:
    """The loss over the angle of a map, a panel for each column, on a scale of its own.

    Args:
        table: A column per setting, nats; the index is the angle.
        truth: The right angle: a dashed line.
    """
    size = (3.6 * len(table.columns), 3.0)
    _, axes = plt.subplots(1, len(table.columns), figsize=size, squeeze=False)
    for ax, name in zip(axes[0], table, strict=True):
        curves(table[[name]], "density loss (nats)" if ax is axes[0][0] else "", ax, truth)
        ax.set(title=name, xticks=range(0, 361, 90))
    return list(axes[0])


def moments(
    rows: dict[str, dict[str, np.ndarray]], targets: np.ndarray, partners: np.ndarray, reach=1.8
) -> np.ndarray:
    """Moments of several solvers: mapped words, joined to where their translations lie.

    Args:
        rows: By solver, then by caption, the mapped source words, ``(N, 2)``.
        targets: The target words, ``(M, 2)``.
        partners: Row of each source word's translation among them, ``(N,)``.
        reach: The panels go from ``-reach`` to ``reach``.
    """
    axes = panels(max(map(len, rows.values())), len(rows), 2.5)
    for line, (solver, shown) in zip(axes, rows.items(), strict=True):
        for ax, (caption, mapped) in zip(line, shown.items(), strict=False):
            joined = np.stack([mapped, targets[partners]], axis=1)  # (N, 2 ends, 2)
            ax.plot(*joined.transpose(2, 1, 0), color="0.75", linewidth=0.8, zorder=1)
            ax.scatter(*targets.T, s=22, facecolor="none", edgecolor=TGT, linewidth=1)
            ax.scatter(*mapped.T, s=12, color=SRC)
            ax.set_title(caption, fontsize=10)
            ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        line[0].set_ylabel(f"{solver}\nsecond dimension")
    return axes
