"""Figures show what is in their data, and their labels can be read."""

import subprocess
import sys
from io import BytesIO

import matplotlib
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from demalib import plots, tables, toy
from demalib.density import log_density

matplotlib.use("Agg")
plt = matplotlib.pyplot


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_every_figure_is_there_under_one_import_and_explains_itself():
    for name in plots.__all__:
        assert name in ("SRC", "TGT") or getattr(plots, name).__doc__, name


def test_demalib_alone_does_not_load_matplotlib():
    code = "import demalib, sys; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


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


def test_end_labels_keep_apart():
    table = pd.DataFrame({"one": [0.0, 1.0], "two": [1.0, 1.0], "three": [2.0, 1.01]})
    ax = plots.curves(table, "height")
    heights = sorted(text.xy[1] for text in ax.texts)
    assert len(heights) == 3 and min(np.diff(heights)) > 0.07 * np.ptp(ax.get_ylim())


def test_a_panel_for_each_landscape():
    table = landscape(90).assign(other=landscape(180))
    axes = plots.landscapes(table, 90)
    assert [ax.get_title() for ax in axes] == ["loss", "other"]


@pytest.mark.parametrize("degrees", [0, 120])
def test_labels_of_the_toy_do_not_overlap(degrees):
    _, tgt, _ = toy.plane(degrees, noise=0.05)
    words = tgt.vectors - tgt.vectors.mean(axis=0)
    ax = plots.panels(2)[0][0]
    plots.cloud(ax, "French", words=words, labels=tgt.words)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent().shrunk(0.9, 0.7) for text in ax.texts]
    assert len(boxes) == len(words)
    clashes = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert clashes == 0


def test_the_darkest_shade_is_the_top_of_the_density():
    _, tgt, _ = toy.plane()
    grid = toy.grid(1.8, 31)
    height = log_density(grid, grid[:1] + 2.4, 0.1)  # one word, at (0.6, 0.6)
    ax = plots.cloud(plots.panels(1)[0][0], "one word", height)
    top = ax.collections[0].get_paths()[-1]  # the region of the last nat
    np.testing.assert_allclose(top.get_extents().get_points().mean(axis=0), 0.6, atol=0.1)
    assert ax.get_xlim() == ax.get_ylim() == (-1.8, 1.8)


def test_moments_join_words_to_their_translations():
    targets, partners = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 0])
    mapped = np.array([[0.9, 0.1], [0.1, 0.9]])
    axes = plots.moments({"em": {"start": mapped, "end": targets}}, targets, partners)
    assert axes.shape == (1, 2) and axes[0, 1].get_title() == "end"
    lines = [np.array(line.get_data()).T for line in axes[0, 0].lines]
    np.testing.assert_allclose(lines, [[mapped[0], targets[1]], [mapped[1], targets[0]]])


def test_a_picture_is_a_small_png_and_closes_its_figure():
    axes = plots.landscapes(landscape(100).assign(other=landscape(50)), 100)
    whole = BytesIO()
    axes[0].figure.savefig(whole, format="png")
    picture = plots.Picture(axes)
    image = Image.open(BytesIO(picture._repr_png_()))
    assert image.format == "PNG" and image.size == Image.open(whole).size
    assert len(picture.png) < 0.6 * len(whole.getvalue())
    assert not plt.get_fignums()


def test_beside_paper_marks_what_was_not_run():
    table = tables.beside_paper(1, tables.measured([]))
    rows = (table["system"] == "CSLS (w/o R)") & (table["direction"] == "en-fr")
    table.loc[rows, ["p@1", "low", "high", "seeds"]] = [50.0, 48.0, 53.0, 1]
    ax = plots.beside_paper(table)
    assert [text.get_text() for text in ax.texts] == ["not run"] * 11
    assert list(ax.collections[0].get_offsets()[:, 0]) == list(table[12:24]["paper"])
    labels = ax.get_legend_handles_labels()[1]
    assert labels[1:] == ["ours, registry vectors, bundled test words"]


def test_cosines_are_shares_of_each_kind():
    ax = plots.cosines({"near": np.full(4, 0.51), "far": np.array([0.0, 0.01, 0.3, 0.31])})
    tops = [patch.get_data().values.max() for patch in ax.patches]
    assert tops == [100, 100, 50, 50]  # fill and outline of either


def test_separation_has_a_line_per_map_and_a_colour_per_question():
    rows = [(m, a, 0.7, 0.6, 0.8) for m in ("none", "em") for a in ("near", "far")]
    ax = plots.separation(pd.DataFrame(rows, columns=["map", "against", "auc", "low", "high"]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["none", "em"]
    assert len(ax.containers) == 2 and ax.get_xlim()[0] < 0.5


def test_an_interval_of_what_is_left_is_turned_into_one_of_what_is_lost():
    row = {
        "direction": "en-fr",
        "ablate": "prior",
        "p@1": 10,
        "low": 9,
        "high": 13,
        "lost": 60,
        "paper_lost": 1,
    }
    (ax,) = plots.ablations(pd.DataFrame([row]))
    ((left, _), (right, _)) = ax.containers[0].lines[2][0].get_segments()[0]
    assert (left, right) == (57, 61)


def test_pairs_of_the_rivals_stand_in_rows_of_three():
    rows = [{"pair": f"en-l{i}", "name": "em", "hint": "identical", "seeds": 1, "seconds": 9, "p@1": 50}
            for i in range(4)]  # fmt: skip
    axes = plots.rivals(pd.DataFrame(rows))
    assert [ax.get_title() for ax in axes] == [f"en ↔ l{i}" for i in range(4)]
    assert len(axes[0].figure.axes) == 4
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, True, True, True]


def test_a_saved_figure_is_whole_and_alone(tmp_path):
    plots.save([matplotlib.pyplot.subplots()[1]], tmp_path / "figure.png")
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
    assert Image.open(tmp_path / "figure.png").format == "PNG"
