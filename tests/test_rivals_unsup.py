import numpy as np
import pytest
import torch

from demalib.config import Config
from demalib.files import DataError
from demalib.mapping import make_pair
from demalib.pipeline import retrievers
from demalib.refine import induce_dictionary
from demalib.rivals import muse, nonadv, selflearn, sinkhorn, wsprocrustes
from demalib.solvers import SOLVERS
from demalib.vectors import Embedding

OURS = ("em", "em+gradient", "gradient")
NAMES = [n for n, solver in SOLVERS.items() if solver.hint != "train" and n not in OURS]


def shaped(rng, n=300, d=5, angle=1.0, noise=0.005, shared=30):
    """Two spaces with a shape: skewed along axes of different lengths, then turned by an angle."""
    x = (rng.gamma(0.7, size=(n, d)) - 0.7) * np.geomspace(2, 0.5, d)
    turn = rng.standard_normal((d, d))
    turn = torch.from_numpy(turn - turn.T)
    q = torch.matrix_exp(angle * turn / torch.linalg.matrix_norm(turn, 2)).numpy()
    y = x @ q + noise * rng.standard_normal((n, d))
    words = [
        [f"both{i}" if i < shared else f"{side}{i}" for i in range(n)] for side in ("src", "tgt")
    ]
    return make_pair(
        Embedding(words[0], x.astype(np.float32), "aa"),
        Embedding(words[1], y.astype(np.float32), "bb"),
    )


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Seconds instead of minutes; a step is a larger part of the way in 5 dimensions than in 300."""
    monkeypatch.setattr(muse, "LAPTOP", muse.Size(300, 32, 2, 120, 0.3))
    monkeypatch.setattr(muse, "SPREAD", 1.0)
    monkeypatch.setattr(selflearn, "LAPTOP", selflearn.Size(300, 4, 20))
    monkeypatch.setattr(sinkhorn, "LAPTOP", sinkhorn.Size(300, 80, 3, 40, 40))
    monkeypatch.setattr(sinkhorn, "RATE", 2e-2)
    monkeypatch.setattr(sinkhorn, "random_orthogonal", lambda d, _: torch.eye(d))
    monkeypatch.setattr(nonadv, "LAPTOP", nonadv.Size(300, 6, 15, 300, 5, 300, 5))
    monkeypatch.setattr(nonadv, "AXES", 3)
    monkeypatch.setattr(nonadv, "RESTARTS", 10)
    monkeypatch.setattr(nonadv, "BATCH", 32)
    monkeypatch.setattr(wsprocrustes, "LAPTOP", wsprocrustes.Size(200, 20, 20))
    monkeypatch.setattr(wsprocrustes, "BATCH", 100)


def run(name, pair, **settings):
    return SOLVERS[name].fit(pair, Config(**settings))


def hits(mapping, pair, metric):
    """P@1 of the planted pairs, the worse of both directions."""
    out = []
    for way in retrievers(mapping, pair):
        rows = torch.arange(len(way.mapped))
        best = way.translate(rows, metric, 1)[1][:, 0]
        out.append(float(best.eq(rows).float().mean()))
    return min(out)


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_turn_is_found_both_ways(name, rng):
    pair = shaped(rng)
    mapping = run(name, pair)
    assert hits(mapping, pair, SOLVERS[name].metric) > 0.97
    assert mapping.W_xy.dtype == torch.float32 and mapping.W_xy.shape == (5, 5)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("muse", "sinkhorn")])
def test_any_turn_is_found_where_nothing_adversarial_is_trained(name, rng):
    pair = shaped(rng, angle=3.0)
    assert hits(run(name, pair), pair, SOLVERS[name].metric) > 0.97


@pytest.mark.parametrize("name", [n for n in NAMES if n != "non-adv-r"])
def test_same_seed_same_map(name, rng):
    pair = shaped(rng, n=150)
    first, again = (run(name, pair, seed=3) for _ in range(2))
    assert torch.equal(first.W_xy, again.W_xy) and torch.equal(first.W_yx, again.W_yx)


@pytest.mark.parametrize("name", [n for n in NAMES if SOLVERS[n].hint == "none"])
def test_too_few_words_are_refused(name, rng):
    with pytest.raises(DataError, match=r"needs more than 5 words a side.*aa has 5"):
        run(name, shaped(rng, n=5))


@pytest.mark.parametrize("name", [n for n in NAMES if SOLVERS[n].hint == "identical"])
def test_missing_identical_words_are_named(name, rng):
    with pytest.raises(DataError, match="share 0 words"):
        run(name, shaped(rng, shared=0))


def test_sizes_of_the_paper_are_clamped_to_the_vocabulary(rng, monkeypatch):
    pair = shaped(rng, n=150)
    monkeypatch.setattr(selflearn, "PUBLISHED", selflearn.PUBLISHED._replace(patience=2))
    monkeypatch.setattr(wsprocrustes, "PUBLISHED", wsprocrustes.PUBLISHED._replace(steps=20))
    for name in ("sl-unsup", "ws-procrustes"):
        assert hits(run(name, pair, recipe="paper"), pair, SOLVERS[name].metric) > 0.97


def test_a_transport_plan_has_uniform_sums(gen):
    plan = sinkhorn.transport(torch.rand(6, 4, generator=gen, dtype=torch.float64), 10.0, 200)
    torch.testing.assert_close(plan.sum(dim=1), torch.full((6,), 1 / 6, dtype=torch.float64))
    torch.testing.assert_close(plan.sum(dim=0), torch.full((4,), 1 / 4, dtype=torch.float64))


def test_a_sharp_plan_is_the_cheapest_assignment(gen):
    cost = torch.rand(5, 5, generator=gen, dtype=torch.float64)
    order = torch.tensor([3, 0, 4, 1, 2])
    cost[torch.arange(5), order] -= 1.0
    plan = 5 * sinkhorn.transport(cost, 50.0, 200)
    torch.testing.assert_close(plan[torch.arange(5), order], torch.ones(5, dtype=torch.float64))


def test_the_convex_start_takes_the_gradient_of_its_objective(gen, monkeypatch):
    x, y = torch.randn(2, 9, 3, generator=gen, dtype=torch.float64)
    seen = []
    monkeypatch.setattr(wsprocrustes, "assign", lambda g: seen.append(g) or g)
    wsprocrustes.convex_start(x, y, 1)
    a, b = wsprocrustes.root_spectrum(x), wsprocrustes.root_spectrum(y)
    K_x, K_y = a @ a.T, b @ b.T
    K_y = K_y * K_x.norm() / K_y.norm()
    P = torch.full((9, 9), 1 / 9, dtype=torch.float64, requires_grad=True)
    (want,) = torch.autograd.grad((K_x @ P - P @ K_y).square().sum() / 2, P)
    torch.testing.assert_close(seen[0], want)


def test_similarity_profiles_ignore_rotation_and_order(gen):
    x = torch.randn(20, 4, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
    order = torch.randperm(20, generator=gen)
    want = selflearn.similarity_profiles(x)[order]
    torch.testing.assert_close(selflearn.similarity_profiles((x @ q)[order]), want)


def test_every_score_seen_gives_the_best_of_both_sides(gen):
    x, y = (torch.nn.functional.normalize(s, dim=1) for s in torch.randn(2, 40, 5, generator=gen))
    found, objective = selflearn.chance_dictionary(x, y, 1.0, 10, gen)
    want = torch.cat([induce_dictionary(x, y, mode) for mode in ("s2t", "t2s")])
    assert found.tolist() == want.tolist()
    cosine = x @ y.T
    assert objective == pytest.approx(float(cosine.amax(1).mean() + cosine.amax(0).mean()) / 2)
    some, _ = selflearn.chance_dictionary(x, y, 0.1, 10, gen)
    assert 0 < int((some != found).any(dim=1).sum()) <= 80


def test_self_learning_counts_a_pair_twice_that_is_the_best_of_both_sides(rng):
    pair = shaped(rng, n=150)
    start = torch.from_numpy(pair.require_identical().copy())
    found = selflearn.self_learn(pair, start, Config())
    assert len(found) == 300 and len(torch.unique(found, dim=0)) < 200


def test_reweighting_of_a_rotated_copy_keeps_every_cosine(gen):
    a = torch.randn(50, 4, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
    P_x, P_y = selflearn.spaces(a, a @ q)
    torch.testing.assert_close(a @ P_x @ P_y.T @ (a @ q).T, a @ a.T)


def test_the_orthogonal_update_moves_towards_rotations(gen):
    W = torch.eye(4) + 0.1 * torch.randn(4, 4, generator=gen)
    before = (W @ W.T - torch.eye(4)).norm()
    for _ in range(2000):
        W = muse.orthogonalise(W)
    assert (W @ W.T - torch.eye(4)).norm() < 1e-3 * before


def test_nearest_images_by_euclidean_distance(gen):
    points, others = torch.randn(2, 3, 11, 4, generator=gen)
    want = torch.cdist(points, others).argmin(dim=2)
    assert torch.equal(nonadv.nearest(points, others), want)
