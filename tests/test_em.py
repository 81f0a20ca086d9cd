import math

import pytest
import torch
from conftest import planted

from demalib import em
from demalib.config import Config
from demalib.em import (
    choose_sigma2,
    expect,
    expect_near,
    fit_em,
    free_step,
    near_logits,
    rank_penalty,
    start_map,
)
from demalib.files import DataError
from demalib.mapping import make_pair
from demalib.refine import orthogonal_factor


@pytest.fixture
def small(gen):
    x, y = (torch.nn.functional.normalize(side.double(), dim=1)
            for side in (torch.randn(30, 5, generator=gen), torch.randn(40, 5, generator=gen)))  # fmt: skip
    q, _ = torch.linalg.qr(torch.randn(5, 5, generator=gen, dtype=torch.float64))
    return x, y, q


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("tau", [0.0, 2.0])
def test_the_e_step_is_its_definition(small, beta, tau):
    x, y, W = small
    logits = x @ W @ y.T / 0.05
    if tau:
        i, j = torch.arange(1, 31)[:, None], torch.arange(1, 41)
        logits -= (i.log() - j.log()).abs() / tau
    g = (logits.softmax(dim=1) * logits.softmax(dim=0)) ** beta
    found = expect(x, y, W, 0.05, tau, beta)
    close = {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(found.cross, x.T @ g @ y, **close)
    torch.testing.assert_close(found.src_weight, g.sum(dim=1), **close)
    torch.testing.assert_close(found.tgt_weight, g.sum(dim=0), **close)
    want = logits.logsumexp(dim=1).mean() - 1 / 0.05
    assert found.likelihood == pytest.approx(float(want), rel=1e-5)


@pytest.mark.parametrize("tau", [0.0, 2.0])
def test_near_words_are_enough_when_all_are_near(small, tau):
    want, found = (step(*small, 0.05, tau, 1.0) for step in (expect, expect_near))
    torch.testing.assert_close(found[:3], want[:3], rtol=1e-5, atol=1e-6)
    assert found.likelihood == pytest.approx(want.likelihood, rel=1e-5)
    assert found.omitted == pytest.approx(0, abs=1e-6)


def test_what_near_words_leave_out_is_bounded(gen, monkeypatch):
    """Pair by pair: never too light, never heavier than the omitted shares allow."""
    monkeypatch.setattr("demalib.tiles.GROUP", 20)
    monkeypatch.setattr(em, "NEAR", 5)
    monkeypatch.setattr(em, "GROUPS", 2)
    x = torch.nn.functional.normalize(torch.randn(200, 6, generator=gen).double(), dim=1)
    y = torch.nn.functional.normalize(x + 0.2 * torch.randn(200, 6, generator=gen), dim=1)
    W, sigma2, tau = torch.eye(6, dtype=x.dtype), 0.05, 2.0
    logits = x @ y.T / sigma2 + rank_penalty(torch.arange(200), torch.arange(200), tau)
    exact = logits.softmax(dim=1) * logits.softmax(dim=0)
    near, columns, log_rows, lost = near_logits(x, y, sigma2, tau)
    _, _, log_cols, lost_back = near_logits(y, x, sigma2, tau)
    eps = 1 - (log_rows - logits.logsumexp(dim=1)).exp(), 1 - (log_cols - logits.logsumexp(0)).exp()
    assert (lost, lost_back) == pytest.approx(tuple(float(e.mean()) for e in eps))
    assert 0.05 < lost < 0.9 and all((e > -1e-9).all() for e in eps)

    found = expect_near(x, y, W, sigma2, tau, 1.0)
    assert found.omitted == pytest.approx((lost + lost_back) / 2)
    kept = exact.gather(1, columns)
    most = kept / ((1 - eps[0])[:, None] * (1 - eps[1])[columns])
    assert (found.src_weight >= kept.sum(dim=1) - 1e-9).all()
    assert (found.src_weight <= most.sum(dim=1) + 1e-9).all()
    assert (exact.sum(dim=1) - kept.sum(dim=1) <= eps[0] + 1e-9).all()


def test_many_words_are_matched_by_their_near_ones(rng, monkeypatch):
    monkeypatch.setattr(em, "PLAIN", 100)
    src, tgt, q = planted(rng, n=600, noise=0.05)
    mapping = fit_em(make_pair(src, tgt), Config())
    torch.testing.assert_close(orthogonal_factor(mapping.W_xy), q.float(), atol=0.05, rtol=0)
    assert mapping.history["omitted"].max() > 0


def test_small_chunks_change_nothing(small, monkeypatch):
    whole = expect(*small, 0.05, 2.0, 1.0)
    monkeypatch.setattr(em, "ROWS", 7)
    torch.testing.assert_close(expect(*small, 0.05, 2.0, 1.0).cross, whole.cross)


def test_the_e_step_survives_a_narrow_variance(small):
    found = expect(*(t.float() for t in small), 0.001, 2.0, 1.0)
    assert all(torch.isfinite(part).all() for part in found[:3])


def test_the_variance_gives_the_wanted_number_of_candidates(small):
    x, y, W = small
    for wanted in (2.0, 10.0):
        sigma2 = choose_sigma2(x @ W, y, 2.0, wanted)
        prior = rank_penalty(torch.arange(30), torch.arange(40), 2.0)
        log_r = (x @ W @ y.T / sigma2 + prior).log_softmax(dim=1)
        assert float(-(log_r.exp() * log_r).sum(dim=1).mean()) == pytest.approx(
            math.log(wanted), abs=0.01
        )


def test_the_free_step_is_the_maximum(small, gen):
    """No nearby map has a higher expected log-likelihood, and gradients vanish there."""
    x, y, W = small
    found = expect(x, y, W, 0.05, 2.0, 1.0)
    s2, n = em.SIGMA2, found.src_weight.sum()
    A = x.T @ (found.src_weight[:, None] * x) + n * em.NOISE * torch.eye(5)

    def objective(W):
        fit = torch.trace(W.T @ A @ W) - 2 * torch.trace(W.T @ found.cross)
        return -fit / (2 * s2) + n * torch.linalg.slogdet(W).logabsdet

    best = free_step(x, found.src_weight, found.cross).requires_grad_()
    (slope,) = torch.autograd.grad(objective(best), best)
    assert slope.abs().max() < 1e-6 * n / s2
    for _ in range(20):
        other = best.detach() + 0.01 * torch.randn(5, 5, generator=gen, dtype=torch.float64)
        assert objective(other) <= objective(best)


def test_an_orthogonal_m_step_never_lowers_the_expected_fit(small):
    x, y, W = small
    found = expect(x, y, W, 0.05, 2.0, 1.0)
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
    start = fit_em(pair, Config(ablate="density"))
    mapping = fit_em(pair, Config())
    assert right(pair, start.W_xy) < 0.5 < 0.99 < right(pair, mapping.W_xy)
    assert right(pair.swap(), mapping.W_yx) > 0.99
    assert torch.equal(mapping.W_xy, fit_em(pair, Config(seed=1)).W_xy)  # nothing is random
    history = mapping.history
    assert len(history) == sum(phase.rounds for phase in em.SCHEDULE)
    assert {"sigma2", "likelihood", "candidates", "criterion", "matched"} <= set(history.columns)
    assert history["criterion"].iloc[-1] > history["criterion"].iloc[0]


def test_ablations(rng):
    src, tgt, _ = planted(rng, n=200, d=6, shared=20)
    pair = make_pair(src, tgt)
    assert right(pair, fit_em(pair, Config(ablate="prior")).W_xy) > 0.9
    first, second = (fit_em(pair, Config(ablate="identical", seed=s)).history for s in (0, 1))
    assert first["moved"].iloc[0] != second["moved"].iloc[0]  # a start of its own for each seed
    with pytest.raises(DataError, match="no part 'cycle' to ablate"):
        fit_em(pair, Config(ablate="cycle"))


def test_no_identical_words_is_said(rng):
    src, tgt, _ = planted(rng, shared=0)
    with pytest.raises(DataError, match="share 0 words"):
        fit_em(make_pair(src, tgt), Config())
