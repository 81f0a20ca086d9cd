from io import BytesIO

import matplotlib
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from demalib import plots_plane, toy
from demalib.density import log_density

matplotlib.use("Agg")
plt = matplotlib.pyplot


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def landscape(*valleys):
    """A loss over the circle with a valley at each of the given angles."""
    at = np.arange(0, 361, 5)
    depth = sum(np.exp(6 * np.cos(np.radians(at - v)) - 6) for v in valleys)
    return pd.DataFrame({"loss": -depth}, index=pd.Index(at, name="angle"))


@pytest.mark.parametrize("valleys", [(130,), (0,), (355, 120), (20, 140, 260)])
def test_every_valley_has_a_dot(valleys):
    ax = plots_plane.curves(landscape(*valleys), "loss (nats)", truth=valleys[0])
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert sorted(dots.get_xdata()) == sorted(valleys)
    assert ax.get_xlabel() == "angle" and ax.get_ylabel() == "loss (nats)"


def test_end_labels_keep_apart():
    table = pd.DataFrame({"one": [0.0, 1.0], "two": [1.0, 1.0], "three": [2.0, 1.01]})
    ax = plots_plane.curves(table, "height")
    heights = sorted(text.xy[1] for text in ax.texts)
    assert len(heights) == 3 and min(np.diff(heights)) > 0.07 * np.ptp(ax.get_ylim())


def test_a_panel_for_each_landscape():
    table = landscape(90).assign(other=landscape(180))
    axes = plots_plane.landscapes(table, 90)
    assert [ax.get_title() for ax in axes] == ["loss", "other"]


@pytest.mark.parametrize("degrees", [0, 120])
def test_labels_of_the_toy_do_not_overlap(degrees):
    _, tgt, _ = toy.plane(degrees, noise=0.05)
    words = tgt.vectors - tgt.vectors.mean(axis=0)
    ax = plots_plane.panels(2)[0][0]
    plots_plane.cloud(ax, "French", words=words, labels=tgt.words)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent().shrunk(0.9, 0.7) for text in ax.texts]
    assert len(boxes) == len(words)
    clashes = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert clashes == 0


def test_the_darkest_shade_is_the_top_of_the_density():
    _, tgt, _ = toy.plane()
    grid = toy.grid(1.8, 31)
    height = log_density(grid, grid[:1] + 2.4, 0.1)  # one word, at (0.6, 0.6)
    ax = plots_plane.cloud(plots_plane.panels(1)[0][0], "one word", height)
    top = ax.collections[0].get_paths()[-1]  # the region of the last nat
    np.testing.assert_allclose(top.get_extents().get_points().mean(axis=0), 0.6, atol=0.1)
    assert ax.get_xlim() == ax.get_ylim() == (-1.8, 1.8)


def test_frames_join_words_to_their_translations():
    targets, partners = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 0])
    mapped = np.array([[0.9, 0.1], [0.1, 0.9]])
    axes = plots_plane.frames({"em": {"start": mapped, "end": targets}}, targets, partners)
    assert axes.shape == (1, 2) and axes[0, 1].get_title() == "end"
    lines = [np.array(line.get_data()).T for line in axes[0, 0].lines]
    np.testing.assert_allclose(lines, [[mapped[0], targets[1]], [mapped[1], targets[0]]])


def test_a_picture_is_a_small_png_and_closes_its_figure():
    axes = plots_plane.landscapes(landscape(100).assign(other=landscape(50)), 100)
    whole = BytesIO()
    axes[0].figure.savefig(whole, format="png")
    picture = plots_plane.Picture(axes)
    image = Image.open(BytesIO(picture._repr_png_()))
    assert image.format == "PNG" and image.size == Image.open(whole).size
    assert len(picture.png) < 0.6 * len(whole.getvalue())
    assert not plt.get_fignums()
