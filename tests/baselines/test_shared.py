from dataclasses import replace

import pytest
import torch
from conftest import lexicon, planted, shaped_pair

from demalib.baselines import shared
from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import make_pair


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


def test_the_recipe_chooses_the_size():
    sizes = shared.Sizes(("small",), ("large",))
    assert sizes.of(Config()) == ("small",)
    for recipe in ("paper", "script", "fixed"):
        assert sizes.of(Config(recipe=recipe)) == ("large",)


def test_a_lexicon_is_counted_by_its_different_words(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt, lexicon(200, 210))
    assert shared.train_rows(pair, "msf", 10) is pair.train
    poor = replace(pair, train=pair.train * [1, 0] + [0, 7])  # ten words, one translation
    with pytest.raises(DataError, match="msf needs 2 different words .* aa-bb lexicon, it has 1;"):
        shared.train_rows(poor, "msf", 2)
    with pytest.raises(DataError, match="msf learns from a dictionary and has none for bb-aa"):
        shared.train_rows(replace(pair, train_back=None).swap(), "msf")


def test_vectors_of_a_lexicon_are_those_of_its_pairs(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt, lexicon(200, 210, shift=1))
    a, b = shared.train_vectors(pair, "msf")
    assert a.dtype == b.dtype == torch.float64
    assert torch.equal(a, pair.x[200:210].double()) and torch.equal(b, pair.y[201:211].double())


def test_each_direction_is_learned_on_its_own_side(rng):
    src, tgt, _ = planted(rng)
    asked = []

    def fit_one(side):
        asked.append(side.src.lang)
        return len(asked) * torch.eye(16).double(), None if len(asked) == 1 else torch.eye(16)

    mapping = shared.fit_both_directions(make_pair(src, tgt), Config(), fit_one)
    assert asked == ["aa", "bb"] and mapping.W_xy.dtype == torch.float32
    assert torch.equal(mapping.W_yx, 2 * mapping.W_xy)
    assert mapping.P_y is None and torch.equal(mapping.P_x, torch.eye(16))


def test_a_space_needs_more_words_than_dimensions(rng):
    shared.require_words(shaped_pair(rng, n=6, d=5), "muse")
    with pytest.raises(DataError, match="muse .* needs more than 5 words per side .* aa has 5"):
        shared.require_words(shaped_pair(rng, n=5, d=5), "muse")


def test_layers_are_drawn_from_the_generator_within_the_usual_bounds():
    made = [shared.seeded_layers((4, 9, 2), torch.Generator().manual_seed(s)) for s in (0, 0, 1)]
    first, again, other = ([w for layer in m for w in layer.parameters()] for m in made)
    assert [tuple(w.shape) for w in first] == [(9, 4), (9,), (2, 9), (2,)]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    for weight, bound in zip(first, (0.5, 0.5, 1 / 3, 1 / 3), strict=True):
        assert 0.5 * bound < weight.abs().max() <= bound
