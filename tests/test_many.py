import numpy as np
import pytest
import torch

from demalib import align_many
from demalib.alignment import translate
from demalib.config import Config
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.hints import Lexicon
from demalib.pair import make_pair, retrievers
from demalib.solvers import align


def right(mapping, pair):
    """The share of words of like row that are each other's best."""
    retriever = retrievers(mapping, pair)[0]
    best = (retriever.mapped @ retriever.targets.T).argmax(dim=1)
    return float(best.eq(torch.arange(len(best))).float().mean())


def test_languages_without_a_common_word_meet_in_the_hub(languages):
    space = align_many(languages)
    assert space.info["hub"] == "aa" and space.langs == ("aa", "bb", "cc")
    mapping, pair = space.between("bb", "cc")
    assert not len(pair.identical) and right(mapping, pair) > 0.9
    assert translate(mapping, pair, "bb300", k=1)["translation"].item() == "cc300"


def test_the_order_of_the_languages_changes_nothing_but_the_frame(languages):
    one, other = align_many(languages), align_many(languages[::-1])
    for src, tgt in (("aa", "bb"), ("bb", "cc")):
        scores = []
        for space in (one, other):
            retriever = retrievers(*space.between(src, tgt))[0]
            scores.append(retriever.mapped @ retriever.targets.T)
        torch.testing.assert_close(*scores, atol=1e-3, rtol=0)


def test_two_languages_give_the_two_language_result(languages):
    for last in ("orthogonal", "contrastive"):
        config = Config("aa-bb", vectors="files", last=last)
        mapping, pair = align_many(languages[:2], config).between("aa", "bb")
        alone = align(make_pair(*languages[:2]), config)
        got, want = (retrievers(m, pair)[0] for m in (mapping, alone))
        torch.testing.assert_close(
            got.mapped @ got.targets.T, want.mapped @ want.targets.T, atol=2e-3, rtol=0
        )


def test_every_pair_has_a_verdict(languages, rng):
    space = align_many(languages, hub="aa")
    answers = {name: facts["verdict"]["answer"] for name, facts in space.info["pairs"].items()}
    assert answers["aa-bb"] == "yes" and answers["aa-cc"] == "yes"
    assert answers["bb-cc"] == "doubtful"  # nothing to judge by
    noise = Embedding(languages[1].words, rng.standard_normal((800, 16)).astype(np.float32), "bb")
    spoiled = align_many([languages[0], noise, languages[2]], hub="aa").info["pairs"]
    assert spoiled["aa-bb"]["verdict"]["answer"] == "no"


def test_a_dictionary_of_one_pair_is_used(languages):
    pairs = [(f"cc{i}", f"bb{i}") for i in range(200, 260)]
    space = align_many(languages, lexicons={("cc", "bb"): Lexicon(pairs, "given")})
    assert space.info["pairs"]["bb-cc"]["hints"]["lexicon"] == 60


def test_errors_say_what_to_do(languages):
    with pytest.raises(DataError, match="two languages or more"):
        align_many(languages[:1])
    with pytest.raises(DataError, match="name of its own"):
        align_many([languages[0], languages[0]])
    space = align_many(languages)
    with pytest.raises(DataError, match="no language 'dd'.*aa, bb, cc"):
        space.between("aa", "dd")
    with pytest.raises(DataError, match="another language"):
        space.between("aa", "aa")
