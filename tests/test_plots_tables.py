"""Figures show what is in their data."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from demalib import plots_tables, tables


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_beside_paper_marks_what_was_not_run():
    table = tables.beside_paper(1, tables.measured([]))
    rows = (table["system"] == "CSLS (w/o R)") & (table["direction"] == "en-fr")
    table.loc[rows, ["p@1", "low", "high", "seeds"]] = [50.0, 48.0, 53.0, 1]
    ax = plots_tables.beside_paper(table)
    assert [text.get_text() for text in ax.texts] == ["not run"] * 11
    assert list(ax.collections[0].get_offsets()[:, 0]) == list(table[12:24]["paper"])
    labels = ax.get_legend_handles_labels()[1]
    assert labels[1:] == ["ours, registry vectors, bundled test words"]


def test_cosines_are_shares_of_each_kind():
    ax = plots_tables.cosines({"near": np.full(4, 0.51), "far": np.array([0.0, 0.01, 0.3, 0.31])})
    tops = [patch.get_data().values.max() for patch in ax.patches]
    assert tops == [100, 100, 50, 50]  # fill and outline of either


def test_separation_has_a_line_per_map_and_a_colour_per_question():
    rows = [(m, a, 0.7, 0.6, 0.8) for m in ("none", "em") for a in ("near", "far")]
    ax = plots_tables.separation(
        pd.DataFrame(rows, columns=["map", "against", "auc", "low", "high"])
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == ["none", "em"]
    assert len(ax.containers) == 2 and ax.get_xlim()[0] < 0.5
