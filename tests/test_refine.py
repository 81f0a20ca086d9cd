import numpy as np
import pytest
import torch
from conftest import planted

from demalib.config import Config
from demalib.files import DataError
from demalib.lexicon import Lexicon
from demalib.mapping import make_pair
from demalib.pipeline import follow_refinement
from demalib.refine import (
    MODES,
    best_partners,
    fit_identical,
    fit_procrustes,
    induce_dictionary,
    iter_refine,
    procrustes,
    refine,
)


def test_procrustes_recovers_a_planted_rotation(gen):
    a = torch.randn(30, 8, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(8, 8, generator=gen, dtype=torch.float64))
    W = procrustes(a, a @ q)
    torch.testing.assert_close(W, q)
    torch.testing.assert_close(W @ W.T, torch.eye(8, dtype=torch.float64))


def test_procrustes_beats_any_other_rotation(gen):
    a, b = torch.randn(2, 30, 4, generator=gen, dtype=torch.float64)
    best = (a @ procrustes(a, b) - b).norm()
    for _ in range(50):
        q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
        assert (a @ q - b).norm() >= best


def test_dictionary_modes_nest(gen):
    x, y = torch.randn(2, 60, 5, generator=gen)
    found = {
        mode: {tuple(p) for p in induce_dictionary(x, y, mode, 50, 5).tolist()} for mode in MODES
    }
    assert found["mutual"] == found["s2t"] & found["t2s"]
    assert found["union"] == found["s2t"] | found["t2s"]
    assert len(found["s2t"]) == len(found["t2s"]) == 50
    assert max(max(pair) for pair in found["union"]) < 50
    with pytest.raises(DataError, match="use one of s2t, t2s, union, mutual"):
        induce_dictionary(x, y, "both")


def test_a_dictionary_is_the_best_csls_match(gen):
    x, y = (torch.nn.functional.normalize(s, dim=1) for s in torch.randn(2, 40, 5, generator=gen))
    cos = x @ y.T
    csls = 2 * cos - cos.topk(10, 1).values.mean(1, keepdim=True) - cos.topk(10, 0).values.mean(0)
    found = induce_dictionary(x, y, "s2t")
    assert found[:, 1].tolist() == csls.argmax(dim=1).tolist()
    assert induce_dictionary(x, y, "t2s")[:, 0].tolist() == csls.argmax(dim=0).tolist()


def test_few_identical_words_and_refinement_find_the_rotation(rng):
    src, tgt, q = planted(rng, n=800, d=20, noise=0.05, shared=22)
    pair = make_pair(src, tgt)
    truth = torch.arange(800)

    def hits(rounds):
        W = fit_identical(pair, Config(solver="identical", refinements=rounds)).W_xy
        return int(((pair.x @ W) @ pair.y.T).argmax(dim=1).eq(truth).sum())

    assert hits(10) >= 799 and hits(10) >= hits(0)


def test_every_round_is_solved_on_the_dictionary_of_the_last(rng):
    src, tgt, _ = planted(rng, n=300, d=10, noise=0.3, shared=12)
    pair, config = make_pair(src, tgt), Config(dictionary="s2t")
    start = W = fit_identical(pair, Config(refinements=0)).W_xy
    for new, found in iter_refine(pair, start, config, 3):
        assert found.equal(induce_dictionary(pair.x @ W, pair.y, "s2t"))
        torch.testing.assert_close(new, procrustes(pair.x[found[:, 0]], pair.y[found[:, 1]]))
        W = new
    torch.testing.assert_close(refine(pair, start, config, 3), W)
    assert refine(pair, start, config, 0) is start


def test_refinement_is_followed_from_the_start(rng):
    src, tgt, _ = planted(rng, n=800, d=20, noise=0.05, shared=12)
    pair, lexicon = make_pair(src, tgt), Lexicon([(f"src{i}", f"tgt{i}") for i in range(300, 400)])
    start = fit_identical(pair, Config(refinements=0)).W_xy
    frame = follow_refinement(pair, start, Config(), 3, lexicon)
    assert frame["round"].tolist() == [0, 1, 2, 3]
    assert frame["gain"].tolist() == pytest.approx((frame["p@1"] - frame["p@1"][0]).tolist())
    assert frame["p@1"][3] == 1 and frame["gain_low"][3] > 0 and frame["p@1"][0] < 1
    assert np.isnan(frame["pairs"][0]) and frame["judged"][3] == frame["right"][3] == 100


def test_each_direction_learns_from_its_own_lexicon(rng):
    src, tgt, q = planted(rng)
    right = Lexicon([(f"src{i}", f"tgt{i}") for i in range(200, 300)])
    wrong = Lexicon([(f"tgt{i}", f"src{i + 1}") for i in range(200, 300)])
    config = Config(solver="procrustes")
    mapping = fit_procrustes(make_pair(src, tgt, right, wrong), config)
    alone = fit_procrustes(make_pair(src, tgt, right), config)
    torch.testing.assert_close(mapping.W_xy, alone.W_xy)
    torch.testing.assert_close(alone.W_yx, alone.W_xy.T)
    assert not torch.allclose(mapping.W_yx, alone.W_yx, atol=0.1)


def test_what_is_missing_is_said(rng):
    src, tgt, _ = planted(rng, shared=0)
    with pytest.raises(DataError, match="share 0 words"):
        fit_identical(make_pair(src, tgt), Config())
    with pytest.raises(DataError, match="learns from a dictionary"):
        fit_procrustes(make_pair(src, tgt), Config(solver="procrustes"))
    with pytest.raises(DataError, match="aa has 16 dimensions, bb has 3"):
        make_pair(src, type(tgt)(tgt.words, np.ones((600, 3), np.float32), "bb"))


def test_best_partners_are_those_of_the_whole_table_and_the_first_of_equal_ones(gen):
    scores = torch.randint(0, 6, (9, 7), generator=gen).double()  # many are equal
    tiles = [(part, scores[part]) for part in (slice(0, 4), slice(4, 8), slice(8, 9))]
    found = best_partners(tiles)
    want = (scores.amax(dim=1), *(scores.numpy().argmax(axis=axis) for axis in (1, 0)))
    for ours, theirs in zip(found, want, strict=True):
        assert ours.tolist() == theirs.tolist()
