"""A prior that can read: what a likeness is worth, found without gold data."""

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from demalib import spelling
from demalib.config import Config
from demalib.embedding import Embedding
from demalib.hints import Lexicon, alike_pairs
from demalib.pair import Mapping, make_pair, retrievers
from demalib.retrieval import Metric
from demalib.spelling import Alike, estimate_etas, find_partners
from demalib.tiles import add_partners_

N, SIGMA2 = 400, 0.02


def world(gen, share, d=40):
    """Words whose mapped twin is near; the same spelling is right for a share of them only."""
    targets = normalize(torch.randn(N, d, generator=gen, dtype=torch.float64), dim=1)
    noise = torch.randn(N, d, generator=gen, dtype=torch.float64) * 0.12
    mapped = normalize(targets + noise, dim=1)
    row = torch.arange(N)
    wrong = torch.rand(N, generator=gen) >= share
    partner = torch.where(wrong, (row + 57) % N, row)
    alike = Alike(torch.stack([row, partner], 1), torch.zeros(N).long(), torch.ones(N).bool())
    return mapped, targets, alike


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_estimate_follows_how_often_a_likeness_is_right(gen, share):
    mapped, targets, alike = world(gen, share)
    (eta, none), _ = estimate_etas(mapped, targets, alike)
    assert none == 0  # there is no cognate to learn from
    prior = spelling.WordMixture(targets, 1.0).log_prior(torch.arange(1, N + 1))
    prior = prior.gather(1, alike.rows[:, 1:])[:, 0].exp()
    believed = (prior * eta.exp() / (1 - prior + prior * eta.exp())).mean()
    assert float(believed) == pytest.approx(share, abs=0.12)


def test_the_estimate_maximises_the_likelihood(gen):
    mapped, targets, alike = world(gen, 0.5)
    etas, sigma2 = estimate_etas(mapped, targets, alike)
    mixture = spelling.WordMixture(targets, sigma2)
    i, j = alike.rows.T

    def likelihood(eta):
        logits = mixture.log_prior(i + 1).clone()
        logits[i, j] += eta
        gap = torch.cdist(mapped, targets).square() / (2 * sigma2)
        return float((torch.log_softmax(logits, 1) - gap).logsumexp(1).sum())

    best = likelihood(etas[0])
    assert best > likelihood(etas[0] - 0.5) and best > likelihood(etas[0] + 0.5)


def test_a_likeness_that_is_never_right_is_worth_little_and_test_pairs_teach_nothing(gen):
    mapped, targets, alike = world(gen, 0.0)
    assert estimate_etas(mapped, targets, alike)[0][0] < 3
    mapped, targets, alike = world(gen, 0.9)
    hidden = alike._replace(usable=torch.zeros(N).bool())
    assert not estimate_etas(mapped, targets, hidden)[0].any()


def test_partners_of_a_tile(gen):
    alike = Alike(torch.tensor([[0, 3], [2, 1]]), torch.tensor([0, 1]), torch.ones(2).bool())
    partners = find_partners(alike, torch.tensor([5.0, 7.0]), 3)
    assert partners.row.tolist() == [3, -1, 1] and partners.value.tolist() == [5, 0, 7]
    tile = torch.zeros(3, 2)
    spelling_tile = add_partners_(tile, partners, first=2)  # target words 2 and 3
    assert spelling_tile.tolist() == [[0, 5], [0, 0], [0, 0]]


@pytest.fixture
def pair():
    """A word's partner of the same spelling has a slightly worse vector than another word."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 20)).astype(np.float32)
    noise = rng.standard_normal((300, 20)).astype(np.float32)
    words = [f"word{i}" for i in range(300)]
    src, tgt = Embedding(words, x, "aa"), Embedding(words, x + 1.5 * noise, "bb")
    return make_pair(src, tgt, exclude=Lexicon([("word7", "word7")], "test"))


def test_csls_s_is_csls_plus_a_bonus_and_lazily_the_same(pair):
    mapping = Mapping.orthogonal(torch.eye(20), pair, Config("aa-bb"))
    forward, backward = retrievers(mapping, pair)
    rows = torch.arange(300)
    plain, read = (
        torch.cat([s.clone() for _, s in forward.iter_scores(rows, Metric(name))])
        for name in ("csls", "csls-s")
    )
    gain = read - plain
    value = forward.partners.value[0]
    assert value > 0
    torch.testing.assert_close(gain, torch.diag(value.expand(300)), atol=1e-5, rtol=0)
    hits = [(s.argmax(1) == rows).float().mean() for s in (plain, read)]
    assert hits[1] > hits[0]
    few = torch.tensor([3, 7])
    lazy = retrievers(mapping, pair)[0].translate(few, Metric("csls-s"), 3)[1]
    assert torch.equal(lazy, read[few].topk(3).indices)
    assert backward.partners.row.tolist() == rows.tolist()


def test_without_words_csls_s_says_what_it_needs(gen):
    from demalib.retrieval import Retriever

    retriever = Retriever(torch.eye(3), torch.eye(3))
    with pytest.raises(ValueError, match="needs the words"):
        retriever.translate(torch.tensor([0]), Metric("csls-s"), 1)


def test_an_identical_word_has_no_other_partner():
    english = Embedding(["menu", "music", "hotel"], np.eye(3, dtype=np.float32), "en")
    french = Embedding(["musique", "menu", "hôtel"], np.eye(3, dtype=np.float32), "fr")
    cognates = np.array([[0, 0], [1, 0], [2, 2]])
    rows, kind, usable = alike_pairs(
        english, french, cognates, Lexicon([("hotel", "hôtel")], "test")
    )
    assert rows.tolist() == [[0, 1], [1, 0], [2, 2]]
    assert kind.tolist() == [0, 1, 1] and usable.tolist() == [True, True, False]
