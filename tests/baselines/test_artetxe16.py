import torch
from conftest import lexicon, planted

from demalib.baselines import artetxe16, xing
from demalib.config import Config
from demalib.flow import random_orthogonal
from demalib.pair import make_pair
from demalib.solvers import SOLVERS


def test_no_other_rotation_has_a_larger_sum_of_products(rng, gen):
    src, tgt, _ = planted(rng, noise=0.5)
    pair = make_pair(src, tgt, lexicon(), normalisation=SOLVERS["artetxe16"].normalisation)
    W = artetxe16.fit(pair, Config()).W_xy
    torch.testing.assert_close(W @ W.T, torch.eye(16), atol=1e-5, rtol=0)
    a, b = pair.x[pair.train[:, 0]], pair.y[pair.train[:, 1]]
    best = ((a @ W) * b).sum()
    for _ in range(50):
        skew = torch.randn(16, 16, generator=gen)
        near = W @ torch.matrix_exp(0.01 * (skew - skew.T))
        for other in (near, random_orthogonal(16, gen)):
            assert ((a @ other) * b).sum() < best


def test_it_is_xing_after_another_normalisation(rng):
    src, tgt, _ = planted(rng, noise=0.5)
    pair = make_pair(src, tgt, lexicon())
    ours, theirs = artetxe16.fit(pair, Config()), xing.fit(pair, Config())
    assert torch.equal(ours.W_xy, theirs.W_xy) and torch.equal(ours.W_yx, theirs.W_yx)
    assert SOLVERS["artetxe16"].normalisation == (*SOLVERS["xing"].normalisation, "center")
