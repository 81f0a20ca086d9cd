import pytest
import torch
from conftest import shaped_pair
from torch.nn.functional import normalize

from demalib.baselines import selflearn
from demalib.config import Config
from demalib.procrustes import induce_dictionary


def test_every_score_seen_gives_the_best_of_both_sides(gen):
    x, y = (normalize(s, dim=1) for s in torch.randn(2, 40, 5, generator=gen))
    found, objective = selflearn.stochastic_dictionary(x, y, 1.0, 10, gen)
    want = torch.cat([induce_dictionary(x, y, mode) for mode in ("s2t", "t2s")])
    assert found.tolist() == want.tolist()
    cosine = x @ y.T
    assert objective == pytest.approx(float(cosine.amax(1).mean() + cosine.amax(0).mean()) / 2)
    some, _ = selflearn.stochastic_dictionary(x, y, 0.1, 10, gen)
    assert 0 < int((some != found).any(dim=1).sum()) <= 80


def test_self_learning_counts_a_pair_twice_that_is_the_best_of_both_sides(rng):
    pair = shaped_pair(rng, n=150)
    start = torch.from_numpy(pair.require_identical().copy())
    found = selflearn.self_learn(pair, start, Config())
    assert len(found) == 300 and len(torch.unique(found, dim=0)) < 200


def test_reweighting_of_a_rotated_copy_keeps_every_cosine(gen):
    a = torch.randn(50, 4, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
    P_x, P_y = selflearn.projections(a, a @ q)
    torch.testing.assert_close(a @ P_x @ P_y.T @ (a @ q).T, a @ a.T)
