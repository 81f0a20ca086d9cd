"""Tables from made-up runs: averaging, the paper beside ours, nothing blank, nothing lost."""

import pandas as pd
import pytest

from demalib import runs
from demalib.config import REGISTRY_PAIRS
from demalib.data.files import write_json
from demalib.evaluation import tables


@pytest.fixture(autouse=True)
def own_results(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))


def add_run(pair, name, seed, p1, vectors="registry", lexicon="{}.test.tsv"):
    """Put down the metrics.json of a run that never happened."""
    both = (pair, "-".join(reversed(pair.split("-"))))
    figures = {
        "p@1": p1,
        "ci95": [p1 - 0.02, p1 + 0.03],
        "copy": 0.1,
        "queries": 1000,
        "coverage": 0.9,
    }
    metrics = {
        "pair": pair,
        "name": name,
        "solver": name.split(",")[0],
        "seed": seed,
        "results": {d: {"csls": figures, "csls-d": figures} for d in both},
        "vectors": vectors,
        "lexicons": {d: lexicon.format(d) for d in both},
        "torch": "2.0",
        "date": f"2020-01-0{seed + 1}",
    }
    write_json(runs.results_dir() / "runs" / pair / name / str(seed) / "metrics.json", metrics)


def test_seeds_are_averaged_and_cut_or_ablated_runs_do_not_count():
    add_run("en-fr", "em", 0, 0.50)
    add_run("en-fr", "em", 1, 0.54)
    add_run("en-fr", "em,max_vocab=500", 0, 0.9)
    add_run("en-fr", "em,ablate=prior", 0, 0.9)
    add_run("aa-bb", "em", 0, 0.9)
    figures = tables.measured()
    assert len(figures) == 4  # two directions, two metrics
    row = figures.iloc[0]
    assert (row["direction"], row["lexicons"], row["seeds"]) == ("en-fr", "bundled", 2)
    wanted = {"p@1": 52, "low": 50, "high": 55, "seed_min": 50, "seed_max": 54, "copy": 10}
    assert row[list(wanted)].to_dict() == pytest.approx(wanted)
    assert row["date"] == "2020-01-02"


def test_the_registry_table_has_every_direction_and_names_the_missing_command():
    add_run("en-ja", "em", 0, 0.4)
    add_run("en-ja", "em,exclude_test=True", 0, 0.3)
    table = tables.registry_table(tables.measured(), ["identical", "em"])
    assert len(table) == len(REGISTRY_PAIRS) * 2 * 2 * 2 + 4
    assert table["state"].notna().all()
    done = table[table["state"] == "measured"]
    assert set(done["name"]) == {"em", "em,exclude_test=True"} and done["p@1"].notna().all()
    todo = table[table["direction"] == "ru-ja"]["state"].tolist()
    assert "not run: demalib sweep --pairs ja-ru --solvers identical" in todo


def test_ours_stands_beside_the_paper_with_the_difference():
    add_run("en-fr", "em", 0, 0.5)
    table = tables.beside_paper(1, tables.measured())
    assert len(table) == 3 * 12
    row = table.query("system == 'CSLS (w/o R)' and direction == 'fr-en'").iloc[0]
    assert (row["paper"], row["p@1"], row["same_data"]) == (82.4, 50.0, "no")
    assert row["difference"] == pytest.approx(-32.4)
    spanish = table.query("system == 'CSLS-D (w/o R)' and direction == 'es-en'").iloc[0]
    assert spanish["state"] == (
        "not run: demalib fetch muse en es && demalib sweep --pairs en-es --solvers em"
    )


def test_other_data_are_other_rows_and_the_papers_own_are_marked():
    add_run("en-fr", "em", 0, 0.5)
    add_run("en-fr", "em,lexicons=muse", 0, 0.7, lexicon="{}.5000-6500.txt")
    add_run("en-hu", "em", 0, 0.6, "muse", "{}.5000-6500.txt")
    figures = tables.measured()
    french = tables.beside_paper(1, figures).query("direction == 'en-fr'").set_index("lexicons")
    assert list(french.loc["muse", "p@1"])[1:] == [70, 70]
    assert french.loc["muse", "state"].iloc[0] == (
        "not run: demalib sweep --pairs en-fr --solvers procrustes -p lexicons muse"
    )
    hungarian = tables.beside_paper(2, figures).query("direction == 'hu-en' and name == 'em'")
    assert list(hungarian["same_data"]) == ["yes", "yes"]
    assert hungarian["difference"].tolist() == pytest.approx([60 - 64.5, 60 - 64.7])


@pytest.mark.parametrize("number", [1, 2])
def test_no_cell_is_blank_with_no_runs_at_all(number):
    table = tables.beside_paper(number, tables.measured())
    assert table["state"].str.startswith("not run: demalib ").all()
    wide = tables.side_by_side(table)
    assert wide.shape == (12, 5) and wide.notna().all(axis=None)
    assert wide.iloc[0, -1].endswith(" | not run")


