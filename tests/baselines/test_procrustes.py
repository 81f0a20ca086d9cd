import pytest
import torch
from conftest import planted

from demalib.baselines.procrustes import fit, fit_identical
from demalib.config import Config
from demalib.errors import DataError
from demalib.hints import Lexicon
from demalib.pair import make_pair


def test_few_identical_words_and_refinement_find_the_rotation(rng):
    src, tgt, q = planted(rng, n=800, d=20, noise=0.05, shared=22)
    pair = make_pair(src, tgt)
    truth = torch.arange(800)

    def hits(rounds):
        W = fit_identical(pair, Config(solver="identical", refinements=rounds)).W_xy
        return int(((pair.x @ W) @ pair.y.T).argmax(dim=1).eq(truth).sum())

    assert hits(10) >= 799 and hits(10) >= hits(0)


def test_each_direction_learns_from_its_own_lexicon(rng):
    src, tgt, q = planted(rng)
    right = Lexicon([(f"src{i}", f"tgt{i}") for i in range(200, 300)])
    wrong = Lexicon([(f"tgt{i}", f"src{i + 1}") for i in range(200, 300)])
    config = Config(solver="procrustes")
    mapping = fit(make_pair(src, tgt, right, wrong), config)
    alone = fit(make_pair(src, tgt, right), config)
    torch.testing.assert_close(mapping.W_xy, alone.W_xy)
    torch.testing.assert_close(alone.W_yx, alone.W_xy.T)
    assert not torch.allclose(mapping.W_yx, alone.W_yx, atol=0.1)


def test_a_missing_hint_is_said(rng):
    src, tgt, _ = planted(rng, shared=0)
    with pytest.raises(DataError, match="share 0 words"):
        fit_identical(make_pair(src, tgt), Config())
    with pytest.raises(DataError, match="learns from a dictionary"):
        fit(make_pair(src, tgt), Config(solver="procrustes"))


def test_the_setting_of_refinements_wins_over_the_default(rng):
    src, tgt, _ = planted(rng, n=300, d=10, noise=0.5)
    pair = make_pair(src, tgt, Lexicon([(f"src{i}", f"tgt{i}") for i in range(200, 215)]))
    usual, refined = fit(pair, Config()), fit(pair, Config(), rounds=2)
    assert not torch.allclose(usual.W_xy, refined.W_xy, atol=0.01)
    assert torch.equal(fit(pair, Config(refinements=2)).W_xy, refined.W_xy)
    assert torch.equal(fit(pair, Config(refinements=0), rounds=2).W_xy, usual.W_xy)
