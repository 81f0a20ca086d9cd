"""Tables from made-up runs: averaging, the paper beside ours, nothing blank, nothing lost."""

import pandas as pd
import pytest

from demalib import runs
from demalib.config import REGISTRY_PAIRS, preset
from demalib.data.files import write_json
from demalib.evaluation import tables
from demalib.solvers import SOLVERS


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


def add_rival(name, hits, seconds):
    """A run of en-fr whose every fourth query, from ``hits``, is answered rightly."""
    config = preset("en-fr", solver=name)
    positions = [1 if (i + hits) % 4 == 0 else 7 for i in range(100)]
    queries = [
        {"direction": direction, "retrieval": "csls", "query": f"w{i}", "position": p}
        for direction in ("en-fr", "fr-en")
        for i, p in enumerate(positions)
    ]
    add_run("en-fr", name, 0, 0.25)
    folder = runs.run_dir(config)
    metrics = runs.read_metrics(folder) | {"seconds": seconds, "threads": 1}
    for figures in metrics["results"].values():
        figures["nn"] = figures["csls"] | {"p@1": 0.2}
    write_json(folder / "metrics.json", metrics)
    pd.DataFrame(queries).to_csv(folder / "queries.csv", index=False)


def test_every_system_has_its_row_and_is_compared_query_by_query():
    add_rival("em", 0, 60.0)
    add_rival("xing", 1, 0.5)
    table = tables.rivals(["en-fr"])
    assert set(table["name"]) == {name for name, s in SOLVERS.items() if s.row}
    assert len(table) == 2 * table["name"].nunique() and table["state"].notna().all()
    xing = table.query("name == 'xing' and direction == 'en-fr'").iloc[0]
    assert (xing["p@1"], xing["own"], xing["own_p@1"], xing["seconds"]) == (25, "nn", 20, 0.5)
    assert xing["gain"] == 0 and xing["gain_low"] < -5 and xing["gain_high"] > 5  # other queries
    same = table.query("name == 'em'").iloc[0]
    assert (same["gain_low"], same["gain_high"], same["paper"]) == (0, 0, 82.6)
    assert (
        "words=" in table.query("name == 'muse'")["size"].iloc[0] and xing["size"] == "as published"
    )
    missing = table.query("name == 'geomm'").iloc[0]
    assert missing["state"] == "not run: demalib sweep --pairs en-fr --solvers geomm"
