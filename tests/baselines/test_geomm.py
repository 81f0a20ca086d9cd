from dataclasses import replace

import numpy as np
import torch
from conftest import lexicon, planted

from demalib.baselines import geomm
from demalib.pair import make_pair


def test_geomm_is_the_minimum_over_rotations_and_metric(gen):
    x, z = (torch.randn(n, 4, generator=gen, dtype=torch.float64) for n in (15, 20))
    A = (torch.rand(15, 20, generator=gen) < 0.1).double()
    W = geomm.bilinear_map(x, z, x.T @ A @ z, 3.0)
    u, s, vt = torch.linalg.svd(W)
    parts = [p.clone().requires_grad_() for p in (u, torch.diag(s), vt.T)]
    U1, B, U2 = parts
    loss = (x @ U1 @ B @ U2.T @ z.T - A).square().sum() + 1.5 * (U1 @ B @ U2.T).square().sum()
    loss.backward()
    for part in parts:
        torch.testing.assert_close(part.grad, torch.zeros_like(part), atol=1e-9, rtol=0)


def test_geomm_counts_a_repeated_pair_once(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt, lexicon())
    twice = replace(pair, train=np.concatenate([pair.train, pair.train]))
    once, again = (geomm.projections(side, side.train, 10.0)[0] for side in (pair, twice))
    torch.testing.assert_close(once, again)
