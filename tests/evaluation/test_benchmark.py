import json

import numpy as np
import pandas as pd
import pytest
import torch
from chaos import world
from conftest import planted

from demalib.baselines.procrustes import fit_identical
from demalib.config import Config, preset
from demalib.data.files import cache_dir
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.evaluation import benchmark
from demalib.evaluation.benchmark import Gold, follow_refinement
from demalib.evaluation.translation import figures, judge
from demalib.hints import Lexicon
from demalib.pair import Mapping, make_pair, retrievers
from demalib.retrieval import Metric
from demalib.solvers import align


@pytest.fixture
def muse_files():
    """Vectors and dictionaries of a made-up en and es in the cache, as MUSE has them."""
    world.build(cache_dir() / "muse")


@pytest.fixture
def solved(rng):
    """A pair, its gold lexicons of both directions, and a map that is not quite right."""
    src, tgt, _ = planted(rng, n=300, noise=1.5)
    there = Lexicon([(f"src{i}", f"tgt{i}") for i in range(150, 250)], "there")
    back = Lexicon([(f"tgt{i}", f"src{i}") for i in range(200, 260)], "back")
    pair, config = make_pair(src, tgt), Config("aa-bb", sigma2_src=2.0, sigma2_tgt=0.02, knn=7)
    return pair, Gold(there, back), config, fit_identical(pair, config)


def test_each_direction_is_judged_on_its_own_words_with_its_own_variance(solved):
    pair, gold, config, mapping = solved
    judged = benchmark.evaluate(mapping, pair, gold, config)
    assert {d: list(by_metric) for d, by_metric in judged.items()} == {
        "aa-bb": ["csls", "csls-d", "csls-s"],
        "bb-aa": ["csls", "csls-d", "csls-s"],
    }
    forward, backward = retrievers(mapping, pair, 7)
    for found, sides, lexicon, sigma2 in (
        (forward, (pair.src, pair.tgt), gold.forward, 0.02),
        (backward, (pair.tgt, pair.src), gold.backward, 2.0),
    ):
        want = judge(found, *sides, lexicon, Metric("csls-d", sigma2=sigma2))
        got = judged[f"{sides[0].lang}-{sides[1].lang}"]["csls-d"]
        pd.testing.assert_frame_equal(got, want)
        other = judge(found, *sides, lexicon, Metric("csls-d", sigma2=2.02 - sigma2))
        assert not got["position"].equals(other["position"])


@pytest.mark.parametrize(
    ("solver", "own"), [("em", []), ("xing", ["nn"]), ("msf-isf", ["isf"]), ("sinkhorn", ["nn"])]
)
def test_a_system_is_judged_by_the_retrieval_of_its_paper_too(solver, own, solved):
    pair, gold, _, mapping = solved
    judged = benchmark.evaluate(mapping, pair, gold, Config("aa-bb", solver=solver))
    assert list(judged["aa-bb"]) == ["csls", "csls-d", "csls-s", *own]
    few = benchmark.evaluate(mapping, pair, gold, Config("aa-bb", solver=solver), ("nn",))
    assert [list(by_metric) for by_metric in few.values()] == [["nn"], ["nn"]]


def test_figures_are_of_the_direction_s_own_lexicon(solved):
    pair, gold, config, mapping = solved
    judged = benchmark.evaluate(mapping, pair, gold, config)
    results = benchmark.summarise(judged, gold)
    for direction, lexicon in zip(("aa-bb", "bb-aa"), gold, strict=True):
        assert results[direction]["csls"] == figures(judged[direction]["csls"], lexicon)
        assert results[direction]["csls"]["queries"] == len(lexicon)


def test_to_solve_and_judge_is_to_align_then_to_evaluate(solved):
    pair, gold, config, _ = solved
    solved = benchmark.solve_and_judge(
        pair, gold, config.replace(pair="en-es", solver="identical", seed=3)
    )
    assert isinstance(solved.mapping, Mapping)
    again = align(pair, solved.mapping.config)
    assert torch.equal(solved.mapping.W_xy, again.W_xy)
    judged = benchmark.evaluate(again, pair, gold, config)
    assert solved.metrics["results"] == benchmark.summarise(judged, gold)
    kept = json.loads(json.dumps(solved.metrics))
    assert (kept["pair"], kept["solver"], kept["seed"]) == ("en-es", "identical", 3)
    assert kept["words"] == {"aa": 300, "bb": 300} and kept["identical_words"] == 100
    assert kept["lexicons"] == {"aa-bb": "there", "bb-aa": "back"} and kept["seconds"] > 0


