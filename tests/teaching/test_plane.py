import numpy as np
import pytest
import torch

from demalib.mixture import WordMixture
from demalib.pair import make_pair
from demalib.procrustes import procrustes
from demalib.teaching import plane as toy


def test_french_is_english_turned():
    src, tgt, gold = toy.plane(77, noise=0)
    rows = gold.rows(src, tgt)
    turned = src.vectors[rows[:, 0]] @ toy.rotation(77).numpy()
    np.testing.assert_allclose(tgt.vectors[rows[:, 1]], turned, atol=1e-6)
    assert len(rows) == len(set(src.words)) == len(set(tgt.words)) == 21


def test_rows_and_spellings_give_nothing_away():
    src, tgt, gold = toy.plane()
    rows = gold.rows(src, tgt)
    assert 0 < (rows[:, 0] == rows[:, 1]).sum() < 10  # ranks agree now and then
    assert len(make_pair(src, tgt, normalisation=("center",)).identical) == 0


def test_noise_is_as_large_as_asked_and_seeded():
    clean, once, again, other = (
        toy.plane(noise=n, seed=s)[1].vectors for n, s in ((0, 0), (0.1, 1), (0.1, 1), (0.1, 2))
    )
    assert (once - clean).std() == pytest.approx(0.1, rel=0.3)
    assert np.array_equal(once, again) and not np.array_equal(once, other)


def test_a_quarter_turn_takes_east_to_north():
    torch.testing.assert_close(
        torch.tensor([[1.0, 0]]) @ toy.rotation(90), torch.tensor([[0.0, 1]])
    )


@pytest.mark.parametrize("degrees", [0, 30, 179, 200, 359])
def test_angle_undoes_rotation_whatever_the_scale(degrees):
    stretch = torch.tensor([[2.0, 0.3], [0.3, 0.7]])  # symmetric: the nearest rotation stays
    for W in (toy.rotation(degrees), 3 * toy.rotation(degrees), stretch @ toy.rotation(degrees)):
        assert toy.degrees_apart(toy.angle(W), degrees) < 1e-3
        assert 0 <= toy.angle(W) < 360
    assert toy.angle(procrustes(torch.eye(2), stretch @ toy.rotation(degrees))) == pytest.approx(
        toy.angle(stretch @ toy.rotation(degrees)), abs=1e-3
    )


@pytest.mark.parametrize(
    ("a", "b", "want"), [(10, 350, 20), (350, 10, 20), (0, 180, 180), (5, 5, 0)]
)
def test_degrees_apart_goes_the_short_way(a, b, want):
    assert toy.degrees_apart(a, b) == want


def test_grid_goes_row_by_row():
    points = toy.grid(2.0, 5)
    assert points.shape == (25, 2)
    assert points[0].tolist() == [-2, -2] and points[1].tolist() == [-1, -2]
    assert points[-1].tolist() == [2, 2]


def test_landscape_is_the_loss_and_is_lowest_at_the_truth(gen):
    src, tgt, _ = toy.plane(100, noise=0)
    x, y = torch.from_numpy(src.vectors), torch.from_numpy(tgt.vectors)
    points, target = WordMixture(x, 0.05).sample(500, gen), WordMixture(y, 0.05)
    heights = toy.landscape([toy.rotation(a) for a in range(0, 360, 20)], points, target)
    assert min(heights) == heights[5]
    assert heights[5] == pytest.approx(-float(target.log_prob(points @ toy.rotation(100)).mean()))
    wide, scaled = (toy.landscape([s * toy.rotation(100)], points, target)[0] for s in (1.0, 0.5))
    assert scaled > wide  # log|det W| charges for shrinking


def test_ranks_bring_in_the_prior_of_the_ranks(gen):
    src, tgt, gold = toy.plane(100, noise=0)
    x, target = torch.from_numpy(src.vectors), WordMixture(torch.from_numpy(tgt.vectors), 0.05)
    ranks = torch.arange(1, 22)
    naive, ranked = (toy.landscape([toy.rotation(100)], x, target, r)[0] for r in (None, ranks))
    want = target.log_prob(x @ toy.rotation(100), ranks).mean()
    assert ranked == pytest.approx(-float(want)) and ranked != pytest.approx(naive)
