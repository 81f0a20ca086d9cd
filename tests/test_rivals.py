from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import planted
from torch.nn.functional import normalize

from demalib.config import Config
from demalib.files import DataError
from demalib.lexicon import Lexicon
from demalib.mapping import candidates, make_pair
from demalib.pipeline import retrievers
from demalib.refine import orthogonal_factor, procrustes
from demalib.retrieval import METRICS
from demalib.rivals import artetxe17, geomm, msf, rcsls, shared, shigeto, xing
from demalib.solvers import SOLVERS

LEARNERS = [name for name, rival in SOLVERS.items() if rival.hint == "train"]


def lexicon(first=200, last=300, shift=0):
    return Lexicon([(f"src{i}", f"tgt{i + shift}") for i in range(first, last)])


def run(name, src, tgt, train=None, back=None):
    """A rival on its own normalisation and settings."""
    rival = SOLVERS[name]
    pair = make_pair(src, tgt, train, back, steps=rival.steps)
    return pair, rival.fit(pair, Config())


def hits(mapped, targets):
    """The part of the planted pairs that are nearest neighbours."""
    cosine = normalize(mapped, dim=1) @ normalize(targets, dim=1).T
    return float(cosine.argmax(dim=1).eq(torch.arange(len(mapped))).float().mean())


@pytest.mark.parametrize("name", LEARNERS)
def test_a_planted_rotation_is_found_both_ways(name, rng):
    src, tgt, _ = planted(rng, noise=0.1)
    pair, mapping = run(name, src, tgt, lexicon())
    assert hits(pair.x @ mapping.W_xy, candidates(pair.y, mapping.C_y)) > 0.99
    assert hits(pair.y @ mapping.W_yx, candidates(pair.x, mapping.C_x)) > 0.99
    way, metric = retrievers(mapping, pair)[0], SOLVERS[name].metric
    best = way.translate(torch.arange(600), metric, 1)[1]
    assert float(best[:, 0].eq(torch.arange(600)).float().mean()) > 0.99


@pytest.mark.parametrize("name", LEARNERS)
def test_same_input_same_map(name, rng):
    src, tgt, _ = planted(rng)
    _, first = run(name, src, tgt, lexicon())
    _, again = run(name, src, tgt, lexicon())
    assert torch.equal(first.W_xy, again.W_xy) and torch.equal(first.W_yx, again.W_yx)
    assert first.W_xy.dtype == torch.float32 and first.W_xy.shape == (16, 16)


@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if not s.seeded])
def test_a_seed_changes_nothing_where_it_is_said_not_to_matter(name, rng):
    src, tgt, _ = planted(rng)
    solver = SOLVERS[name]
    pair = make_pair(src, tgt, lexicon(), steps=solver.steps)
    first, other = (solver.fit(pair, Config(seed=seed)) for seed in (0, 1))
    assert torch.equal(first.W_xy, other.W_xy) and torch.equal(first.W_yx, other.W_yx)


@pytest.mark.parametrize("name", LEARNERS)
def test_each_direction_learns_from_its_own_lexicon(name, rng):
    src, tgt, _ = planted(rng)
    _, alone = run(name, src, tgt, lexicon())
    _, mixed = run(name, src, tgt, lexicon(), lexicon(shift=1).reverse())
    torch.testing.assert_close(mixed.W_xy, alone.W_xy)
    if name not in ("artetxe17", "procrustes-r"):  # these recover from a wrong lexicon, or drift
        back = [(m.W_yx if m.C_x is None else m.W_yx @ m.C_x.T) for m in (mixed, alone)]
        assert not torch.allclose(*back, atol=0.02)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "artetxe17"])
def test_a_missing_lexicon_is_said(name, rng):
    src, tgt, _ = planted(rng)
    with pytest.raises(DataError, match="learns from a dictionary"):
        run(name, src, tgt)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_table_is_whole(name):
    rival = SOLVERS[name]
    assert rival.paper and rival.metric.name in METRICS and set(rival.steps) <= {"unit", "center"}


def test_msf_needs_as_many_words_as_dimensions(rng):
    src, tgt, _ = planted(rng)
    with pytest.raises(DataError, match="msf needs 16 different words .* aa-bb lexicon, it has 15"):
        run("msf", src, tgt, lexicon(200, 215))


