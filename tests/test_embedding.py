from collections import Counter

import numpy as np
import pytest

from demalib.embedding import Embedding, Policy, explain_unknown
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
    with pytest.raises(DataError, match="'lower', 'turkish' or 'keep'"):
        Policy(case="upper")
    with pytest.raises(DataError, match="max_vocab"):
        Policy(max_vocab=-1)


def test_words_and_vectors_that_do_not_fit_are_refused():
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
