"""Figures show what is in their data, and their labels can be read."""

import subprocess
import sys
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from demalib import plots
from demalib.plots.common import LEADER, arrow, error_bars, label_points


def test_every_figure_is_there_under_one_import_and_explains_itself():
    for name in plots.__all__:
        assert name in ("SRC", "TGT") or getattr(plots, name).__doc__, name


def test_demalib_alone_does_not_load_matplotlib():
    code = "import demalib, sys; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_end_labels_keep_apart():
    table = pd.DataFrame({"one": [0.0, 1.0], "two": [1.0, 1.0], "three": [2.0, 1.01]})
    ax = plots.curves(table, "height")
    heights = sorted(text.xy[1] for text in ax.texts)
    assert len(heights) == 3 and min(np.diff(heights)) > 0.07 * np.ptp(ax.get_ylim())


def test_a_picture_is_a_small_png_and_closes_its_figure():
    at = np.arange(0, 361, 5)
    loss = np.cos(np.radians(at))
    axes = plots.landscapes(pd.DataFrame({"loss": loss, "other": loss**2}, index=at), 100)
    whole = BytesIO()
    axes[0].figure.savefig(whole, format="png")
    picture = plots.Picture(axes)
    image = Image.open(BytesIO(picture._repr_png_()))
    assert image.format == "PNG" and image.size == Image.open(whole).size
    assert len(picture.png) < 0.6 * len(whole.getvalue())
    assert not plt.get_fignums()


def test_a_saved_figure_is_whole_and_alone(tmp_path):
    plots.save([plt.subplots()[1]], tmp_path / "figure.png")
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
    assert Image.open(tmp_path / "figure.png").format == "PNG"


def test_a_figure_that_cannot_be_drawn_leaves_the_old_file(tmp_path):
    path = tmp_path / "figure.png"
    path.write_bytes(b"old")
    with pytest.raises(AttributeError):
        plots.save([None], path)
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["figure.png"]


def test_labels_of_points_on_one_spot_do_not_overlap():
    ax = plt.subplots()[1]
    ax.set(xlim=(0, 1), ylim=(0, 1))
    at = np.full((9, 2), 0.5)
    label_points(ax, [(f"word {i}", xy, "k") for i, xy in enumerate(at)], at)
    words = [text for text in ax.texts if text.get_text()]
    assert sorted(text.get_text() for text in words) == [f"word {i}" for i in range(9)]
    far = [text for text in words if max(map(abs, text.get_position())) >= LEADER]
    assert far and len(ax.texts) == len(words) + len(far)  # a line to each that is far off
    boxes = [text.get_window_extent() for text in words]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_intervals_are_drawn_as_distances():
    rows = pd.DataFrame({"p@1": [10.0, 50.0], "low": [9.0, 45.0], "high": [13.0, 52.0]})
    assert [list(side) for side in error_bars(rows, "p@1")] == [[1, 5], [3, 2]]
    assert arrow("en-fr") == "en → fr"