def test_a_pair_is_loaded_with_the_hints_that_its_solver_needs(muse_files):
    config = preset("en-es")
    pair = benchmark.load_pair(config)
    assert (pair.src.lang, pair.tgt.lang, len(pair.src)) == ("en", "es", 300)
    assert len(pair.identical) == 40 and pair.train is None
    for settings in ({"solver": "procrustes"}, {"solver": "gradient", "selection": "supervised"}):
        learned = benchmark.load_pair(config.replace(**settings))
        assert learned.train.tolist() == [[i, i] for i in range(40, 150)]
        assert learned.train_back.tolist() == learned.train.tolist()
    assert len(benchmark.load_pair(config.replace(max_vocab=70)).src) == 70
    raw = benchmark.load_pair(config.replace(solver="shigeto"))
    assert raw.src.normalisation.steps == () and pair.src.normalisation.steps[0] == "unit"


def test_identical_words_of_the_test_can_be_kept_apart(muse_files):
    for langs in ("en-es", "es-en"):
        path = cache_dir() / "muse" / world.WORDS / f"{langs}.5000-6500.txt"
        number = {"en-es": 3, "es-en": 5}[langs]
        path.write_text(path.read_text() + f"both{number} both{number}\n")
    gold = benchmark.load_gold(preset("en-es"))
    assert ("both3", "both3") in gold.forward.pairs and ("both5", "both5") in gold.backward.pairs
    apart = benchmark.load_pair(preset("en-es", exclude_test=True)).identical
    assert set(range(40)) - set(apart[:, 0].tolist()) == {3, 5}


def test_unknown_vectors_list_the_known_ones():
    with pytest.raises(DataError, match="unknown vectors 'glove'; use 'registry' .en, fr, ja, ru."):
        benchmark.load_pair(preset("en-fr", vectors="glove"))


def test_people_read_percent(solved):
    pair, gold, config, mapping = solved
    results = benchmark.summarise(benchmark.evaluate(mapping, pair, gold, config), gold)
    table = benchmark.results_table(results)
    assert table["direction"].tolist() == ["aa-bb"] * 3 + ["bb-aa"] * 3
    row, figure = table.iloc[3], results["bb-aa"]["csls"]
    assert row["P@1"] == round(100 * figure["p@1"], 1) and row["queries"] == 60
    low, high = row["95 % interval"].split(" - ")
    assert float(low) <= row["P@1"] <= float(high) and row["coverage"] == "100%"


def test_refinement_is_followed_from_the_start(rng):
    src, tgt, _ = planted(rng, n=800, d=20, noise=0.05, shared=12)
    pair, lexicon = make_pair(src, tgt), Lexicon([(f"src{i}", f"tgt{i}") for i in range(300, 400)])
    start = fit_identical(pair, Config(refinements=0)).W_xy
    frame = follow_refinement(pair, start, Config(), 3, lexicon)
    assert frame["round"].tolist() == [0, 1, 2, 3]
    assert frame["gain"].tolist() == pytest.approx((frame["p@1"] - frame["p@1"][0]).tolist())
    assert frame["p@1"][3] == 1 and frame["gain_low"][3] > 0 and frame["p@1"][0] < 1
    assert np.isnan(frame["pairs"][0]) and frame["judged"][3] == frame["right"][3] == 100


def test_no_hint_is_a_test_pair_of_either_direction(monkeypatch):
    """A cognate that only the other direction's test lexicon has is left out too."""
    words = {"en": ["festival", "hotel", "camera"], "ja": ["フェスティバル", "ホテル", "カメラ"]}

    def embedding(lang, config):
        return Embedding(words[lang], np.eye(3, dtype=np.float32) + 0.1, lang)

    gold = Gold(Lexicon([("festival", "フェスティバル")]), Lexicon([("ホテル", "hotel")]))
    monkeypatch.setattr(benchmark, "load_embedding_of", embedding)
    monkeypatch.setattr(benchmark, "load_gold", lambda config: gold)
    config = preset("en-ja")
    hints, back = (p.hints(config).rows.tolist() for p in _both_ways(benchmark.load_pair(config)))
    assert hints == back == [[2, 2]]
    free = benchmark.load_pair(config.replace(exclude_test=False))
    assert len(free.hints(config).rows) == 3


def _both_ways(pair):
    return pair, pair.swap()
