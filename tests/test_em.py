import math

import pytest
import torch
from conftest import planted

from demalib import em
from demalib.config import Config
from demalib.em import choose_sigma2, start_map, unconstrained_m_step
from demalib.errors import DataError
from demalib.matching import e_step
from demalib.mixture import WordMixture
from demalib.pair import make_pair
from demalib.procrustes import orthogonal_factor
from demalib.solvers import align


@pytest.fixture
def small(gen):
    x, y = (
        torch.nn.functional.normalize(torch.randn(n, 5, generator=gen).double()) for n in (30, 40)
    )
    q, _ = torch.linalg.qr(torch.randn(5, 5, generator=gen, dtype=torch.float64))
    return x, y, q


def expect(x, y, W):
    return e_step(WordMixture(x, 0.05), WordMixture(y, 0.05), W)


@pytest.mark.parametrize("by_rank", [True, False])
@pytest.mark.parametrize("wanted", [2.0, 10.0])
def test_the_variance_gives_the_wanted_number_of_candidates(small, by_rank, wanted):
    x, y, W = small
    sigma2 = choose_sigma2(x, y, W, wanted, 2.0, by_rank)
    counts = None if by_rank else torch.ones(len(y))
    ranks = torch.arange(1, len(x) + 1) if by_rank else None
    found = WordMixture(y, sigma2, counts).posterior(x @ W, ranks, entropy=True)
    assert float(found.candidates.log().mean()) == pytest.approx(math.log(wanted), abs=0.01)


def test_the_last_m_step_is_the_maximum(small, gen):
    """No nearby map has a higher expected log-likelihood, and gradients vanish there."""
    x, y, W = small
    found = expect(x, y, W)
    s2, n = em.SIGMA2, found.src_weight.sum()
    A = x.T @ (found.src_weight[:, None] * x) + n * em.NOISE * torch.eye(5)

    def objective(W):
        fit = torch.trace(W.T @ A @ W) - 2 * torch.trace(W.T @ found.cross)
        return -fit / (2 * s2) + n * torch.linalg.slogdet(W).logabsdet

    best = unconstrained_m_step(x, found.src_weight, found.cross).requires_grad_()
    (slope,) = torch.autograd.grad(objective(best), best)
    assert slope.abs().max() < 1e-6 * n / s2
    for _ in range(20):
        other = best.detach() + 0.01 * torch.randn(5, 5, generator=gen, dtype=torch.float64)
        assert objective(other) <= objective(best)


def test_an_orthogonal_m_step_never_lowers_the_expected_fit(small):
    x, y, W = small
    found = expect(x, y, W)
    assert torch.trace(orthogonal_factor(found.cross).T @ found.cross) >= torch.trace(
        W.T @ found.cross
    )


def test_the_start_says_nothing_where_nothing_is_known(gen):
    x, y = torch.randn(2, 4, 10, generator=gen, dtype=torch.float64)
    W = start_map(x, y)
    assert int((torch.linalg.svdvals(W) > 1e-6).sum()) == 4
    unknown = torch.linalg.svd(x).Vh[4:]  # directions that no identical word has
    torch.testing.assert_close(
        unknown @ W, torch.zeros(6, 10, dtype=torch.float64), rtol=0, atol=1e-6
    )


def right(pair, W):
    x = torch.nn.functional.normalize(pair.x @ W, dim=1)
    return float((x @ pair.y.T).argmax(dim=1).eq(torch.arange(len(x))).float().mean())


def test_a_handful_of_identical_words_is_enough(rng):
    src, tgt, _ = planted(rng, n=1500, d=20, noise=0.1, shared=12)  # fewer than dimensions
    pair = make_pair(src, tgt)
    start = align(pair, Config(ablate="density"))
    mapping = align(pair, Config())
    assert right(pair, start.W_xy) < 0.5 < 0.99 < right(pair, mapping.W_xy)
    assert right(pair.swap(), mapping.W_yx) > 0.99
    assert torch.equal(mapping.W_xy, align(pair, Config(seed=1)).W_xy)  # nothing is random
    history = mapping.history
    assert len(history) == sum(phase.rounds for phase in em.SCHEDULE)
    assert {"sigma2", "log_prob", "candidates", "criterion", "matched"} <= set(history.columns)
    assert history["criterion"].iloc[-1] > history["criterion"].iloc[0]


def test_ablations(rng):
    src, tgt, _ = planted(rng, n=200, d=6, shared=20)
    pair = make_pair(src, tgt)
    assert right(pair, align(pair, Config(ablate="prior")).W_xy) > 0.9
    first, second = (align(pair, Config(ablate="identical", seed=s)).history for s in (0, 1))
    assert first["moved"].iloc[0] != second["moved"].iloc[0]  # a start of its own for each seed
    with pytest.raises(DataError, match="no part 'cycle' to ablate"):
        align(pair, Config(ablate="cycle"))


def test_no_identical_words_is_said(rng):
    src, tgt, _ = planted(rng, shared=0)
    with pytest.raises(DataError, match="share 0 words"):
        align(make_pair(src, tgt), Config())


def test_fewer_words_where_memory_is_short(rng, monkeypatch):
    src, tgt, q = planted(rng, n=600, noise=0.05)
    monkeypatch.setattr(em, "free_bytes", lambda _: 4 * 300**2)
    with pytest.warns(UserWarning, match="room for 300, which are used"):
        mapping = align(make_pair(src, tgt), Config())
    assert set(mapping.history["words"]) == {300}
    torch.testing.assert_close(orthogonal_factor(mapping.W_xy), q, atol=0.05, rtol=0)
