"""Figures of words and their translations in the shared space (:mod:`demalib.explore.words`)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

from demalib.errors import harmless
from demalib.plots.common import label_ends, label_points

SIDES = (("src", "o", "C0"), ("tgt", "s", "C1"))


def joined_words(
    points: pd.DataFrame, langs: tuple[str, str], title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw words of two languages in a plane, with a line from each source word to its translation.

    Args:
        points: A row per word: ``side`` (src or tgt), ``word``, ``x``, ``y``, and for source words
            ``partner``, the row of the translation. Words are labelled if there are at most fifty.
            ``points.attrs["reach"]`` sets the limits of both axes; without it they fit the words.
        langs: Source and target language.
        title: Title of the figure.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(8, 6))[1]
    labelled, xy = len(points) <= 50, points[["x", "y"]].to_numpy()
    source = np.flatnonzero(points["side"] == "src")
    ends = np.stack([xy[source], xy[points["partner"].iloc[source].astype(int)]])  # (2, n, 2)
    ax.plot(*ends.transpose(2, 0, 1), color="0.7", linewidth=1.2 if labelled else 0.6, zorder=1)
    for (side, marker, color), lang in zip(SIDES, langs, strict=True):
        x, y = xy[points["side"] == side].T
        size = 36 if labelled else 12
        ax.scatter(x, y, s=size, marker=marker, color=color, label=lang, zorder=2)
    if reach := (1.3 if labelled else 1.1) * points.attrs.get("reach", 0):
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
    else:
        ax.margins(0.1)
    ax.set(
        xlabel="first principal component",
        ylabel="second principal component",
        title=harmless(title),
    )
    ax.title.set_parse_math(False)  # it has a word in it
    above = 1.06 if title else 1.01
    ax.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, above), borderpad=0)
    if labelled:
        along = np.linspace(0, 1, 9)[:, None, None]  # points on the lines, ends included
        lines = (ends[0] * (1 - along) + ends[1] * along).reshape(-1, 2)
        colors = points["side"].map({side: color for side, _, color in SIDES})
        label_points(ax, list(zip(points["word"], xy, colors, strict=True)), lines)
    return ax


def around_and_clouds(
    near: pd.DataFrame, far: pd.DataFrame, langs: tuple[str, str], snapshot: str
) -> list[Axes]:
    """Draw a circled word among its neighbours and, beside it, both clouds at the same snapshot.

    Args:
        near: Result of :func:`demalib.explore.words.around`.
        far: Result of :func:`demalib.explore.words.clouds`.
        langs: Source and target language.
        snapshot: Caption of the snapshot.
    """
    layout = ConstrainedLayoutEngine(wspace=0.08)  # room for words at the edge
    _, axes = plt.subplots(1, 2, figsize=(11.6, 5.6), layout=layout)
    joined_words(near, langs, f"around {near['word'].iloc[0]} · {snapshot}", axes[0])
    x, y = near["x"][:1], near["y"][:1]
    axes[0].scatter(x, y, s=90, facecolors="none", edgecolors="0.2", zorder=3)
    cosine = f"mean cosine of the pairs {far.attrs['cosine']:.2f}"
    joined_words(far, langs, f"words of all ranks · {cosine}", axes[1])
    return list(axes)


def meeting(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean cosine of words and their translations over the snapshots of a run.

    Args:
        frame: Result of :func:`demalib.explore.words.meeting`.
        ax: Where to draw; a new figure if left out.
    """
    ax = ax or plt.subplots(figsize=(7, 3.2))[1]
    lines = [name for name in frame if name != "snapshot"]
    at = np.arange(len(frame))
    for i, name in enumerate(lines):
        ax.plot(at, frame[name], marker=".", color=f"C{i}")
    ticks = sorted({0, *at[5:-3:5], len(frame) - 1})
    ax.set(xticks=ticks, ylabel="mean cosine", xlim=(-0.5, at[-1] + 0.5))
    ax.set_xticklabels([frame["snapshot"][i] for i in ticks])
    label_ends(ax, [(frame[name].iloc[-1], name, f"C{i}") for i, name in enumerate(lines)])
    return ax
