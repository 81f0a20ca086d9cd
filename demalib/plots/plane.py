"""Figures of the toy world in the plane: its densities, losses and snapshots of solvers.

The data comes from :mod:`demalib.teaching.plane`.
"""

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
    """Make a grid of square panels that share their axes, ``(rows, columns)``."""
    figsize = (size * columns, size * rows + 0.3)
    axes = plt.subplots(rows, columns, squeeze=False, figsize=figsize, sharex=True, sharey=True)[1]
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
    color: tuple[float, float, float] = SRC,
) -> Axes:
    """Draw a space of words: its density shaded, samples as small dots, words as labelled dots.

    Args:
        ax: Where to draw.
        title: Title of the panel.
        log_density: Log-density at the points of :func:`demalib.teaching.plane.grid` of this
            ``reach``, ``(n * n,)``; the shade changes with every nat.
        reach: The panel goes from ``-reach`` to ``reach`` in both dimensions.
        samples: Positions of the samples, ``(B, 2)``.
        words: Positions of the words, ``(N, 2)``.
        labels: Text for each word; none if empty.
        color: Colour of samples and words.
    """
    if log_density is not None:
        height = np.asarray(log_density)
        n, levels = round(len(height) ** 0.5), height.max() - np.arange(8, -1, -1)
        line = np.linspace(-reach, reach, n)
        ax.contourf(line, line, height.reshape(n, n), levels, cmap="Greys", alpha=0.6)
    if samples is not None:
        x, y = np.transpose(samples)
        ax.scatter(x, y, s=6, color=color, alpha=0.5, linewidths=0)
    ax.set(title=title, xlim=(-reach, reach), ylim=(-reach, reach))
    if words is not None:
        at = np.asarray(words)
        ax.scatter(at[:, 0], at[:, 1], s=18, color=color, edgecolor="white", linewidth=0.5)
        named = [(text, xy, "0.15") for text, xy in zip(labels, at, strict=False)]
        label_points(ax, named, at, size=9)
    return ax


def curves(
    table: pd.DataFrame, ylabel: str, ax: Axes | None = None, truth: float | None = None
) -> Axes:
    """Draw lines over a common axis, each labelled at its end.

    Args:
        table: A column per line, over the index; the name of the index labels the axis.
        ylabel: What is measured, with its unit.
        ax: Where to draw; a new figure if left out.
        truth: Where the lowest point should be, drawn as a dashed line; every valley then gets
            a dot. The index must then be a full circle, its last value the first one again.
    """
    ax = ax or plt.subplots(figsize=(6, 3.2))[1]
    at, ends = table.index.to_numpy(), []
    for i, (name, column) in enumerate(table.items()):
        height = column.to_numpy()
        ax.plot(at, height, color=f"C{i}")
        ends.append((height[-1], str(name), f"C{i}"))
        if truth is not None:
            circle = height[:-1]
            valley = (circle < np.roll(circle, 1)) & (circle <= np.roll(circle, -1))
            dots = at[:-1][valley], circle[valley]
            ax.plot(*dots, "o", color=f"C{i}", markersize=5, clip_on=False)
    if truth is not None:
        ax.axvline(truth, color="0.3", linestyle="--", linewidth=1)
    ax.set(xlabel=table.index.name, ylabel=ylabel, xlim=(at[0], at[-1]))
    if len(ends) > 1:
        label_ends(ax, ends)
    return ax


def landscapes(table: pd.DataFrame, truth: float) -> list[Axes]:
    """Draw the loss over the angle of a map, each column in a panel with its own scale.

    Args:
        table: The loss in nats, a column per setting; the index is the angle in degrees.
        truth: The correct angle, drawn as a dashed line.
    """
    size = (3.6 * len(table.columns), 3.0)
    _, axes = plt.subplots(1, len(table.columns), figsize=size, squeeze=False)
    for ax, name in zip(axes[0], table, strict=True):
        curves(table[[name]], "density loss (nats)" if ax is axes[0][0] else "", ax, truth)
        ax.set(title=name, xticks=range(0, 361, 90))
    return list(axes[0])


def snapshots(
    rows: dict[str, dict[str, np.ndarray]],
    targets: np.ndarray,
    partners: np.ndarray,
    reach: float = 1.8,
) -> np.ndarray:
    """Draw snapshots of several solvers: mapped words, each joined to its translation.

    Args:
        rows: By solver, then by caption of the snapshot, the mapped source words, ``(N, 2)``.
        targets: Target words, ``(M, 2)``.
        partners: For each source word, the row of its translation in ``targets``, ``(N,)``.
        reach: The panels go from ``-reach`` to ``reach`` in both dimensions.

    Returns:
        A row of panels per solver, ``(solvers, snapshots)``.
    """
    axes = panels(max(map(len, rows.values())), len(rows), 2.5)
    for line, (solver, shown) in zip(axes, rows.items(), strict=True):
        for ax, (caption, mapped) in zip(line, shown.items(), strict=False):
            joined = np.stack([mapped, targets[partners]], axis=1)  # (N, 2 ends, 2)
            ax.plot(*joined.transpose(2, 1, 0), color="0.75", linewidth=0.8, zorder=1)
            x, y = targets.T
            ax.scatter(x, y, s=22, facecolor="none", edgecolor=TGT, linewidth=1)
            x, y = mapped.T
            ax.scatter(x, y, s=12, color=SRC)
            ax.set_title(caption, fontsize=10)
            ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        line[0].set_ylabel(f"{solver}\nsecond dimension")
    return axes