def test_msf_is_its_steps_one_by_one(gen):
    a, b = torch.randn(2, 60, 5, generator=gen, dtype=torch.float64)
    b = b + a
    (white_x, colour_x), (white_y, colour_y) = msf.whitening(a), msf.whitening(b)
    torch.testing.assert_close(white_x @ a.T @ a @ white_x, torch.eye(5, dtype=a.dtype))
    u, s, vt = torch.linalg.svd(white_x @ a.T @ b @ white_y)
    x, y = a @ white_x @ u, b @ white_y @ vt.T  # S1, S2
    y = y * s  # S3
    x, y = x @ u.T @ colour_x @ u, y @ vt @ colour_y @ vt.T  # S4
    P_x, P_y = msf.spaces(a, b)
    torch.testing.assert_close(a @ P_x, x)
    torch.testing.assert_close(b @ P_y, y)
    assert msf.spaces(a, b, keep=0.6)[1].shape == (5, 3)  # S5


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
    once, again = (geomm.spaces(side, side.train, 10.0)[0] for side in (pair, twice))
    torch.testing.assert_close(once, again)


def test_a_setting_is_chosen_by_held_out_train_words(rng):
    src, tgt, q = planted(rng, noise=0.1)
    pair, seen = make_pair(src, tgt, lexicon()), []
    good, bad = q.float(), torch.eye(16)
    tries = {1.0: lambda some: seen.append(some) or (bad, None), 2.0: lambda some: (good, None)}
    assert shared.choose(pair, pair.train, Config(), tries) == 2.0
    assert len(seen[0]) == 80 and {*map(tuple, seen[0])} < {*map(tuple, pair.train)}
    moved = {3.0: lambda some: (bad, bad), 4.0: lambda some: (bad, good.T)}
    assert shared.choose(pair, pair.train, Config(), moved) == 4.0
    for few in (pair.train[:1], pair.train + 10_000):  # none to hold out, none that is frequent
        assert shared.choose(pair, few, Config(), tries) == 1.0


def test_shigeto_leaves_one_out_as_if_by_hand(gen):
    b = torch.randn(40, 3, generator=gen, dtype=torch.float64)
    a = b @ torch.randn(3, 3, generator=gen, dtype=torch.float64)
    a = a + torch.randn(40, 3, generator=gen, dtype=torch.float64)

    def solve(b, a, penalty):
        return torch.linalg.solve(b.T @ b + penalty * torch.eye(3, dtype=b.dtype), b.T @ a)

    unit = float(torch.linalg.eigvalsh(b.T @ b).mean())
    errors = {}
    for penalty in shigeto.PENALTIES:
        keep = [torch.arange(40) != i for i in range(40)]
        found = [a[i] - b[i] @ solve(b[k], a[k], penalty * unit) for i, k in enumerate(keep)]
        errors[penalty] = float(torch.stack(found).square().sum())
    best = min(errors, key=errors.get)
    torch.testing.assert_close(shigeto.ridge(b, a), solve(b, a, best * unit))


def test_shigeto_ignores_the_scale_of_the_vectors(gen):
    a, b = torch.randn(2, 40, 3, generator=gen, dtype=torch.float64)
    torch.testing.assert_close(shigeto.ridge(5 * b, 5 * a), shigeto.ridge(b, a))


def test_xing_rests_where_the_paper_s_steps_rest(rng):
    src, tgt, _ = planted(rng, noise=0.5)
    pair = make_pair(src, tgt, lexicon(), steps=("unit",))
    W = xing.fit(pair, Config()).W_xy
    gradient = pair.x[pair.train[:, 0]].T @ pair.y[pair.train[:, 1]]
    torch.testing.assert_close(orthogonal_factor(W + 0.1 * gradient), W, atol=1e-5, rtol=0)


def test_artetxe17_needs_few_pairs(rng):
    src, tgt, _ = planted(rng, n=800, d=20, noise=0.05, shared=15)
    pair = make_pair(src, tgt, lexicon(200, 215))
    seed = procrustes(pair.x[pair.train[:, 0]], pair.y[pair.train[:, 1]])
    assert hits(pair.x @ seed, pair.y) < 0.9
    assert hits(pair.x @ artetxe17.fit(pair, Config()).W_xy, pair.y) > 0.99
    pair = make_pair(src, tgt)  # identical words serve as well
    assert hits(pair.x @ artetxe17.fit(pair, Config()).W_xy, pair.y) > 0.99


def test_artetxe17_says_that_it_has_no_seed(rng):
    src, tgt, _ = planted(rng, shared=0)
    with pytest.raises(DataError, match="share 0 words"):
        artetxe17.fit(make_pair(src, tgt), Config())
