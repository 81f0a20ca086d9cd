"""What all figures share: their style, names of directions, labels that stay apart, small files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from PIL import Image  # matplotlib brings it

from demalib.files import write_aside
from demalib.fonts import families


def style() -> None:
    """The look of every figure: colour-blind palette, readable sizes, 100 dpi, any script."""
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
    plt.rcParams.update({
        "figure.dpi": 100, "savefig.dpi": 100, "savefig.bbox": "tight", "axes.spines.top": False,
        "axes.spines.right": False, "figure.constrained_layout.use": True,
        "font.family": families(),
    })  # fmt: skip


def save(axes: Axes | np.ndarray | list[Axes], path: Path) -> None:
    """Write the figure of these axes as a PNG, whole or not at all."""
    with write_aside(path) as aside:
        np.ravel(axes)[0].figure.savefig(aside, format="png")


def arrow(direction: str) -> str:
    """``en → fr`` for ``en-fr``."""
    return direction.replace("-", " → ")


def error_bars(rows: pd.DataFrame, column: str) -> list[pd.Series]:
    """How far ``low`` and ``high`` lie from a column, as matplotlib wants it."""
    return [rows[column] - rows["low"], rows["high"] - rows[column]]


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


def label_ends(ax: Axes, ends: list[tuple[float, str, str]]) -> None:
    """Name lines (height, name, colour) at the right edge, moved apart where they meet."""
    ends = sorted(ends)
    at = np.array([height for height, _, _ in ends])
    lines = np.array([1 + name.count("\n") for _, name, _ in ends])
    gap = 0.04 * np.ptp(ax.get_ylim()) * (lines[:-1] + lines[1:])
    for _ in range(200):  # neighbours push each other until all are clear
        push = np.clip(gap - np.diff(at), 0, None) / 2
        at[:-1] -= push
        at[1:] += push
    for height, (_, name, color) in zip(at, ends, strict=True):
        place = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
        text = ax.annotate(name, (1, height), (5, 0), va="center", color=color, **place)
        text.set_annotation_clip(False)


class Picture:
    """A figure as a PNG of 128 colours, a third of the bytes, so that notebooks stay light.

    It closes the figure; a notebook shows what stands last in a cell.

    Args:
        axes: Axes of the figure, one or several.
    """

    def __init__(self, axes: Axes | np.ndarray | list[Axes]):
        figure, whole, small = np.ravel(axes)[0].figure, BytesIO(), BytesIO()
        figure.savefig(whole, format="png")
        plt.close(figure)
        Image.open(whole).convert("RGB").quantize(128).save(small, "PNG", optimize=True)
        self.png = small.getvalue()

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return "a figure"
