"""The paper's numbers in results/paper: complete, unambiguous, and as printed."""

import pytest

from demalib.config import preset
from demalib.evaluation.tables import paper_table

COUNTS = {1: (192, 16, 12), 2: (96, 8, 12), 3: (28, 7, 4), 4: (20, 5, 4)}


@pytest.mark.parametrize("number", COUNTS)
def test_every_cell_is_there_once(number):
    table = paper_table(number)
    shape = (len(table), table["system"].nunique(), table["direction"].nunique())
    assert shape == COUNTS[number]
    assert not table.duplicated(["system", "direction"]).any()
    assert all(preset(direction) for direction in table["direction"])
    assert (table["value"].isna() == (table["note"] == "not reported")).all()
    assert table["value"].dropna().between(0, 100).all()
    assert set(table["metric"]) == ({"pearson"} if number == 3 else {"P@1"})
    assert (table["source"] != "").all()


SPOTS = [
    (1, "Procrustes (R)", "ja-en", 7.44),
    (1, "CSLS-Sp", "en-ru", 57.9),
    (1, "SL-unsup-ID", "zh-en", 34.2),
    (1, "CSLS (w/o R)", "es-en", 85.4),
    (1, "CSLS-D (w/ R)", "en-ja", 52.0),
    (2, "MUSE (U+R)", "en-et", 1.7),
    (2, "id+Procrustes (R)*", "en-tr", 39.2),
    (2, "CSLS-D (w/o R)", "tr-en", 61.6),
    (3, "Artetxe et al. (2016)", "fa-en", 70),
    (3, "DeMa-BWE (w/o R)", "it-en", 72.2),
    (4, "w/o L_xy & L_yx", "en-ja", 6.3),
    (4, "w/o L_sup", "fr-en", 0.1),
]


@pytest.mark.parametrize(("number", "system", "direction", "value"), SPOTS)
def test_values_are_as_printed(number, system, direction, value):
    cell = paper_table(number).query("system == @system and direction == @direction")
    assert list(cell["value"]) == [value]


def test_dashes_are_said():
    missing = {n: int((paper_table(n)["note"] == "not reported").sum()) for n in COUNTS}
    assert missing == {1: 4 * 2 + 6 + 4, 2: 6, 3: 0, 4: 0}


def test_corrections_are_marked():
    one = paper_table(1)
    changed = one[one["paper"] != one["value"]].dropna(subset="paper")
    assert changed[["system", "direction", "value", "paper"]].to_numpy().tolist() == [
        ["MUSE (U+R)", "fr-en", 81.1, 82.1]
    ]
    refined = one[one["system"] == "Procrustes (R)"].groupby("refined")["direction"].agg(list)
    assert len(refined["no"]) == 10 and refined["unknown"] == ["en-ja", "ja-en"]
    polish = paper_table(2).query("note.str.contains('Polish')")
    assert set(polish["direction"]) == {"en-pl", "pl-en"}


def test_the_full_model_of_the_ablation_is_the_row_of_the_main_table():
    full = paper_table(4).query("ablate == 'nothing'").set_index("direction")["value"]
    main = paper_table(1).query("system == 'CSLS (w/o R)'").set_index("direction")["value"]
    assert full.to_dict() == main[full.index].to_dict()
