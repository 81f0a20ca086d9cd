import numpy as np
import pandas as pd

from demalib import plots


def test_cosines_are_shares_of_each_kind():
    ax = plots.cosines({"near": np.full(4, 0.51), "far": np.array([0.0, 0.01, 0.3, 0.31])})
    tops = [patch.get_data().values.max() for patch in ax.patches]
    assert tops == [100, 100, 50, 50]  # fill and outline of either


def test_separation_has_a_line_per_map_and_a_colour_per_question():
    rows = [(m, a, 0.7, 0.6, 0.8) for m in ("none", "em") for a in ("near", "far")]
    ax = plots.separation(pd.DataFrame(rows, columns=["map", "against", "auc", "low", "high"]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["none", "em"]
    assert len(ax.containers) == 2 and ax.get_xlim()[0] < 0.5


def test_recall_has_a_line_per_map_and_a_dashed_one_without_pairs():
    rows = [("none", 0, 0.0, 0, 0), ("em", 100, 0.7, 0.6, 0.8), ("em", 1000, 0.7, 0.6, 0.8)]
    columns = ["map", "known pairs", "recall@10", "low", "high"]
    ax = plots.recall(pd.DataFrame(rows, columns=columns))
    assert [line.get_linestyle() for line in ax.lines] == ["--", "-"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["100", "1,000"]
    assert {text.get_text() for text in ax.texts} == {"none", "em"}
