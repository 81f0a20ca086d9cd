import shutil

import numpy as np
import pandas as pd
import pytest
from evaluation.test_tables import add_run, own_results  # noqa: F401

from demalib import runs
from demalib.config import REGISTRY_PAIRS, preset
from demalib.data.files import write_json
from demalib.evaluation import tables
from demalib.evaluation.benchmark import load_pair
from demalib.evaluation.rivals import (
    OURS,
    RIVALS,
    correct,
    cost,
    named_config,
    pack_right,
    peers,
    rivals,
    verdicts,
)
from demalib.evaluation.tables import APART, not_measured, possible
from demalib.evaluation.translation import paired_bootstrap
from demalib.solvers import SOLVERS, TABLED


def add_rival(name, hits, seconds, every=4):
    """A run of en-fr whose every fourth query, from ``hits``, is answered rightly."""
    config = named_config("en-fr", name)
    positions = [1 if (i + hits) % every == 0 else 7 for i in range(100)]
    queries = [
        {"direction": direction, "retrieval": "csls", "query": f"w{i}", "position": p}
        for direction in ("en-fr", "fr-en")
        for i, p in enumerate(positions)
    ]
    add_run("en-fr", name, 0, positions.count(1) / 100)
    folder = runs.run_dir(config)
    facts = {"seconds": 99.0, "cpu_seconds": seconds, "threads": 1, "peak_gb": 0.5}
    metrics = runs.read_metrics(folder) | facts
    metrics |= {"hint_sizes": {"lexicon": 7}, "test_pairs_in_hint": {"en-fr": 0, "fr-en": 1}}
    for figures in metrics["results"].values():
        figures["nn"] = figures["csls"] | {"p@1": 0.2}
        figures["csls"] |= {"stem_p@1": 0.5, "queries": len(positions)}
    write_json(folder / "metrics.json", metrics)
    pd.DataFrame(queries).to_csv(folder / "queries.csv", index=False)


def test_every_system_has_its_row_and_is_compared_query_by_query():
    add_rival("em", 0, 60.0)
    add_rival("em+lexicon", 0, 60.0)
    add_rival("xing", 1, 0.5)
    table = rivals(["en-fr"])
    assert set(table["name"]) == set(RIVALS) > set(TABLED)
    assert len(table) == 2 * table["name"].nunique() and table["state"].notna().all()
    xing = table.query("name == 'xing' and direction == 'en-fr'").iloc[0]
    assert (xing["p@1"], xing["own"], xing["own_p@1"], xing["seconds"]) == (25, "nn", 20, 0.5)
    assert xing["gain"] == 0 and xing["gain_low"] < -5 and xing["gain_high"] > 5  # other queries
    assert (xing["stem_p@1"], xing["peak_gb"], xing["hints"]) == (50, 0.5, "7 lexicon")
    assert xing["test_pairs_in_hint"] == 0 and xing["gain_holm"] == 1
    same = table.query("name == 'em'").iloc[0]
    assert (same["gain_low"], same["gain_high"], same["paper"]) == (0, 0, 82.6)
    assert pd.isna(same["gain_p"]) and pd.isna(same["gain_holm"])  # no comparison with itself
    missing = table.query("name == 'geomm'").iloc[0]
    assert missing["state"] == "not run: demalib sweep --pairs en-fr --solvers geomm --seeds 0"


def test_no_row_calls_a_reduced_system_published():
    table = rivals(["en-fr"]).drop_duplicates("name").set_index("name")
    assert table.loc["gradient", "settings"] == table.loc["c1", "settings"] == "reduced"
    assert table.loc["em", "settings"] == table.loc["em,hints=none", "settings"] == "ours"
    assert table.loc["xing", "settings"] == "published"
    assert table.loc["em,hints=none", "hint"] == "none"
    command = table.loc["em,hints=none", "command"]
    assert command == "demalib sweep --pairs en-fr --solvers em --seeds 0 -p hints none"


def test_a_name_says_which_run_it_is():
    for name in RIVALS:
        assert named_config("en-fr", name).name == name
        assert named_config("en-fr", name, lexicons="muse").lexicons == "muse"
    assert set(OURS.values()) <= set(RIVALS) and "vecmap-identical" not in RIVALS
    assert SOLVERS["sl-unsup-id"].fit is SOLVERS["vecmap-identical"].fit


