"""Parts that figures share: style, arrows for directions, labels that stay apart, small files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from PIL import Image  # a dependency of matplotlib

from demalib.data.files import atomic_write
from demalib.errors import harmless
from demalib.plots.fonts import families

COMPASS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
OFFSETS = [(r * a, r * b) for r in (5, 8, 13, 19) for a, b in COMPASS]  # in typographic points
LEADER = 13  # points from which a label is joined to its point by a line
WIDEST = 1200  # pixels of a picture in a notebook
DISTANCE_COST = 5  # square pixels that a label may cover to be one typographic point nearer


def style() -> None:
    """Set the look of all figures: colour-blind palette, readable sizes, 100 dpi, any script."""
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
    settings: dict[Any, Any] = {
        "figure.dpi": 100,
        "figure.constrained_layout.use": True,
        "savefig.dpi": 100,
        "savefig.bbox": "tight",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.family": families(),
    }
    plt.rcParams.update(settings)


def figure_of(axes: Axes | np.ndarray | list[Axes]) -> Figure:
    """Return the figure that one or several axes belong to."""
    return np.asarray(axes, dtype=object).flat[0].figure


def save(axes: Axes | np.ndarray | list[Axes], path: Path) -> None:
    """Write the figure of these axes as a PNG; if that fails, an old file stays as it was."""
    with atomic_write(path) as aside:
        figure_of(axes).savefig(aside, format="png")


def arrow(direction: str) -> str:
    """Write a direction with an arrow: ``en → fr`` for ``en-fr``."""
    return direction.replace("-", " → ")


def error_bars(rows: pd.DataFrame, column: str) -> list[pd.Series]:
    """Convert the bounds ``low`` and ``high`` to distances from a column, as matplotlib expects."""
    return [rows[column] - rows["low"], rows["high"] - rows[column]]


def label_points(
    ax: Axes, labels: list[tuple[str, np.ndarray, str]], avoid: np.ndarray, size: float = 10
) -> None:
    """Write a label beside each point, where it covers little else and stays inside the axes.

    A label that found no place close by is joined to its point by a line. Labels are placed in
    pixels, so set the limits of the axes first.

    Args:
        ax: Where to draw.
        labels: Text, position ``(2,)`` and colour of each label.
        avoid: Points that the labels should not cover, ``(n, 2)``.
        size: Font size.
    """
    figure_of(ax).draw_without_rendering()
    pixels = ax.transData.transform(avoid)
    taken = np.hstack([pixels - 4, pixels + 4])  # (n, 4): left, bottom, right, top
    far = DISTANCE_COST * np.linalg.norm(OFFSETS, axis=1)
    for word, (x, y), color in labels:
        text = ax.annotate(
            harmless(word), (x, y), (0, 0), textcoords="offset points", color=color, fontsize=size
        )
        text.set_parse_math(False)  # a dollar sign is a word like others
        boxes = np.array([_move(text, offset) for offset in OFFSETS])
        covered = np.array([_overlap(box, taken).sum() for box in boxes])
        outside = _overlap(boxes, boxes) - _overlap(boxes, np.array(ax.bbox.extents))
        best = int(np.argmin(np.round(covered + outside + far)))  # rounded: equal places tie
        _move(text, OFFSETS[best])
        if max(map(abs, OFFSETS[best])) >= LEADER:
            line = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
            ax.annotate("", (x, y), OFFSETS[best], textcoords="offset points", arrowprops=line)
        taken = np.vstack([taken, boxes[best]])


def _move(text: Annotation, offset: tuple[float, float]) -> np.ndarray:
    """Move a label to this offset from its point and return its box in pixels, ``(4,)``."""
    right, up = np.sign(offset)
    ha = {-1: "right", 0: "center", 1: "left"}[right]
    va = {-1: "top", 0: "center", 1: "bottom"}[up]
    text.set(position=offset, ha=ha, va=va)
    return np.array(text.get_window_extent().padded(1).extents)


def _overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute the areas that boxes share, ``(..., 4)`` each: left, bottom, right, top."""
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    return sides.clip(0).prod(axis=-1)


def label_ends(ax: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Name lines (height, name, colour) at the right edge, moved apart where they would overlap."""
    ends = sorted(ends)
    at = np.array([height for height, _, _ in ends], dtype=float)
    lines = np.array([1 + name.count("\n") for _, name, _ in ends])
    gap = 0.04 * np.ptp(ax.get_ylim()) * (lines[:-1] + lines[1:])
    for _ in range(200):  # neighbours push each other until all are clear
        push = np.clip(gap - np.diff(at), 0, None) / 2
        at[:-1] -= push
        at[1:] += push
    for height, (_, name, color) in zip(at, ends, strict=True):
        ax.annotate(
            name,
            (1, height),
            (5, 0),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            color=color,
            annotation_clip=False,
        )


class Picture:
    """A figure as a PNG of 128 colours and at most 1,200 pixels wide, to keep notebooks small.

    It closes the figure; a notebook shows it if it is the last expression of a cell.

    Args:
        axes: Axes of the figure, one or several.
    """

    def __init__(self, axes: Axes | np.ndarray | list[Axes]):
        figure, whole, small = figure_of(axes), BytesIO(), BytesIO()
        figure.savefig(whole, format="png", dpi=min(figure.dpi, WIDEST / figure.get_figwidth()))
        plt.close(figure)
        Image.open(whole).convert("RGB").quantize(128).save(small, "PNG", optimize=True)
        self.png = small.getvalue()

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return "a figure"