def test_people_read_paper_ours_and_interval_in_one_cell():
    add_run("en-fr", "em", 0, 0.5)
    wide = tables.side_by_side(tables.beside_paper(1, tables.measured())).set_index("direction")
    assert wide.loc["en-fr", "CSLS (w/o R)"] == "82.6 | 50.0 [48.0, 53.0]"
    assert wide.loc["en-fr", "Procrustes (R)"] == "81.1 | not run"
    assert wide.loc["en-fr", "data"] == "registry, bundled"


def test_a_table_is_never_replaced_by_a_poorer_one():
    solvers = ["em"]
    poor = tables.registry_table(tables.measured(), solvers)
    assert tables.write_table("registry", poor) == "written"
    add_run("en-fr", "em", 0, 0.5)
    add_run("en-fr", "em", 1, 0.5)
    rich = tables.registry_table(tables.measured(), solvers)
    assert tables.write_table("registry", rich) == "written"
    path = runs.results_dir() / "tables" / "registry.csv"
    before = path.read_bytes()
    (runs.results_dir() / "runs/en-fr/em/1/metrics.json").unlink()
    poorer = tables.registry_table(tables.measured(), solvers)
    for frame in (poorer, poor):
        assert tables.write_table("registry", frame).startswith("kept: 4 of its figures")
    assert path.read_bytes() == before
    assert pd.read_csv(path).query("state == 'measured'")["p@1"].tolist() == [50.0] * 4
    add_run("en-ja", "em", 0, 0.25)
    grown = tables.registry_table(tables.measured(), solvers)
    said = tables.write_table("registry", grown)
    assert said == "written; 4 figures of other runs are kept"
    after = pd.read_csv(path).query("state == 'measured'").set_index(["direction", "retrieval"])
    assert after.loc[("en-fr", "csls"), ["p@1", "seeds"]].tolist() == [50, 2]
    assert after.loc[("en-ja", "csls"), ["p@1", "seeds"]].tolist() == [25, 1]


def test_ablations_lose_against_the_full_model_beside_the_paper():
    for part, p1 in (("density", 0.3), ("identical", 0.0), ("", 0.6)):
        add_run("en-fr", f"gradient,steps=9{',ablate=' * bool(part)}{part}", 0, p1)
    table = tables.ablations(runs.finished_runs())
    assert set(table["ablate"]) == {"density", "identical", "nothing"}
    row = table.set_index(["ablate", "direction"]).loc["density", "en-fr"]
    wanted = {"p@1": 30, "lost": 30, "paper": 45.4, "paper_lost": 82.6 - 45.4}
    assert row[list(wanted)].to_dict() == pytest.approx(wanted)
    wide = tables.ablations_wide(table).set_index("without")
    assert wide.loc["nothing", "fr-en"] == "60.0 [58.0, 63.0] | 82.4"


def test_what_an_ablation_loses_has_a_paired_interval():
    for part, wrong in (("prior", 20), ("", 10)):
        name = f"gradient{',ablate=' * bool(part)}{part}"
        add_run("en-fr", name, 0, 1 - wrong / 100)
        queries = [
            {"direction": d, "retrieval": "csls", "query": f"w{i}", "position": 1 + (i < wrong)}
            for d in ("en-fr", "fr-en")
            for i in range(100)
        ]
        path = runs.results_dir() / "runs" / "en-fr" / name / "0" / "queries.csv"
        pd.DataFrame(queries).to_csv(path, index=False)
    row = tables.ablations(runs.finished_runs()).set_index(["ablate", "direction"])
    low, high = row.loc[("prior", "en-fr"), ["lost_low", "lost_high"]]
    assert 3 < low < 10 < high < 18  # unpaired it would reach from 0 to 20
    assert (row.loc["nothing", ["lost_low", "lost_high"]] == 0).all(axis=None)


def test_a_small_p_stays_small_and_an_empty_table_is_not_written():
    keys = {"name": ["em", "xing"], "direction": "en-fr", "pair": "en-fr", "seeds": 1, "system": ""}
    table = pd.DataFrame(
        keys | {"gain_p": [float("nan"), 0.00493], "queries": [float("nan"), 984.0]}
    )
    assert tables.write_table("p", table) == "written"
    assert tables.write_table("p", table.iloc[:1]).startswith("written; 1 figures")
    assert len(pd.read_csv(runs.results_dir() / "tables" / "p.csv")) == 2  # no row twice
    assert pd.read_csv(runs.results_dir() / "tables" / "p.csv")["gain_p"][1] == 0.00493
    assert ",984" in (runs.results_dir() / "tables" / "p.csv").read_text()  # not 984.00
    assert tables.write_table("none", table[:0]).startswith("kept")
    assert not (runs.results_dir() / "tables" / "none.csv").exists()


def test_a_cell_says_whether_it_was_run_or_cannot_be():
    columns = ["p@1", "low", "high", "seeds", "state"]
    rows = [(5, 4, 6, 1, "measured"), (0, 0, 0, 0, "not run: demalib sweep"),
            (0, 0, 0, 0, "not possible: no common word")]  # fmt: skip
    found = tables.cells(pd.DataFrame(rows, columns=columns))
    assert found == ["5.0 [4.0, 6.0]", "not run", "not possible"]