def test_differences_count_as_shown_after_the_correction_only():
    add_rival("em", 0, 60.0)
    add_rival("xing", 0, 0.5, every=2)  # 25 more right answers, none lost
    add_rival("geomm", 0, 0.5, every=3)
    table = rivals(["en-fr"])
    found = verdicts(table).set_index("name")
    assert found.loc["xing", ["better", "worse", "undecided"]].tolist() == [2, 0, 0]
    assert found.loc["geomm", "undecided"] == 2 and "em" not in found.index
    assert len(verdicts(table, "lexicon_gain")) == 0


def test_a_mean_gain_is_over_directions_in_which_ours_finds_something():
    columns = ["direction", "p@1", "gain", "gain_low", "gain_high", "gain_holm"]
    rows = [("en-fr", 53, 3, 0, 6, 0.2), ("fr-en", 51, 1, -3, 5, 1.0), ("en-zh", 40, 40, 38, 42, 0)]
    table = pd.DataFrame(rows, columns=columns).assign(name="x", hint="train", lexicons="bundled")
    row = verdicts(table).iloc[0]
    assert row[["better", "worse", "undecided", "directions"]].tolist() == [1, 0, 2, 2]
    assert row[["mean", "low", "high"]].tolist() == [2, -0.5, 4.5]  # 2.5 is (3^2 + 4^2)^.5 / 2


def read_table():
    table = pd.read_csv(runs.results_dir() / "tables" / "rivals.csv", dtype={"right": object})
    return table.drop_duplicates("name").set_index("name")


def test_rows_of_other_machines_are_compared_with_those_measured_here():
    add_rival("em", 0, 60.0)
    add_rival("xing", 0, 0.5, every=2)
    add_rival("geomm", 0, 0.5, every=3)
    assert tables.write_table("rivals", rivals(["en-fr"]), correct) == "written"
    shutil.rmtree(runs.run_dir(named_config("en-fr", "xing")))
    add_rival("em", 0, 60.0, every=5)
    said = tables.write_table("rivals", rivals(["en-fr"]), correct)
    assert said == "written; 2 figures of other runs are kept"
    row = read_table()
    assert row.index.tolist() == rivals(["en-fr"])["name"].unique().tolist()  # in their old places
    assert (row.loc["xing", "p@1"], row.loc["em", "p@1"]) == (50, 20)
    add_rival("xing", 0, 0.5, every=2)  # the run that the row is of
    here = rivals(["en-fr"]).set_index("name").loc["xing"].iloc[0]
    for column in ("gain", "gain_low", "gain_high", "gain_p", "gain_holm"):
        assert row.loc["xing", column] == pytest.approx(here[column], abs=1e-3)
    assert here["gain"] == 30 and here["gain_low"] > 15


def test_a_row_without_a_note_of_its_queries_is_not_compared_anew():
    add_rival("em", 0, 60.0)
    add_rival("xing", 0, 0.5, every=2)
    table = rivals(["en-fr"])
    table.loc[table["name"] == "xing", "right"] = None
    kept = correct(table).drop_duplicates("name").set_index("name")
    assert kept.loc["xing", "gain"] == 25 and kept.loc["xing", "gain_p"] < 0.05  # as it was
    table.loc[table["name"] == "em", "p@1"] = 20.0
    table.loc[table["name"] == "em", "right"] = None
    row = correct(table).drop_duplicates("name").set_index("name")
    assert row.loc["xing", ["gain", "gain_low", "gain_p", "gain_holm"]].isna().all()


def test_systems_that_were_asked_other_words_are_not_compared():
    add_rival("em", 0, 60.0)
    add_rival("xing", 0, 0.5, every=2)
    table = rivals(["en-fr"])
    asked = table["name"] == "xing"
    table.loc[asked, "right"] = "00000000" + table.loc[asked, "right"].str[8:]
    row = correct(table).drop_duplicates("name").set_index("name")
    assert row.loc["xing", ["gain", "gain_low", "gain_p", "gain_holm"]].isna().all()


