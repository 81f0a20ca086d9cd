import numpy as np
import pandas as pd
import pytest
import torch

from demalib.embedding import Embedding
from demalib.evaluation import translation
from demalib.evaluation.translation import (
    bootstrap,
    by_frequency,
    check_pairs,
    judge,
    paired_bootstrap,
)
from demalib.hints import Lexicon
from demalib.retrieval import Metric, Retriever


@pytest.fixture
def case():
    """Four source words on the axes; the map takes word i to target i."""
    src = Embedding(["a", "b", "same", "d"], np.eye(4, dtype=np.float32), "xx")
    tgt = Embedding(
        ["A", "B", "same", "D", "A2"],
        np.vstack([np.eye(4), [0.8, 0.6, 0, 0]]).astype(np.float32),
        "yy",
    )
    pairs = ["a A2", "a A", "b A2", "same same", "d oov", "oov A", "same A"]
    lexicon = Lexicon([tuple(pair.split()) for pair in pairs], "toy")
    retriever = Retriever(torch.from_numpy(src.vectors), torch.from_numpy(tgt.vectors))
    return retriever, src, tgt, lexicon


def test_queries_count_once_and_any_gold_counts(case):
    judged = judge(*case, Metric("nn"))
    assert judged["query"].tolist() == ["a", "b", "same"]  # d and oov are not covered
    assert judged["position"].tolist() == [1, 2, 1]
    assert judged["answer"].tolist() == ["A", "B", "same"]
    figures = translation.figures(judged, case[3])
    assert figures["p@1"] == pytest.approx(2 / 3) and figures["p@5"] == 1
    assert figures["mrr"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert (figures["queries"], figures["coverage"]) == (3, 3 / 5)
    assert figures["copy"] == pytest.approx(1 / 3)
    assert figures["queries_not_identical"] == 2 and figures["p@1_not_identical"] == 0.5
    low, high = figures["ci95"]
    assert 0 <= low <= figures["p@1"] <= high <= 1


def test_ties_do_not_count_as_right():
    src = Embedding(["a"], np.ones((1, 2), np.float32))
    tgt = Embedding(["A", "B", "C"], np.zeros((3, 2), np.float32))  # every score is the same
    retriever = Retriever(torch.ones(1, 2), torch.zeros(3, 2))
    judged = judge(retriever, src, tgt, Lexicon([("a", "C")]), Metric("nn"))
    assert judged["position"].tolist() == [3]


def test_only_pairs_of_covered_queries_are_checked(case):
    _, src, tgt, lexicon = case
    pairs = torch.tensor([[0, 4], [0, 1], [1, 4], [2, 0], [3, 3]])  # d has no gold word in reach
    assert check_pairs(pairs, src, tgt, lexicon) == (3, 4)  # a - B is wrong, d is not judged


def test_frequency_bins_cover_all_queries(case):
    judged = judge(*case, Metric("nn"))
    bins = by_frequency(judged, (1, 2))
    assert bins["ranks"].tolist() == ["1-1", "2-2", "3-"]
    assert bins["queries"].sum() == 3 and bins["p@1"].tolist() == [1, 0, 1]


def test_bootstrap_agrees_with_resampling(rng):
    hits = rng.random(400) < 0.3
    low, high = bootstrap(hits)
    means = hits[rng.integers(0, 400, (4000, 400))].mean(axis=1)
    np.testing.assert_allclose([low, high], np.quantile(means, (0.025, 0.975)), atol=0.006)
    assert bootstrap(hits) == bootstrap(hits)


def test_an_interval_of_nothing_found_says_how_much_may_be_there():
    """Wilson's interval is 0 to z^2 / (n + z^2)."""
    assert bootstrap([False] * 100) == [0.0, pytest.approx(1.96**2 / (100 + 1.96**2))]
    assert bootstrap([True] * 5) == [pytest.approx(5 / (5 + 1.96**2)), 1.0]
    for n in range(1, 300):
        assert bootstrap([False] * n)[0] == 0 and bootstrap([True] * n)[1] == 1


@pytest.mark.parametrize(("wins", "losses", "p"), [(5, 0, 2 / 32), (9, 1, 22 / 1024), (2, 2, 1)])
def test_p_of_a_pair_is_that_of_as_many_coins(wins, losses, p):
    a, b = [1] * wins + [2] * losses, [2] * wins + [1] * losses
    frames = (pd.DataFrame({"query": range(len(x)), "position": x}) for x in (a, b))
    assert paired_bootstrap(*frames)["p"] == pytest.approx(p)


def test_paired_bootstrap_sees_a_small_but_steady_gain():
    a = pd.DataFrame({"query": range(1000), "position": [1] * 700 + [2] * 300})
    b = pd.DataFrame({"query": range(1000), "position": [1] * 670 + [2] * 330})
    better = paired_bootstrap(a, b)
    assert better["difference"] == pytest.approx(0.03) and better["ci95"][0] > 0
    assert better["p"] < 0.01 and paired_bootstrap(a, a)["p"] == 1
    with pytest.raises(ValueError, match="different queries"):
        paired_bootstrap(a, b.iloc[::-1])


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("книгами", "книга", True),
        ("дверями", "дверь", False),  # 4 letters of 7 are 57 %
        ("собакам", "собака", True),
        ("dog", "dogs", False),  # three letters are too few
        ("dog", "dog", True),
        ("interest", "internet", True),  # 5 of 8: a heuristic errs
        ("nationality", "nation", False),  # 6 of 11
    ],
)
def test_forms_of_one_word_begin_alike(a, b, same):
    assert translation.same_stem(a, b) == translation.same_stem(b, a) == same


def test_another_form_of_the_right_word_counts_for_the_stem_only():
    src = Embedding(["book", "cat"], np.eye(2, dtype=np.float32))
    tgt = Embedding(["книгам", "собака"], np.eye(2, dtype=np.float32))
    retriever = Retriever(torch.eye(2), torch.eye(2))
    lexicon = Lexicon([("book", "книга"), ("book", "собака"), ("cat", "книгам")])
    judged = judge(retriever, src, tgt, lexicon, Metric("nn"))
    figures = translation.figures(judged, lexicon)
    assert (figures["p@1"], figures["stem_p@1"]) == (0, 0.5)
    assert [row["queries"] for row in figures["by_frequency"]] == [2]


def test_p_values_are_corrected_for_many_comparisons():
    assert translation.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert translation.holm([0.5, 0.6]) == [1.0, 1.0]
    assert translation.holm([]) == []
    some = translation.holm([float("nan"), 0.02])
    assert np.isnan(some[0]) and some[1] == 0.02
