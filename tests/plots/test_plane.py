import numpy as np
import pandas as pd
import pytest

from demalib import plots
from demalib.mixture import WordMixture
from demalib.teaching import plane


def landscape(*valleys):
    """A loss over the circle with a valley at each of the given angles."""
    at = np.arange(0, 361, 5)
    depth = sum(np.exp(6 * np.cos(np.radians(at - v)) - 6) for v in valleys)
    return pd.DataFrame({"loss": -depth}, index=pd.Index(at, name="angle"))


@pytest.mark.parametrize("valleys", [(130,), (0,), (355, 120), (20, 140, 260)])
def test_every_valley_has_a_dot(valleys):
    ax = plots.curves(landscape(*valleys), "loss (nats)", truth=valleys[0])
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert sorted(dots.get_xdata()) == sorted(valleys)
    assert ax.get_xlabel() == "angle" and ax.get_ylabel() == "loss (nats)"


def test_a_panel_for_each_landscape():
    table = landscape(90).assign(other=landscape(180))
    axes = plots.landscapes(table, 90)
    assert [ax.get_title() for ax in axes] == ["loss", "other"]


@pytest.mark.parametrize("degrees", [0, 120])
def test_labels_of_the_toy_do_not_overlap(degrees):
    _, tgt, _ = plane.plane(degrees, noise=0.05)
    words = tgt.vectors - tgt.vectors.mean(axis=0)
    ax = plots.panels(2)[0][0]
    plots.cloud(ax, "French", words=words, labels=tgt.words)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent().shrunk(0.9, 0.7) for text in ax.texts if text.get_text()]
    assert len(boxes) == len(words)
    clashes = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert clashes == 0


def test_the_darkest_shade_is_the_top_of_the_density():
    grid = plane.grid(1.8, 31)
    height = WordMixture(grid[:1] + 2.4, 0.1).log_prob(grid)  # one word, at (0.6, 0.6)
    ax = plots.cloud(plots.panels(1)[0][0], "one word", height)
    top = ax.collections[0].get_paths()[-1]  # the region of the last nat
    np.testing.assert_allclose(top.get_extents().get_points().mean(axis=0), 0.6, atol=0.1)
    assert ax.get_xlim() == ax.get_ylim() == (-1.8, 1.8)


def test_moments_join_words_to_their_translations():
    targets, partners = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 0])
    mapped = np.array([[0.9, 0.1], [0.1, 0.9]])
    axes = plots.snapshots({"em": {"start": mapped, "end": targets}}, targets, partners)
    assert axes.shape == (1, 2) and axes[0, 1].get_title() == "end"
    lines = [np.array(line.get_data()).T for line in axes[0, 0].lines]
    np.testing.assert_allclose(lines, [[mapped[0], targets[1]], [mapped[1], targets[0]]])
