import numpy as np
import pandas as pd
import pytest
import torch
from conftest import planted

from demalib import plots
from demalib.config import preset
from demalib.explore import words
from demalib.pair import make_pair


@pytest.fixture(scope="module")
def there():
    src, tgt, _ = planted(np.random.default_rng(0), n=300)
    return words.trace(make_pair(src, tgt), preset("en-fr"))[0]


def test_the_figure_labels_each_word_once(there):
    axes = plots.around_and_clouds(
        words.around(there, "src150"), words.clouds(there), ("aa", "bb"), "final map"
    )
    texts = [text.get_text() for text in axes[0].texts]
    assert len(texts) == len(set(texts)) and {"src150", "tgt150"} <= set(texts)
    assert not axes[1].texts


def test_a_line_joins_each_word_and_its_translation():
    rows = [
        ("src", "a", 0.0, 0.0, 2),
        ("src", "b", 1.0, 1.0, 3),
        ("tgt", "A", 0.1, 0, None),
        ("tgt", "B", 1.1, 1, None),
    ]
    points = pd.DataFrame(rows, columns=["side", "word", "x", "y", "partner"])
    points["partner"] = points["partner"].astype("Int64")
    ax = plots.joined_words(points, ("aa", "bb"), "title")
    lines = [np.array(line.get_data()).T.tolist() for line in ax.lines]
    assert lines == [[[0, 0], [0.1, 0]], [[1, 1], [1.1, 1]]]
    assert {text.get_text() for text in ax.texts} == {"a", "b", "A", "B"}
    assert ax.get_legend_handles_labels()[1] == ["aa", "bb"] and ax.get_title() == "title"


def test_words_meet_from_snapshot_to_snapshot(there):
    frame = words.meeting(there, torch.arange(300)[:, None].repeat(1, 2))
    ax = plots.meeting(frame)
    heights = [line.get_ydata().tolist() for line in ax.lines]
    assert heights == [frame["translations"].tolist(), frame["other words"].tolist()]
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert (shown[0], shown[-1]) == ("no map", "final map") and set(shown) <= set(there.snapshots)
    assert {text.get_text() for text in ax.texts} == {"translations", "other words"}
