from dataclasses import replace

import pytest
import torch
from conftest import lexicon, planted

from demalib.baselines import c1, vecmap
from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import make_pair


def test_no_step_is_vecmap(rng, monkeypatch):
    src, tgt, _ = planted(rng, noise=0.3)
    pair = make_pair(src, tgt, lexicon(200, 300))
    monkeypatch.setattr(
        c1, "SIZES", c1.SIZES._replace(laptop=c1.LAPTOP._replace(steps=0, rounds=1))
    )
    ours, theirs = c1.fit(pair, Config()), vecmap.fit(pair, Config())
    torch.testing.assert_close(ours.W_xy, theirs.W_xy)
    torch.testing.assert_close(ours.P_x, theirs.P_x)


def test_a_lexicon_of_rare_words_alone_is_vecmap(rng, monkeypatch):
    src, tgt, _ = planted(rng, noise=0.3)
    pair = make_pair(src, tgt, lexicon(200, 300))
    monkeypatch.setattr(
        c1, "SIZES", c1.SIZES._replace(laptop=c1.LAPTOP._replace(pool=100, rounds=1))
    )
    torch.testing.assert_close(c1.fit(pair, Config()).W_xy, vecmap.fit(pair, Config()).W_xy)


def written_loss(u, v, pairs, near_y, near_x):
    loss = 0
    for (i, j), ys, xs in zip(pairs, near_y, near_x, strict=True):
        right = u[i] @ v[j]
        wrong = torch.cat([v[ys] @ u[i], u[xs] @ v[j]])
        loss = loss - (right - torch.cat([right[None], wrong]).logsumexp(0))
    return loss / len(pairs)


def test_the_gradient_is_that_of_the_written_loss(gen):
    u, v = torch.randn(2, 30, 4, generator=gen, dtype=torch.float64)
    u, v = u.detach().requires_grad_(), v.detach().requires_grad_()
    pairs = torch.randint(30, (20, 2), generator=gen)  # some words are in several
    near_y, near_x = torch.randint(30, (2, 20, 5), generator=gen)
    want = written_loss(u, v, pairs, near_y, near_x)
    want.backward()
    right = c1.Chosen(torch.cat([pairs[:, 1:], near_y], 1), 30)
    found = c1.loss_and_gradient(u.detach(), v.detach(), pairs, right, c1.Chosen(near_x, 30))
    assert found[0] == pytest.approx(float(want.detach()))
    torch.testing.assert_close(found[1], u.grad)
    torch.testing.assert_close(found[2], v.grad)


def test_a_step_of_both_maps_is_autograds_with_constant_lengths(rng):
    src, tgt, _ = planted(rng, noise=0.3)
    pair = make_pair(src, tgt, lexicon(200, 260))
    pairs = torch.from_numpy(pair.train)
    size = c1.LAPTOP._replace(negatives=5, steps=1, mask=False, rate=0.01)
    A, B = (torch.eye(16) + 0.1 * torch.randn(16, 16) for _ in range(2))
    got = c1.contrast(pair, pairs, (A, B), size)
    A, B = A.requires_grad_(), B.requires_grad_()
    u, v = (m / m.norm(dim=1, keepdim=True).detach() for m in (pair.x @ A, pair.y @ B))
    near_y = c1.near(u.detach()[pairs[:, 0]], v.detach(), pairs[:, 1], 5, None)
    near_x = c1.near(v.detach()[pairs[:, 1]], u.detach(), pairs[:, 0], 5, None)
    written_loss(u, v, pairs, near_y, near_x).backward()
    pace = 0.01 * min(1, c1.CLIP / float((A.grad.square().sum() + B.grad.square().sum()).sqrt()))
    torch.testing.assert_close(got[0], (A - pace * A.grad).detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(got[1], (B - pace * B.grad).detach(), rtol=1e-4, atol=1e-5)


def test_near_words_are_never_the_pair_and_other_translations_only_if_allowed():
    words = torch.nn.functional.normalize(
        torch.tensor([[1.0, 0], [1, 0.1], [1, 0.2], [0, 1]]), dim=1
    )
    pairs = torch.tensor([[0, 0], [0, 1], [3, 3]])  # the first word has two translations
    queries = words[pairs[:, 0]]
    assert c1.near(queries, words, pairs[:, 1], 1, None).tolist() == [[1], [0], [2]]
    gold = c1.same_query(pairs)
    assert {tuple(row) for row in gold.tolist()} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert c1.near(queries, words, pairs[:, 1], 1, gold).tolist() == [[2], [2], [2]]


def test_the_surest_pairs_leave_out_words_of_the_lexicon(rng):
    src, tgt, q = planted(rng, noise=0.05)
    pair = make_pair(src, tgt, lexicon(200, 300))
    seeds = torch.from_numpy(pair.train)
    size = c1.LAPTOP._replace(found=50, ranks=150)
    found = c1.surest_pairs(pair, (q.float(), torch.eye(16)), seeds, size, 10)
    assert 50 <= len(found) <= 100 and int(found.max()) < 150  # noise is small: right pairs only
    assert (found[:, 0] == found[:, 1]).float().mean() > 0.95
    none = c1.surest_pairs(pair, (q.float(), torch.eye(16)), found, size, 10)
    assert not torch.isin(none[:, 0], found[:, 0]).any()


def test_steps_raise_the_share_of_the_right_words(rng):
    src, tgt, q = planted(rng, noise=0.1)
    pair = make_pair(src, tgt, lexicon(200, 400))
    pairs, wrong = torch.from_numpy(pair.train), torch.from_numpy(rng.standard_normal((16, 16)))
    size = c1.LAPTOP._replace(negatives=20, every=1, steps=20, mask=False)

    def loss(A, B):
        u, v = (torch.nn.functional.normalize(m, dim=1) for m in (pair.x @ A, pair.y @ B))
        return c1.loss_and_gradient(u, v, pairs, *c1.choose(u, v, pairs, 20, (None, None)))[0]

    before = ((q + 0.3 * wrong).float(), torch.eye(16))
    assert loss(*c1.contrast(pair, pairs, before, size)) < loss(*before) - 0.05


def test_c1_needs_as_many_words_as_dimensions(rng):
    src, tgt, _ = planted(rng)
    with pytest.raises(DataError, match="c1 needs 16 different words"):
        c1.fit(make_pair(src, tgt, lexicon(200, 215)), Config())
    with pytest.raises(DataError, match="learns from a dictionary"):
        c1.fit(replace(make_pair(src, tgt), train=None), Config())
