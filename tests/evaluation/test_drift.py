import numpy as np
import pytest
import torch
from conftest import planted

from demalib.config import Config
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.evaluation.drift import changed_words, neighbour_recall
from demalib.pair import Mapping, make_pair, retrievers


@pytest.fixture
def models(rng):
    """An old model and a new one, turned; five words have moved to where others are."""
    old, new, turn = planted(rng, n=300, d=16, shared=300)
    vectors = new.vectors.copy()
    vectors[[10, 20, 30, 40, 50]] = new.vectors[[20, 30, 40, 50, 10]]
    new = Embedding(new.words, vectors, "bb")
    pair = make_pair(old, new, normalisation=())
    return Mapping.orthogonal(turn, pair, Config("aa-bb")), pair


def test_words_that_moved_come_first(models):
    table = changed_words(*models)
    assert set(table["word"][:5]) == {"both10", "both20", "both30", "both40", "both50"}
    assert table["p_self"][4] < 0.01 < 0.5 < table["p_self"][5] and len(table) == 300
    moved = table.set_index("word").loc["both20"]
    assert moved["nearest"] == "both10" and moved["rank"] == moved["rank_there"] == 21


def test_the_score_is_the_softmax_of_cosines(models):
    mapping, pair = models
    found, _ = retrievers(mapping, pair)
    want = torch.softmax(found.mapped @ found.targets.T / 0.01, dim=1).diagonal().numpy()
    table = changed_words(mapping, pair).sort_values("rank")
    np.testing.assert_allclose(table["p_self"], want, atol=1e-5)


def test_a_search_survives_a_good_map_and_no_other(models):
    mapping, pair = models
    kept = np.array([[i, i] for i in range(100, 300)])
    shares = neighbour_recall(mapping, pair, kept)
    assert shares.shape == (200,) and shares.mean() > 0.9
    assert neighbour_recall(mapping, pair).mean() < shares.mean()
    none = Mapping.orthogonal(torch.eye(16), pair, Config("aa-bb"))
    assert neighbour_recall(none, pair, kept).mean() < 0.2


def test_a_search_is_judged_by_the_new_models_own_neighbours(models):
    """A map that re-weights the new model's space cannot choose what is right."""
    mapping, pair = models
    flat = torch.diag(torch.tensor([1.0] * 2 + [1e-3] * 14))  # only two dimensions count
    weighted = Mapping.of(mapping.W_xy @ flat, flat, pair, mapping.config, P_y=flat, P_x=flat)
    assert neighbour_recall(weighted, pair).mean() < 0.5 < neighbour_recall(mapping, pair).mean()


def test_models_without_a_common_word_are_an_error(models):
    mapping, pair = models
    other = make_pair(
        pair.src, Embedding([f"x{w}" for w in pair.tgt.words], pair.tgt.vectors, "bb")
    )
    with pytest.raises(DataError, match="no word in common"):
        changed_words(mapping, other)
