import numpy as np
import pytest
import torch

from demalib import align_many
from demalib.alignment import translate
from demalib.config import Config
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.hints import Lexicon
from demalib.many import _taught
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


def test_a_pair_is_not_judged_by_words_that_the_hub_has_taught(rng):
    """Words of one spelling in all languages: bb and cc meet in aa, even where all is noise."""
    noise = [
        Embedding(
            [f"w{i}" for i in range(600)],
            rng.standard_normal((600, 100)).astype(np.float32),
            lang,
        )
        for lang in ("aa", "bb", "cc")
    ]
    pairs = [(f"w{i}", f"w{i}") for i in range(600)]
    taught = {("aa", other): Lexicon(pairs, "given") for other in ("bb", "cc")}
    verdict = align_many(noise, hub="aa", lexicons=taught).info["pairs"]["bb-cc"]["verdict"]
    assert verdict["answer"] == "doubtful" and not verdict["queries"]


def test_words_count_as_taught_if_they_share_a_partner_in_a_third_language():
    used = {
        (0, 1): np.array([[7, 0], [8, 1], [9, 2]]),  # hub and first
        (0, 2): np.array([[7, 5], [8, 6]]),
        (1, 2): np.empty((0, 2), int),
        (0, 3): np.array([[9, 3]]),
        (1, 3): np.empty((0, 2), int),
        (2, 3): np.array([[4, 3]]),  # a lexicon of two that are not the hub
    }
    rows = np.array([[0, 5], [0, 6], [1, 6], [2, 5], [2, 4]])
    assert _taught(rows, (1, 2), used).tolist() == [True, False, True, False, False]
    assert _taught(np.array([[2, 3], [2, 4]]), (1, 3), used).tolist() == [True, False]
    assert _taught(rows[:0], (1, 2), used).tolist() == []


def test_lexicons_of_both_directions_are_joined(languages):
    one, other = (Lexicon([(f"{a}{i}", f"{b}{i}") for i in some], "given")
                  for a, b, some in (("bb", "cc", range(200, 230)), ("cc", "bb", range(220, 260))))  # fmt: skip
    space = align_many(languages, lexicons={("bb", "cc"): one, ("cc", "bb"): other})
    assert space.info["pairs"]["bb-cc"]["hints"]["lexicon"] == 60


def test_facts_of_a_pair_are_found_whatever_the_names(languages):
    names = ("zh-yue", "en", "fr")
    space = align_many(
        [Embedding(s.words, s.vectors, n) for s, n in zip(languages, names, strict=True)]
    )
    for src, tgt in (("zh-yue", "en"), ("en", "zh-yue"), ("fr", "zh-yue")):
        assert "verdict" in space.between(src, tgt)[0].info


@pytest.mark.parametrize(
    "settings", [{"ablate": "density"}, {"pairing": "sum"}, {"reads": True}, {"last": "free"}]
)
def test_settings_for_two_languages_are_refused(languages, settings):
    with pytest.raises(DataError, match="for two languages"):
        align_many(languages, Config("aa-bb", vectors="files", **settings))


def test_errors_say_what_to_do(languages):
    for given in (
        {"lexicons": {("aa", "dd"): Lexicon([])}},
        {"exclude": {("a", "b"): Lexicon([])}},
    ):
        with pytest.raises(DataError, match="two of aa, bb, cc are wanted"):
            align_many(languages, **given)
    with pytest.raises(DataError, match="two languages or more"):
        align_many(languages[:1])
    with pytest.raises(DataError, match="name of its own"):
        align_many([languages[0], languages[0]])
    space = align_many(languages)
    with pytest.raises(DataError, match="no language 'dd'.*aa, bb, cc"):
        space.between("aa", "dd")
    with pytest.raises(DataError, match="another language"):
        space.between("aa", "aa")
