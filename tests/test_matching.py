import pytest
import torch

from demalib import tiles
from demalib.matching import e_step, table_memory
from demalib.mixture import LOG2E, WordMixture
from demalib.tiles import Partners

VARIANCE = 0.05


@pytest.fixture
def small(gen):
    x, y = (torch.randn(n, 5, generator=gen, dtype=torch.float64) for n in (30, 40))
    q, _ = torch.linalg.qr(torch.randn(5, 5, generator=gen, dtype=torch.float64))
    return WordMixture(0.5 * x, VARIANCE), WordMixture(0.5 * y, VARIANCE), q


def posteriors(src, tgt, W, by_rank):
    """p(j|i) and p(i|j) as the two mixtures give them, (n, m) each, by one-hot means."""
    tables = []
    for mixture, points in ((tgt, src.centers @ W), (src, tgt.centers @ W.T)):
        ranks = torch.arange(1, len(points) + 1)
        prior = mixture.log_prior(ranks) if by_rank else 0.0
        gap = torch.cdist(points, mixture.centers).square() / (2 * mixture.sigma2)
        tables.append((prior - gap).softmax(dim=1))
    return tables[0], tables[1].T


@pytest.mark.parametrize("beta", [0.5, 1.0, None])
@pytest.mark.parametrize("by_rank", [True, False])
def test_the_e_step_is_its_definition(small, beta, by_rank):
    src, tgt, W = small
    forward, backward = posteriors(*small, by_rank)
    g = forward + backward if beta is None else (forward * backward) ** beta
    found = e_step(src, tgt, W, beta, by_rank)
    close = {"rtol": 1e-5, "atol": 1e-7}
    torch.testing.assert_close(found.cross, src.centers.T @ g @ tgt.centers, **close)
    torch.testing.assert_close(found.src_weight, g.sum(dim=1), **close)
    torch.testing.assert_close(found.tgt_weight, g.sum(dim=0), **close)


@pytest.mark.parametrize("shape", [(7, 9), (64, 64)])
def test_the_e_step_is_its_definition_where_words_differ_by_many_bits(small, monkeypatch, shape):
    """Best logits of rows are then hundreds of bits apart, so columns need sums of their own."""
    monkeypatch.setitem(tiles.TILES, "cpu", shape)
    src, tgt = (WordMixture(side.centers, 0.002) for side in small[:2])
    best = (torch.cdist(src.centers @ small[2], tgt.centers).square() / 0.004).amin(dim=1)
    assert best.max() - best.min() > 100
    forward, backward = posteriors(src, tgt, small[2], True)
    g = forward * backward
    found = e_step(src, tgt, small[2], 1.0)
    torch.testing.assert_close(found.src_weight, g.sum(dim=1), rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(found.tgt_weight, g.sum(dim=0), rtol=1e-5, atol=1e-7)


def test_the_plain_posteriors_of_these_tests_are_those_of_the_mixture(small):
    """So what the E-step is compared with above is Eq. 9 as the mixture computes it."""
    src, tgt, W = small
    forward, _ = posteriors(*small, True)
    ranks = torch.arange(1, len(src) + 1)
    torch.testing.assert_close(
        tgt.posterior(src.centers @ W, ranks).mean, forward @ tgt.centers, rtol=1e-9, atol=1e-9
    )


def test_its_log_density_is_the_mixtures_up_to_a_constant(small):
    src, tgt, W = small
    ranks, other = torch.arange(1, len(src) + 1), torch.eye(5, dtype=torch.float64)
    back = torch.arange(1, len(tgt) + 1)
    gains = []
    for score in (
        lambda W: e_step(src, tgt, W).log_prob,
        lambda W: float(tgt.log_prob(src.centers @ W, ranks).mean()),
        lambda W: e_step(src, tgt, W).log_prob_back,
        lambda W: float(src.log_prob(tgt.centers @ W.T, back).mean()),
    ):
        gains.append(score(W) - score(other))
    assert gains[0] == pytest.approx(gains[1], rel=1e-6)
    assert gains[2] == pytest.approx(gains[3], rel=1e-6)


@pytest.mark.parametrize("shape", [(7, 9), (1, 40), (30, 1), (64, 64)])
def test_tiles_do_not_matter(small, monkeypatch, shape):
    whole = e_step(*small)
    monkeypatch.setitem(tiles.TILES, "cpu", shape)
    torch.testing.assert_close(e_step(*small), whole, rtol=1e-6, atol=1e-9)


def test_memory_is_used_again_and_may_be_too_large(small):
    src, tgt, _ = small
    memory = table_memory(src.centers, 50, 50)
    first = e_step(*small, memory=memory)
    torch.testing.assert_close(first, e_step(*small), rtol=0, atol=0)
    torch.testing.assert_close(first, e_step(*small, memory=memory), rtol=0, atol=0)


def test_half_the_bytes_cost_little(small):
    single = [WordMixture(side.centers.float(), VARIANCE) for side in small[:2]]
    exact, found = e_step(*small), e_step(*single, small[2].float())
    torch.testing.assert_close(found.cross.double(), exact.cross, rtol=2e-3, atol=2e-4)


def test_narrow_variances_and_far_words_stay_finite(small):
    src, tgt = (WordMixture(10 * side.centers.float(), 0.001) for side in small[:2])
    found = e_step(src, tgt, small[2].float())
    assert all(torch.isfinite(part).all() for part in found[:3])
    assert (found.src_weight <= 1 + 1e-5).all() and (found.tgt_weight <= 1 + 1e-5).all()


def test_mixtures_that_do_not_fit_are_refused(small):
    src, tgt, W = small
    with pytest.raises(ValueError, match="same sigma2 and tau"):
        e_step(src, WordMixture(tgt.centers, 2 * VARIANCE), W)


def test_a_prior_that_can_read_adds_to_the_logits(small, monkeypatch):
    """Words that look alike get a bonus in both posteriors; partners that are no component, none."""
    monkeypatch.setitem(tiles.TILES, "cpu", (7, 9))
    src, tgt, W = small
    row = torch.full((30,), -1)
    row[:20] = torch.arange(20).flip(0) + 5
    row[28], row[29] = 70, 39  # word 70 is no component
    partners = Partners(row, torch.where(row >= 0, 3.0, 0.0))
    gap = torch.cdist(src.centers @ W, tgt.centers).square() / (2 * VARIANCE)
    ranks = torch.arange(1, 31)
    logits = -(src.log_rank(ranks)[:, None] - tgt.log_ranks).abs() / LOG2E - gap
    has = ((row >= 0) & (row < 40)).nonzero()[:, 0]
    logits[has, row[has]] += 3.0
    forward = (logits - logits.logsumexp(1, keepdim=True)).exp()
    backward = (logits - logits.logsumexp(0, keepdim=True)).exp()
    g = forward * backward
    found = e_step(src, tgt, W, 1.0, True, partners=partners)
    torch.testing.assert_close(found.src_weight, g.sum(1), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.tgt_weight, g.sum(0), rtol=1e-5, atol=1e-6)
