import pandas as pd

from demalib import plots
from demalib.evaluation import tables


def test_beside_paper_marks_what_was_not_run():
    table = tables.beside_paper(1, tables.measured([]))
    rows = (table["system"] == "CSLS (w/o R)") & (table["direction"] == "en-fr")
    table.loc[rows, ["p@1", "low", "high", "seeds"]] = [50.0, 48.0, 53.0, 1]
    ax = plots.beside_paper(table)
    assert [text.get_text() for text in ax.texts] == ["not run"] * 11
    assert list(ax.collections[0].get_offsets()[:, 0]) == list(table[12:24]["paper"])
    labels = ax.get_legend_handles_labels()[1]
    assert labels[1:] == ["ours, registry vectors, bundled test words"]


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
    rows = [
        {"pair": f"en-l{i}", "name": "em", "hint": "identical", "seeds": 1, "seconds": 9, "p@1": 50}
        for i in range(4)
    ]
    axes = plots.rivals(pd.DataFrame(rows))
    assert [ax.get_title() for ax in axes] == [f"en ↔ l{i}" for i in range(4)]
    assert len(axes[0].figure.axes) == 4
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, True, True, True]


def test_effects_stand_in_their_order_with_their_intervals():
    rows = [
        ("a", "en-fr", 2.0, 1.0, 4.0),
        ("b", "en-fr", -1.0, -3.0, 0.0),
        ("a", "fr-en", 0, -1, 1),
    ]
    columns = ["difference", "direction", "effect", "low", "high"]
    ax = plots.effects(pd.DataFrame(rows, columns=columns))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # from top to bottom
    ((left, _), (right, _)) = ax.containers[0].lines[2][0].get_segments()[1]
    assert (left, right) == (-3, 0) and len(ax.containers) == 2


def test_a_rival_that_found_nothing_is_listed_and_the_others_are_labelled():
    rows = [
        {"pair": "en-fr", "name": n, "hint": h, "seeds": s, "seconds": 9, "p@1": p}
        for n, h, s, p in (
            ("em", "identical", 1, 70),
            ("xing", "train", 1, 60),
            ("muse", "none", 1, 0.2),
            ("geomm", "train", 0, 80),
        )
    ]
    (ax,) = plots.rivals(pd.DataFrame(rows))
    assert {text.get_text() for text in ax.texts} == {"em", "xing", "below 5 %: muse"}
    assert ax.collections[0].get_offsets()[:, 1].tolist() == [70, 60, 0.2]


def test_systems_without_a_hint_have_a_panel_for_each_pair_of_spaces():
    rows = [
        {"spaces": spaces, "name": name, "p@1": p1, "low": p1 - 2, "high": p1 + 2, "copy": 7.0}
        for spaces, name, p1 in (("alike", "a", 50), ("alike", "b", 40), ("different", "a", 1))
    ]
    axes = plots.unhinted(pd.DataFrame(rows))
    assert [ax.get_title() for ax in axes] == ["alike", "different"]
    points = [ax.containers[0].lines[0].get_xdata().tolist() for ax in axes]
    assert points == [[50, 40], [1]]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["a", "b"]
    axes = plots.unhinted(pd.DataFrame(rows), ["b", "a"])
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["b", "a"]