@pytest.mark.parametrize("n", [1, 8, 100, 1251])
def test_the_note_of_right_answers_gives_the_comparison_of_all_positions(n):
    rng = np.random.default_rng(n)
    words = [f"w{i}" for i in range(n)]
    a, b = (pd.DataFrame({"query": words, "position": rng.integers(1, 4, n)}) for _ in range(2))
    found = paired_bootstrap(a, b)
    table = pd.DataFrame({"direction": "en-fr", "lexicons": "bundled", "name": ["x", "em"]})
    table = table.assign(right=[pack_right(a), pack_right(b)], queries=n, seeds=1)
    table["p@1"] = [100 * (frame["position"] == 1).mean() for frame in (a, b)]
    row = correct(table).iloc[0]
    assert row["gain"] == pytest.approx(100 * found["difference"])
    assert [row["gain_low"], row["gain_high"]] == pytest.approx([100 * v for v in found["ci95"]])
    assert row["gain_p"] == found["p"]


def test_the_table_of_the_readme_has_what_was_measured_and_copying():
    assert len(peers(rivals(["en-fr"]), "bundled")) == 0
    add_rival("em", 0, 60.0)
    add_rival("geomm", 0, 0.5, every=2)
    add_rival("xing", 0, 0.5)  # not among the strongest
    found = peers(rivals(["en-fr"]), "bundled").set_index(["name", "direction"])
    assert found.index.unique("name").tolist() == ["em", "geomm", "copy the query"]
    assert found.loc[("geomm", "fr-en"), ["hint", "p@1"]].tolist() == ["train words", 50]
    copied = found.loc[("copy the query", "en-fr")]
    assert copied["p@1"] == copied["copy"] and pd.isna(copied["low"])


@pytest.mark.parametrize("seeds", [(0,), (0, 2)])
def test_the_spread_over_seeds_is_shown(seeds):
    for seed in seeds:
        add_rival("muse", 0, 1.0)
        if seed:
            source = runs.run_dir(preset("en-fr", solver="muse"))
            target = source.parent / str(seed)
            target.mkdir()
            for path in source.iterdir():
                (target / path.name).write_bytes(path.read_bytes())
    row = rivals(["en-fr"], names=["muse"]).iloc[0]
    assert row["seeds"] == len(seeds) and row["seed_min"] == row["seed_max"] == 25


def test_cost_compares_a_system_with_ours_on_the_same_directions():
    def table(rows, commit="abc"):
        return pd.DataFrame(
            {"lexicons": "bundled", "hint": "none", "name": name, "settings": "ours", "pair": pair,
             "direction": pair, "p@1": p1, "seconds": seconds, "peak_gb": 0.5, "threads": 1,
             "seeds": 1, "commit": commit}
            for name, pair, p1, seconds in rows
        )  # fmt: skip

    rows = [("em+lexicon", "en-fr", 50, 2.0), ("em+lexicon", "en-ja", 10, 9.0),
            ("xing", "en-ja", 8, 1.0), ("geomm", "en-fr", 45, 1.0)]  # fmt: skip
    old = table([("vecmap", "en-fr", 60, 9.0)], commit=None)  # seconds of the clock
    found = cost(pd.concat([table(rows), old])).set_index("name")
    assert found["lexicon_gain"].to_dict() == {"em+lexicon": 0, "xing": -2, "geomm": -5}
    ours = found.loc["em+lexicon", ["p@1", "seconds", "directions"]]
    assert ours.tolist() == [30, 5.5, 2] and found.index[0] == "em+lexicon"


def test_pairs_without_a_common_word_are_known(real_cache):
    for pair in REGISTRY_PAIRS:
        if "zh" in pair:
            assert (len(load_pair(preset(pair)).identical) == 0) == (pair in APART)
    assert possible("en-zh", "em,hints=none") and not possible("en-zh", "gradient")
    assert possible("en-tr", "gradient") and possible("en-zh", "c1")
    assert not_measured("en-zh", "identical", "...") == "not possible: no common word"
    assert not_measured("en-zh", "identical", "...", "muse") == "not run: ..."
