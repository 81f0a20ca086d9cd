import torch
from conftest import shaped_pair

from demalib.baselines import nonadv


def test_nearest_images_by_euclidean_distance(gen):
    points, others = torch.randn(2, 3, 11, 4, generator=gen)
    want = torch.cdist(points, others).argmin(dim=2)
    assert torch.equal(nonadv.nearest(points, others), want)


def test_principal_axes_are_centred_uncorrelated_and_of_falling_spread(rng):
    x = shaped_pair(rng).x
    axes = nonadv.principal(x)
    assert axes.shape == (300, 3)
    torch.testing.assert_close(axes.mean(dim=0), torch.zeros(3), atol=1e-5, rtol=0)
    spread = axes.T @ axes
    torch.testing.assert_close(spread, torch.diag(spread.diagonal()), atol=1e-2, rtol=0)
    assert (spread.diagonal().diff() < 0).all() and abs(float(axes.std()) - 1) < 1e-5


def test_a_map_that_is_right_matches_every_word_to_its_own(gen):
    x = torch.randn(2, 30, 4, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
    T = q.repeat(2, 1, 1)
    to_y, to_x, errors = nonadv.match(nonadv.Runs(x, x @ T, T, T.mT))
    assert torch.equal(to_y, torch.arange(30).repeat(2, 1)) and torch.equal(to_x, to_y)
    torch.testing.assert_close(errors, torch.zeros(2, dtype=torch.float64))
    wrong = torch.eye(4, dtype=torch.float64).repeat(2, 1, 1)
    assert (nonadv.match(nonadv.Runs(x, x @ T, wrong, wrong))[2] > 0.1).all()
