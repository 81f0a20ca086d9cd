import numpy as np
import pandas as pd
import pytest

from demalib import plots


def test_precision_has_a_bar_per_direction_and_metric_with_its_interval():
    figures = {"p@1": 0.5, "ci95": [0.4, 0.7], "copy": 0.1}
    results = {"en-fr": {"csls": figures, "nn": figures | {"p@1": 0.6}}, "fr-en": {"csls": figures}}
    ax = plots.precision(results)
    assert [bar.get_height() for bar in ax.patches] == [50, 60, 50]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["en → fr", "fr → en"]
    assert ax.get_legend_handles_labels()[1] == ["CSLS", "NN"]
    segment = ax.containers[1].lines[2][0].get_segments()[0]
    np.testing.assert_allclose(segment[:, 1], [40, 70])


@pytest.mark.parametrize(
    ("columns", "time", "shown"),
    [
        (["round", "candidates", "sigma2", "criterion", "moved"], "round", 3),
        (["step", "density_xy", "cycle", "rate"], "step", 2),
    ],
)
def test_a_history_has_a_panel_for_each_column_it_knows(columns, time, shown):
    frame = pd.DataFrame({name: [1.0, 2.0, 4.0 + i] for i, name in enumerate(columns)})
    axes = plots.history(frame)
    assert len(axes) == shown and {ax.get_xlabel() for ax in axes} == {time}
    for ax, name in zip(axes, columns[1:], strict=False):
        assert ax.lines[0].get_ydata().tolist() == frame[name].tolist()


def test_lines_over_frequency_end_with_their_direction():
    bins = {"ranks": ["1-10", "11-"], "p@1": [0.9, 0.2], "low": [0.8, 0.1], "high": [1.0, 0.3]}
    frame = pd.DataFrame(bins)
    ax = plots.by_frequency({"en-fr": frame, "fr-en": frame.iloc[:1]})
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1-10", "11-"]
    assert {text.get_text() for text in ax.texts} == {"en → fr", "fr → en"}
    assert ax.containers[0].lines[0].get_ydata().tolist() == [90, 20]


@pytest.mark.parametrize(("column", "scale"), [("p@1", 100), ("gain", 100), ("pairs", 1)])
def test_rounds_of_refinement_are_a_line_per_name(column, scale):
    ends = {"low": 0, "high": 1, "gain_low": 0, "gain_high": 1, "copy": 0.05}
    rows = [
        {"name": name, "round": r, "p@1": 0.1 * r, "gain": r / 9, "pairs": 100 * r}
        for name in "ab"
        for r in (0, 1, 2)
    ]
    frame = pd.DataFrame(rows).assign(**ends)
    ax = plots.rounds(frame, column)
    want = (scale * frame[column][:3]).tolist()
    assert [line.get_ydata().tolist() for line in ax.lines[:2]] == [want, want]
    named = {text.get_text() for text in ax.texts}
    assert named == {"a", "b"} | ({"copy"} if column == "p@1" else set())


def test_the_worst_hub_is_named_in_its_panel():
    counts = pd.DataFrame({"nn": [0, 3, 40], "csls": [9, 3, 0]}, index=["a", "b", "日本"])
    nn, csls = plots.hubness(counts)
    assert [ax.get_title() for ax in (nn, csls)] == ["NN", "CSLS"]
    assert nn.texts[0].get_text() == "worst hub" and csls.texts[0].get_text() == "a"
    assert "highest 40" in nn.texts[1].get_text() and "in no list 33.3%" in nn.texts[1].get_text()
