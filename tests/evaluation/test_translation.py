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
    assert bootstrap([True] * 5) == [1.0, 1.0]


def test_paired_bootstrap_sees_a_small_but_steady_gain():
    a = pd.DataFrame({"query": range(1000), "position": [1] * 700 + [2] * 300})
    b = pd.DataFrame({"query": range(1000), "position": [1] * 670 + [2] * 330})
    better = paired_bootstrap(a, b)
    assert better["difference"] == pytest.approx(0.03) and better["ci95"][0] > 0
    assert better["p"] < 0.01 and paired_bootstrap(a, a)["p"] == 1
    with pytest.raises(ValueError, match="different queries"):
        paired_bootstrap(a, b.iloc[::-1])
