from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import lexicon, planted
from torch.nn.functional import normalize

from demalib.config import Config
from demalib.errors import DataError
from demalib.flow import Maps
from demalib.hints import Lexicon
from demalib.pair import Mapping, make_pair, retrievers
from demalib.solvers import align


@pytest.fixture
def fitted(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt)
    return src, pair, align(pair, Config(refinements=2))


def test_both_sides_are_normalised_as_asked(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt)
    assert (
        pair.src.normalisation.steps == pair.tgt.normalisation.steps == ("unit", "center", "unit")
    )
    np.testing.assert_array_equal(pair.y.numpy(), tgt.normalise().vectors)
    raw = make_pair(src, tgt, normalisation=())
    np.testing.assert_array_equal(raw.x.numpy(), src.vectors)


def test_hints_are_what_both_sides_share_without_the_test(rng):
    src, tgt, _ = planted(rng, shared=20)
    train = Lexicon([("src30", "tgt31"), ("src32", "tgt32")], "train")
    pair = make_pair(src, tgt, train, exclude=Lexicon([("both3", "both3")], "test"))
    assert pair.identical[:, 0].tolist() == [0, 1, 2, *range(4, 20)]
    assert pair.train.tolist() == [[30, 31], [32, 32]]
    assert pair.train_back.tolist() == [[31, 30], [32, 32]]
    back = make_pair(src, tgt, train, Lexicon([("tgt50", "src70")], "back")).train_back
    assert back.tolist() == [[50, 70]]


def test_a_swapped_pair_has_everything_the_other_way_round(rng):
    src, tgt, _ = planted(rng, shared=20)
    back = Lexicon([("tgt51", "src50")], "back")
    pair = make_pair(src, tgt, Lexicon([("src30", "tgt31")], "train"), back)
    swapped = pair.swap()
    assert (swapped.src.lang, swapped.tgt.lang) == ("bb", "aa")
    assert torch.equal(swapped.x, pair.y) and torch.equal(swapped.y, pair.x)
    assert swapped.identical.tolist() == [[j, i] for i, j in pair.identical.tolist()]
    assert (swapped.train.tolist(), swapped.train_back.tolist()) == ([[51, 50]], [[30, 31]])


def test_the_hint_is_of_the_most_frequent_identical_words_and_none_if_ablated(rng):
    src, tgt, _ = planted(rng, shared=20)
    pair = make_pair(src, tgt)
    v_x, v_y = pair.hint(Config(max_identical=5))
    assert torch.equal(v_x, pair.x[:5]) and torch.equal(v_y, pair.y[:5])
    assert len(pair.hint(Config())[0]) == 20
    assert [len(v) for v in pair.hint(Config(ablate="identical"))] == [0, 0]


def test_the_error_for_too_few_identical_words_says_what_to_do(rng):
    src, tgt, _ = planted(rng, shared=3)
    pair = make_pair(src, tgt)
    assert pair.require_identical(3) is pair.identical
    with pytest.raises(DataError, match="share 3 words .* at least 4 .*--lexicon"):
        pair.require_identical(4)


def test_transform_maps_raw_words_as_training_did(fitted):
    src, pair, mapping = fitted
    want = normalize(pair.x @ mapping.W_xy, dim=1).numpy()
    np.testing.assert_allclose(mapping.transform(src.vectors), want, atol=1e-5)
    np.testing.assert_allclose(mapping.transform(src.vectors[3]), want[3:4], atol=1e-5)


def test_transform_refuses_another_dimension(fitted):
    with pytest.raises(DataError, match="16 dimensions, the vectors 5"):
        fitted[2].transform(np.ones((1, 5)))


def test_transform_of_the_other_direction_has_the_means_of_the_target(rng):
    src, tgt, _ = planted(rng)
    shifted = replace(tgt, vectors=tgt.vectors + 3)
    pair = make_pair(src, shifted)
    mapping = align(pair, Config(solver="identical", refinements=0))
    want = normalize(pair.y @ mapping.W_yx, dim=1).numpy()
    np.testing.assert_allclose(mapping.transform(shifted.vectors, reverse=True), want, atol=1e-5)


def test_retrievers_compare_in_the_space_that_the_mapping_means(rng, gen):
    src, tgt, _ = planted(rng, n=50)
    pair, maps = make_pair(src, tgt), torch.randn(4, 16, 16, generator=gen)
    W_xy, W_yx, P_y, P_x = maps
    mapping = Mapping.of(W_xy, W_yx, pair, Config(), P_y=P_y, P_x=P_x)
    forward, backward = retrievers(mapping, pair, 7)
    for found, mapped, targets in (
        (forward, pair.x @ W_xy, pair.y @ P_y),
        (backward, pair.y @ W_yx, pair.x @ P_x),
    ):
        torch.testing.assert_close(found.mapped, normalize(mapped, dim=1))
        torch.testing.assert_close(found.targets, normalize(targets, dim=1))
        assert found.knn == 7
    plain = retrievers(Mapping.of(W_xy, W_yx, pair, Config()), pair)[0]
    torch.testing.assert_close(plain.targets, normalize(pair.y, dim=1))


def test_a_mapping_remembers_its_pair_its_settings_and_its_history(rng, gen):
    src, tgt, _ = planted(rng, n=50)
    pair, W = make_pair(src, tgt), torch.randn(16, 16, generator=gen)
    config, history = Config(seed=7).replace(steps=9), pd.DataFrame({"round": [1, 2]})
    mapping = Mapping.of_maps(Maps(W, 2 * W, history), pair, config)
    assert (mapping.info["src"], mapping.info["tgt"], mapping.config) == ("aa", "bb", config)
    assert torch.equal(mapping.W_xy, W) and torch.equal(mapping.W_yx, 2 * W)
    assert mapping.history.equals(history) and mapping.src_norm is pair.src.normalisation
    turned = Mapping.orthogonal(W, pair, config)
    assert torch.equal(turned.W_yx, W.T) and turned.W_yx.is_contiguous()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"W_yx": torch.eye(15)}, "not of one dimension"),
        ({"P_x": torch.eye(15)}, "not of one dimension"),
        ({"W_xy": torch.full((16, 16), torch.nan)}, "NaN"),
        ({"W_xy": torch.eye(16).int()}, "NaN or infinity, or nothing"),
        ({"W_xy": torch.eye(0), "W_yx": torch.eye(0)}, "dimension|nothing"),
    ],
)
def test_maps_that_do_not_fit_together_are_noticed(change, says, fitted):
    fitted[2].check()
    with pytest.raises(ValueError, match=says):
        replace(fitted[2], **change).check()


def test_a_missing_mean_is_noticed(fitted):
    norm = replace(fitted[2].src_norm, means=())
    with pytest.raises(ValueError, match="a mean is missing"):
        replace(fitted[2], src_norm=norm).check()


def test_what_a_notebook_shows_of_them_is_one_line(rng):
    src, tgt, W = planted(rng)
    pair = make_pair(src, tgt, lexicon())
    assert repr(src) == "<Embedding aa: 600 words, d = 16, not normalised>"
    assert repr(pair.tgt) == "<Embedding bb: 600 words, d = 16, unit-center-unit>"
    assert repr(pair) == "<Pair aa-bb: 600 and 600 words, d = 16, 100 identical, 100 train pairs>"
    mapping = Mapping.orthogonal(W, pair, Config("aa-bb"))
    assert repr(mapping) == "<Mapping aa-bb: solver em, seed 0, d = 16>"
