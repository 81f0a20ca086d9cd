import pytest
import torch
from conftest import lexicon, planted

from demalib.baselines import rcsls
from demalib.config import Config
from demalib.pair import make_pair
from demalib.procrustes import procrustes


def test_rcsls_gradient_is_that_of_the_written_loss(gen):
    x, y = torch.randn(2, 30, 4, generator=gen, dtype=torch.float64)
    W = torch.randn(4, 4, generator=gen, dtype=torch.float64, requires_grad=True)
    pairs = torch.randint(30, (40, 2), generator=gen)  # some words are in several
    a, b = x[pairs[:, 0]], y[pairs[:, 1]]
    x_20, y_20 = x[:20], y[:20]
    near = (a @ W @ y_20.T).topk(3, dim=1).values.mean() + (b @ (x_20 @ W).T).topk(
        3, 1
    ).values.mean()
    want = near - 2 * ((a @ W) * b).sum(dim=1).mean()
    want.backward()
    loss, gradient = rcsls.loss_and_gradient(W.detach(), x, y, pairs, 3, 20)
    assert loss == pytest.approx(float(want.detach()))
    torch.testing.assert_close(gradient, W.grad)


def test_rcsls_lowers_its_loss(rng):
    src, tgt, _ = planted(rng, noise=0.3)
    pair = make_pair(src, tgt, lexicon())
    pairs = torch.from_numpy(pair.train)

    def loss(W):
        return rcsls.loss_and_gradient(W, pair.x, pair.y, pairs, 10, len(pair.x))[0]

    start = procrustes(pair.x[pairs[:, 0]], pair.y[pairs[:, 1]])
    assert loss(rcsls.fit(pair, Config()).W_xy) < loss(start)


def test_a_step_that_raises_the_loss_is_undone(rng, monkeypatch):
    src, tgt, _ = planted(rng, noise=0.3)
    pair, real, losses = make_pair(src, tgt, lexicon()), rcsls.loss_and_gradient, []

    def uphill(*args):
        loss, gradient = real(*args)
        losses.append(loss)
        return loss, -gradient

    monkeypatch.setattr(rcsls, "loss_and_gradient", uphill)
    start = procrustes(pair.x[pair.train[:, 0]], pair.y[pair.train[:, 1]])
    W, P_y = rcsls.descend(pair, pair.train, 1.0, Config(), 600)
    assert torch.equal(W, start) and P_y is None
    assert min(losses[1:]) > losses[0] and losses[1:] == sorted(losses[1:], reverse=True)
