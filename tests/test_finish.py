import pytest
import torch
from torch.nn.functional import normalize

from demalib import finish
from demalib.baselines.msf import whitening
from demalib.finish import Evidence, free_step, symmetric_step
from demalib.matching import e_step
from demalib.mixture import WordMixture
from demalib.procrustes import procrustes

NONE = torch.empty(0, 2, dtype=torch.long)


@pytest.fixture
def small(gen):
    x, y = (normalize(torch.randn(n, 5, generator=gen).double()) for n in (30, 40))
    q, _ = torch.linalg.qr(torch.randn(5, 5, generator=gen, dtype=torch.float64))
    return x, y, q


def evidence(x, y, W):
    return Evidence.of_words(x, y, e_step(WordMixture(x, 0.05), WordMixture(y, 0.05), W))


def test_evidence_is_the_sum_over_all_pairs(small, gen):
    x, y, W = small
    sums = evidence(x, y, W)
    p = WordMixture(y, 0.05)
    logits = -((x @ W)[:, None] - y).square().sum(2) / (2 * 0.05)
    logits = logits - (p.log_ranks[None, : len(y)] - p.log_ranks[: len(x), None]).abs() / 1.442695
    g = logits.softmax(1) * logits.softmax(0)
    torch.testing.assert_close(sums.cross, x.T @ g @ y, rtol=2e-3, atol=1e-4)
    torch.testing.assert_close(sums.src, x.T @ (g.sum(1)[:, None] * x), rtol=2e-3, atol=1e-4)
    torch.testing.assert_close(sums.tgt, y.T @ (g.sum(0)[:, None] * y), rtol=2e-3, atol=1e-4)
    assert sums.weight == pytest.approx(float(g.sum()), rel=2e-3)


def test_pairs_can_be_added_and_weighed(small):
    x, y, _ = small
    pairs = Evidence.of_pairs(x, y[:30])
    twice = pairs + pairs
    torch.testing.assert_close(twice.src, pairs.times(2).src)
    assert twice.weight == pairs.times(2).weight == 60
    torch.testing.assert_close(pairs.swap().cross, y[:30].T @ x)


def test_the_free_step_is_the_maximum(small, gen):
    """No nearby map has a higher expected log-likelihood, and gradients vanish there."""
    x, y, W = small
    sums = evidence(x, y, W)
    s2, n = finish.SIGMA2, sums.weight
    A = sums.src + n * finish.NOISE * torch.eye(5)

    def objective(W):
        fit = torch.trace(W.T @ A @ W) - 2 * torch.trace(W.T @ sums.cross)
        return -fit / (2 * s2) + n * torch.linalg.slogdet(W).logabsdet

    best = free_step(sums).requires_grad_()
    (slope,) = torch.autograd.grad(objective(best), best)
    assert slope.abs().max() < 1e-6 * n / s2
    for _ in range(20):
        other = best.detach() + 0.01 * torch.randn(5, 5, generator=gen, dtype=torch.float64)
        assert objective(other) <= objective(best)


def test_the_symmetric_step_on_certain_pairs_is_the_published_one(small):
    x, y, _ = small
    P_x, P_y = symmetric_step(Evidence.of_pairs(x, y[:30]))
    (white_x, colour_x), (white_y, colour_y) = whitening(x), whitening(y[:30])
    u, s, vt = torch.linalg.svd(white_x @ x.T @ y[:30] @ white_y)
    Q_x = white_x @ u @ s.sqrt().diag() @ u.T @ colour_x @ u
    Q_y = white_y @ vt.T @ s.sqrt().diag() @ vt @ colour_y @ vt.T
    torch.testing.assert_close((x @ P_x) @ (y @ P_y).T, (x @ Q_x) @ (y @ Q_y).T)


def test_a_direction_without_variance_does_no_harm(small):
    x, y, _ = small
    flat_x, flat_y = x.clone(), y[:30].clone()
    flat_x[:, 0] = 0
    flat_y[:, 0] = 0
    P_x, P_y = symmetric_step(Evidence.of_pairs(flat_x, flat_y))
    assert P_x.isfinite().all() and P_y.isfinite().all() and P_x[0].abs().max() < 1e-9


def test_all_steps_recover_a_rotation(small, gen):
    x = normalize(torch.randn(300, 8, generator=gen))
    q, _ = torch.linalg.qr(torch.randn(8, 8, generator=gen))
    y = x @ q
    for last in finish.LAST:
        W_xy, W_yx, P_y, P_x = finish.finish(last, x, y, Evidence.of_pairs(x, y), NONE)
        for a, b in (
            (x @ W_xy, y if P_y is None else y @ P_y),
            (y @ W_yx, x if P_x is None else x @ P_x),
        ):
            best = (normalize(a) @ normalize(b).T).argmax(1)
            assert torch.equal(best, torch.arange(300)), last


def test_orthogonal_on_certain_pairs_is_procrustes(small):
    x, y, _ = small
    maps = finish.finish("orthogonal", x, y, Evidence.of_pairs(x, y[:30]), NONE)
    torch.testing.assert_close(maps.W_xy, procrustes(x, y[:30]))
    with pytest.raises(ValueError, match="unknown last step 'best'; use one of contrastive"):
        finish.finish("best", x, y, Evidence.of_pairs(x, y[:30]), NONE)


def test_words_of_the_other_language_stay_where_they_were(small):
    """The space where both sides meet is turned to the target side, which changes no cosine."""
    x, y, _ = small
    sums = Evidence.of_pairs(x, y[:30])
    P_x, P_y = symmetric_step(sums)
    W_xy, W_yx, Q_y, Q_x = finish.finish("symmetric", x, y, sums, NONE)
    torch.testing.assert_close((x @ W_xy) @ (y @ Q_y).T, (x @ P_x) @ (y @ P_y).T)
    torch.testing.assert_close((y @ W_yx) @ (x @ Q_x).T, (y @ P_y) @ (x @ P_x).T)
    for Q, P in ((Q_y, P_y), (Q_x, P_x)):
        eye = torch.eye(5).double()
        assert (Q - Q.T).abs().max() < 1e-9 and (Q - eye).norm() < (P - eye).norm()
