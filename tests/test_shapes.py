import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from demalib import shapes
from demalib.em import start_map
from demalib.procrustes import orthogonal_factor
from demalib.shapes import climb, compare_shapes, similarity_profiles


@pytest.fixture
def spaces(rng):
    """Words in clusters of many sizes, and a noised rotation of them: rows are translations."""
    centres = 3 * rng.standard_normal((40, 12))
    x = centres[rng.integers(0, 40, 1200)] * rng.gamma(2, 1, (1200, 1))
    x = normalize(torch.from_numpy(x + rng.standard_normal(x.shape)).float())
    q = torch.from_numpy(np.linalg.qr(rng.standard_normal((12, 12)))[0]).float()
    noise = 0.003 * torch.from_numpy(rng.standard_normal(x.shape)).float()
    return x, normalize(x @ q + noise), q


def test_profiles_ignore_rotation_and_order(gen):
    x = torch.randn(50, 8, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(8, 8, generator=gen, dtype=torch.float64))
    order = torch.randperm(50, generator=gen)
    torch.testing.assert_close(similarity_profiles((x @ q)[order]), similarity_profiles(x)[order])


def test_profiles_are_sorted_similarities(gen):
    x = torch.randn(50, 8, generator=gen, dtype=torch.float64)
    u, s, _ = torch.linalg.svd(x, full_matrices=False)
    rows = normalize(((u * s) @ u.T).sort(dim=1).values, dim=1)
    want = normalize(rows - rows.mean(dim=0), dim=1)
    torch.testing.assert_close(similarity_profiles(x), want)
    places = torch.tensor([0, 3, 49])
    assert similarity_profiles(x, places).shape == (50, 3)


def test_a_direction_without_variance_does_no_harm(gen):
    x = torch.randn(50, 8, generator=gen)
    x[:, 3] = 0
    assert similarity_profiles(x).isfinite().all()


@pytest.mark.parametrize("n", [2, 5, 1000, 8000])
def test_places_are_dense_at_both_ends(n):
    places = shapes._places(n)
    assert places[0] == 0 and places[-1] == n - 1 and places.diff().gt(0).all()
    assert torch.equal(places, (n - 1 - places).flip(0))
    if n == 8000:
        assert len(places) < 600 and torch.equal(places[:10], torch.arange(10))


def test_the_start_is_made_of_the_mixtures_weights(spaces, monkeypatch):
    """Written out with a table of all pairs."""
    x, y, _ = (side[:200] for side in spaces)
    a, b = (similarity_profiles(side, shapes._places(200)) for side in (x, y))
    monkeypatch.setattr(shapes, "choose_sigma2", lambda *_: 0.2)
    rank = torch.arange(1, 201).log() / 2
    logits = a @ b.T / 0.2 - (rank[:, None] - rank).abs()
    g = (logits.softmax(dim=1) * logits.softmax(dim=0)).sqrt()
    want = start_map(x.T @ g @ y)
    torch.testing.assert_close(compare_shapes(x, y), want, rtol=1e-3, atol=1e-3)


def test_the_climb_finds_the_rotation(spaces):
    x, y, q = spaces
    W = orthogonal_factor(climb(x, y))
    assert float((x @ W * (x @ q)).sum(dim=1).mean()) > 0.98
    torch.testing.assert_close(climb(x, y), climb(x, y), rtol=0, atol=0)  # nothing is random


def test_the_climb_ends(spaces, monkeypatch):
    x, y, _ = spaces
    calls = []
    real = shapes.anneal
    monkeypatch.setattr(shapes, "anneal", lambda *a, **k: calls.append(1) or real(*a, **k))
    climb(x, y.flip(0)[:900])
    assert 2 <= len(calls) <= shapes.PASSES
