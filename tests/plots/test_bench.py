import pandas as pd

from demalib import plots


def test_growth_names_each_line_with_its_slope():
    seconds = {"lazy": {1000: 1.0, 2000: 2.0, 4000: 4.0}, "plain": {1000: 1.0, 2000: 4.0}}
    ax = plots.growth(seconds, {"lazy": 1.0, "plain": 2.0})
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1, 2, 4], [1, 4]]
    assert [text.get_text() for text in ax.texts] == ["lazy, slope 1.00", "plain, slope 2.00"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1k", "2k", "4k"]


def test_precision_over_time_is_a_line_per_solver_and_direction():
    curve = pd.DataFrame({"seconds": [1.0, 5.0], "en-fr": [0.1, 0.7], "fr-en": [0.2, 0.6]})
    ax = plots.precision_over_time({"em": curve, "gradient": curve})
    drawn = [line for line in ax.lines if len(line.get_xdata())]
    assert [line.get_ydata().tolist() for line in drawn[:2]] == [[10, 70], [20, 60]]
    assert len(drawn) == 4 and [line.get_linestyle() for line in drawn] == ["-", "--"] * 2
    assert ax.get_legend_handles_labels()[1] == ["en → fr", "fr → en"]
    assert {text.get_text() for text in ax.texts} == {"em", "gradient"}
