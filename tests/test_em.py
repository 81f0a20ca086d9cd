import math

import pytest
import torch

from demalib import em
from demalib.em import choose_sigma2, start_map
from demalib.matching import e_step
from demalib.mixture import WordMixture
from demalib.procrustes import orthogonal_factor


@pytest.fixture
def small(gen):
    x, y = (
        torch.nn.functional.normalize(torch.randn(n, 5, generator=gen).double()) for n in (30, 40)
    )
    q, _ = torch.linalg.qr(torch.randn(5, 5, generator=gen, dtype=torch.float64))
    return x, y, q


@pytest.mark.parametrize("by_rank", [True, False])
@pytest.mark.parametrize("wanted", [2.0, 10.0])
def test_the_variance_gives_the_wanted_number_of_candidates(small, by_rank, wanted):
    x, y, W = small
    sigma2 = choose_sigma2(x, y, W, wanted, 2.0, by_rank)
    counts = None if by_rank else torch.ones(len(y))
    ranks = torch.arange(1, len(x) + 1) if by_rank else None
    found = WordMixture(y, sigma2, counts).posterior(x @ W, ranks, entropy=True)
    assert float(found.candidates.log().mean()) == pytest.approx(math.log(wanted), abs=0.01)


@pytest.mark.parametrize("sigma2", [0.02, 0.2])
@pytest.mark.parametrize("by_rank", [True, False])
def test_em_of_eq_10_never_lowers_the_likelihood_at_one_variance(small, sigma2, by_rank):
    x, y, W = small
    src, tgt = WordMixture(x, sigma2), WordMixture(y, sigma2)
    values = []
    for _ in range(30):
        found = e_step(src, tgt, W, None, by_rank)
        values.append(len(x) * found.log_prob + len(y) * found.log_prob_back)
        W = orthogonal_factor(found.cross)
    gains = torch.tensor(values).diff()
    assert gains.min() > -1e-4 and gains[0] > 0.01  # the table of logits is kept in float32


def test_pairing_says_what_the_weights_are(small):
    x, y, W = small
    schedule = [em.Phase(40, 3, 3, 0.5, 1)]
    annealed = em.anneal(x, y, W, schedule=schedule, pairing="sum")
    src, tgt = (WordMixture(side, annealed.history["sigma2"].item()) for side in (x, y))
    found = e_step(src, tgt, W, None)
    torch.testing.assert_close(annealed.W, orthogonal_factor(found.cross))
    assert annealed.evidence.weight == pytest.approx(len(x) + len(y), rel=1e-6)
    with pytest.raises(ValueError, match="unknown pairing 'product'; use one of agreement, sum"):
        em.anneal(x, y, W, pairing="product")


def test_the_start_says_nothing_where_nothing_is_known(gen):
    x, y = torch.randn(2, 4, 10, generator=gen, dtype=torch.float64)
    W = start_map(x.T @ y)
    assert int((torch.linalg.svdvals(W) > 1e-6).sum()) == 4
    unknown = torch.linalg.svd(x).Vh[4:]  # directions that no identical word has
    torch.testing.assert_close(
        unknown @ W, torch.zeros(6, 10, dtype=torch.float64), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(
    ("known", "first", "rounds"), [(0, 500, 12), (99, 500, 12), (100, 100, 9), (5000, 20, 5)]
)
def test_the_more_is_known_the_narrower_the_start(known, first, rounds):
    phase, *rest = em.plan(known)
    assert (phase.first, phase.rounds) == (first, rounds) and rest == list(em.SCHEDULE[1:])


def test_known_pairs_keep_a_share_of_the_evidence(small):
    """However few they are: a sixth of all weight in every round but the last step."""
    x, y, _ = small
    known = torch.tensor([[0, 0]])
    annealed = em.anneal(x, y, torch.eye(5).double(), known, schedule=[em.Phase(40, 3, 3, 0.5, 1)])
    free = e_step(
        WordMixture(x, annealed.history["sigma2"].item()),
        WordMixture(y, annealed.history["sigma2"].item()),
        torch.eye(5).double(),
        0.5,
    )
    weight = max(em.KNOWN_WEIGHT, em.SHARE * float(free.src_weight.sum()))
    expected = orthogonal_factor(free.cross + weight * x[:1].T @ y[:1])
    torch.testing.assert_close(annealed.W, expected)
    assert annealed.evidence.weight == pytest.approx(float(free.src_weight.sum()) + em.KNOWN_WEIGHT)
