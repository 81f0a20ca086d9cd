import numpy as np
import pytest
from conftest import planted

from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.hints import FEW_IDENTICAL, KINDS, Lexicon, gather_hints, identical_pairs


@pytest.fixture
def lexicon():
    return Lexicon([("a", "A"), ("a", "A2"), ("b", "A"), ("oov", "B")], "toy", {"lines": 4})


def test_a_query_has_all_its_translations_and_reversing_asks_from_the_other_side(lexicon):
    assert lexicon.gold == {"a": {"A", "A2"}, "b": {"A"}, "oov": {"B"}}
    assert lexicon.reverse().gold == {"A": {"a", "b"}, "A2": {"a"}, "B": {"oov"}}
    assert lexicon.reverse().reverse().pairs == lexicon.pairs
    assert lexicon.reverse().report == lexicon.report and "toy" in lexicon.reverse().name


def test_rows_are_of_pairs_that_both_vocabularies_have_in_the_order_of_the_lexicon(lexicon):
    src = Embedding(["b", "x", "a"], np.eye(3, dtype=np.float32), "xx")
    tgt = Embedding(["B", "A2", "A"], np.eye(3, dtype=np.float32), "yy")
    assert lexicon.rows(src, tgt).tolist() == [[2, 2], [2, 1], [0, 2]]
    assert lexicon.reverse().rows(tgt, src).tolist() == [[2, 2], [1, 2], [2, 0]]


def test_no_pair_in_the_vocabularies_is_an_error():
    emb = Embedding(["x"], np.ones((1, 2), np.float32), "xx")
    with pytest.raises(DataError, match=r"none of its 1 pairs \(cat - chat, ...\)"):
        Lexicon([("cat", "chat")], "toy").rows(emb, emb)


def test_identical_words_without_those_of_the_test(rng):
    src, tgt, _ = planted(rng, shared=5)
    assert identical_pairs(src, tgt).tolist() == [[i, i] for i in range(5)]
    test = Lexicon([("both2", "both2"), ("both3", "tgt9")])
    assert identical_pairs(src, tgt, exclude=test)[:, 0].tolist() == [0, 1, 3, 4]
    assert len(identical_pairs(src, tgt, limit=2)) == 2
    other = Embedding(["none"], np.ones((1, 16), np.float32))
    assert identical_pairs(src, other).shape == (0, 2)


def test_identical_words_are_in_the_order_of_the_source(rng):
    src, tgt, _ = planted(rng, n=40, shared=10)
    turned = Embedding(tgt.words[::-1], tgt.vectors, "bb")
    rows = identical_pairs(src, turned)
    assert rows[:, 0].tolist() == list(range(10)) and rows[:, 1].tolist() == list(range(39, 29, -1))
    assert all(src.words[i] == turned.words[j] for i, j in rows)


def test_cognates_join_where_identical_words_are_few_or_not_wanted(rng):
    src, tgt, _ = planted(rng, n=FEW_IDENTICAL + 50, shared=FEW_IDENTICAL + 20)
    same, pairs = identical_pairs(src, tgt), np.array([[3, 4]])

    def count(kinds, identical=same, limit=0):
        hints = gather_hints(kinds, identical, src, lambda: (pairs, np.ones(1)), limit)
        return hints.counts["cognates"]

    assert count(KINDS) == 0 and count(KINDS, limit=10) == 0  # a cut list is no short list
    assert count(("cognates",)) == 1 and count(KINDS, same[:9]) == 1
