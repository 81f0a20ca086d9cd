from collections import Counter

import numpy as np
import pytest
from conftest import planted

from demalib.embedding import Embedding, Normalisation, Policy, explain_unknown
from demalib.errors import DataError


@pytest.mark.parametrize(
    ("policy", "word", "want", "counted"),
    [
        (Policy(), "Paris", "paris", {}),
        (Policy(case="keep"), "Paris", "Paris", {}),
        (Policy(), "\u00a0", "", {"blank": 1}),
        (Policy(), "\u2009x\u00a0", "x", {}),
        (Policy(), "new\u00a0york", "new_york", {"phrases": 1}),
        (Policy(), "1984", "", {"no_letter": 1}),
        (Policy(tokens="all"), "1984", "1984", {}),
        (Policy(), "a\ufffd", "", {"undecodable": 1}),
        (Policy(), "</s>", "", {"markers": 1}),
        (Policy(tokens="all"), "<unk>", "", {"markers": 1}),
        (Policy(case="keep"), "<PAD>", "", {"markers": 1}),
        (Policy(), "s>", "s>", {}),
        (Policy(), "日本", "日本", {}),
    ],
)
def test_policy(policy, word, want, counted):
    report = Counter()
    assert policy.apply(word, report) == want
    assert report == counted


def test_policy_refuses_unknown_options():
    with pytest.raises(DataError, match="'lower' or 'keep'"):
        Policy(case="upper")
    with pytest.raises(DataError, match="max_vocab"):
        Policy(max_vocab=-1)


def test_normalisation_is_unit_and_nearly_centred(rng):
    emb = Embedding([f"w{i}" for i in range(500)], rng.random((500, 6)).astype(np.float32))
    done = emb.normalise()
    np.testing.assert_allclose(np.linalg.norm(done.vectors, axis=1), 1, rtol=1e-5)
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(done.normalisation.means[0], unit.mean(axis=0), rtol=1e-4)


def test_new_words_get_the_mean_of_the_training_words(rng):
    src, _, _ = planted(rng)
    done = src.normalise()
    np.testing.assert_allclose(done.normalisation.apply(src.vectors), done.vectors, atol=1e-6)
    one = done.normalisation.apply(src.vectors[7:8])  # alone, it must not be its own mean
    np.testing.assert_allclose(one[0], done.vectors[7], atol=1e-6)


def test_normalising_twice_remembers_both(rng):
    src, _, _ = planted(rng)
    once = src.normalise(("unit", "center", "unit", "center", "unit"))
    twice = src.normalise(("unit", "center", "unit")).normalise(("center", "unit"))
    np.testing.assert_allclose(once.vectors, twice.vectors, atol=1e-6)
    assert twice.normalisation.steps == once.normalisation.steps
    np.testing.assert_allclose(twice.normalisation.apply(src.vectors), once.vectors, atol=1e-6)


def test_zero_vectors_stay_finite():
    emb = Embedding(["a", "b"], np.zeros((2, 3), np.float32))
    assert np.isfinite(emb.normalise().vectors).all()


def test_unknown_step_and_misfit():
    with pytest.raises(DataError, match="unknown step 'whiten'"):
        Normalisation(("whiten",)).apply(np.ones((1, 2)))
    with pytest.raises(DataError, match="do not fit"):
        Embedding(["a"], np.ones((2, 2)))


@pytest.mark.parametrize(
    ("typed", "row"),
    [
        ("Été", 0),
        ("E\u0301te\u0301", 0),
        (" été ", 1),
        ("ÉTÉ", 1),
        ("new york", 2),
        ("e\u0301", 3),
        ("E\u0301", 3),
        ("\u00e9", None),
    ],
)
def test_a_typed_word_is_found_in_the_spelling_of_the_vocabulary(typed, row):
    side = Embedding(["Été", "été", "new_york", "e\u0301"], np.eye(4, dtype=np.float32), "fr")
    assert side.find(typed) == row


def test_an_unknown_word_is_explained():
    fr = Embedding(["chien", "chiens"], np.eye(2, dtype=np.float32), "fr")
    en = Embedding(["dog", "chef"], np.eye(2, dtype=np.float32), "en")
    said = "'Chein' is not among the 2 words of fr; similar spellings: chien, chiens"
    assert explain_unknown("Chein", fr, en) == said
    said = "it is a word of en: translate in the other direction; no similar spelling"
    assert explain_unknown("dog", fr, en).endswith(said)
