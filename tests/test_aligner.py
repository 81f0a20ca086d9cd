from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import planted
from torch.nn.functional import normalize

from demalib import aligner, em, trial
from demalib.aligner import _held_out, fit, start_from
from demalib.config import Config
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.hints import Lexicon
from demalib.pair import make_pair, retrievers
from demalib.procrustes import orthogonal_factor, procrustes
from demalib.solvers import align


def right(mapping, pair, reverse=False):
    """The share of words whose best translation is the word of the same row."""
    retriever = retrievers(mapping, pair)[reverse]
    best = (retriever.mapped @ retriever.targets.T).argmax(dim=1)
    return float(best.eq(torch.arange(len(best))).float().mean())


def lexicon(pair_words, n, start=0):
    src, tgt = pair_words
    return Lexicon([(src.words[i], tgt.words[i]) for i in range(start, start + n)], "made")


def test_a_handful_of_identical_words_is_enough(rng):
    src, tgt, _ = planted(rng, n=1500, d=20, noise=0.1, shared=12)  # fewer than dimensions
    pair = make_pair(src, tgt)
    assert right(align(pair, Config(ablate="density")), pair) < 0.5
    mapping = align(pair, Config())
    assert right(mapping, pair) > 0.99 and right(mapping, pair, reverse=True) > 0.99
    assert torch.equal(mapping.W_xy, align(pair, Config(seed=1)).W_xy)  # nothing is random
    history = mapping.history
    assert len(history) == sum(phase.rounds for phase in em.SCHEDULE)
    assert {"sigma2", "log_prob", "candidates", "criterion", "matched"} <= set(history.columns)
    assert history["criterion"].iloc[-1] > history["criterion"].iloc[0]


@pytest.mark.parametrize("known", [15, 300])
def test_a_dictionary_is_used_and_the_rest_is_found(rng, known):
    src, tgt, _ = planted(rng, n=1500, d=20, noise=0.1, shared=0)
    pair = make_pair(src, tgt, lexicon((src, tgt), known))
    mapping = align(pair, Config())
    assert right(mapping, pair) > 0.99
    assert mapping.info["hints"]["lexicon"] == known
    plain = align(pair, Config(solver="procrustes"))
    assert right(mapping, pair) >= right(plain, pair)


def test_even_a_few_known_pairs_are_evidence(rng, monkeypatch):
    """Fewer than EM can start from, and no other hint."""
    src, tgt, _ = planted(rng, n=400, d=10, noise=0.1, shared=0)
    given, plain = [], em.anneal
    monkeypatch.setattr(
        em,
        "anneal",
        lambda x, y, W, known=None, **options: (
            given.append(known) or plain(x, y, W, known, **options)
        ),
    )
    align(make_pair(src, tgt, lexicon((src, tgt), 5)), Config(hints="none"))
    assert [len(known) for known in given] == [5]


def test_many_translations_of_one_word_are_no_start(rng, monkeypatch):
    src, tgt, _ = planted(rng, n=400, d=10, noise=0.1, shared=0)
    shapes, plain = [], aligner.climb
    monkeypatch.setattr(aligner, "climb", lambda *args: shapes.append(1) or plain(*args))
    one_word = Lexicon([(src.words[3], tgt.words[j]) for j in range(12)], "made")
    align(make_pair(src, tgt, one_word), Config(hints="none"))
    assert len(shapes) == 1
    align(make_pair(src, tgt, lexicon((src, tgt), 12)), Config(hints="none"))
    assert len(shapes) == 1


def test_everything_known_is_nearly_procrustes(rng):
    src, tgt, _ = planted(rng, n=400, d=10, noise=0.3, shared=0)
    pair = make_pair(src, tgt, lexicon((src, tgt), 400))
    mapping = align(pair, Config(last="orthogonal"))
    torch.testing.assert_close(mapping.W_xy, procrustes(pair.x, pair.y), atol=0.005, rtol=0)


def test_nothing_known_beyond_spelling_is_plain_em_from_confirmed_words(rng):
    src, tgt, _ = planted(rng, n=400, d=10, noise=0.3, shared=50)
    pair, config = make_pair(src, tgt), Config(last="orthogonal", hints="identical")
    mapping = align(pair, config)
    hints, none, (x, y) = pair.hints(config), torch.empty(0, 2, dtype=torch.long), (pair.x, pair.y)
    _, _, soft, _ = _held_out(hints.rows, none.numpy())
    quick = em.anneal(x, y, start_from(x, y, hints.only(soft), none), schedule=trial.QUICK)
    good = hints.only(trial.confirmed(quick.W, x, y, hints.rows))
    want = em.anneal(x, y, start_from(x, y, good, none)).W
    torch.testing.assert_close(mapping.W_xy, want, atol=0, rtol=0)


def test_wrong_hints_do_not_spoil_the_start(rng, monkeypatch):
    src, tgt, _ = planted(rng, n=1500, d=20, noise=0.3, shared=0)
    pair, wrong = make_pair(src, tgt), rng.permutation(300)
    rows = np.array([(i, i if i % 3 == 0 else 400 + wrong[i]) for i in range(300)])
    pair, seen = replace(pair, identical=rows), []
    real = aligner.start_from
    monkeypatch.setattr(
        aligner, "start_from", lambda x, y, hints, *a: seen.append(hints) or real(x, y, hints, *a)
    )
    assert right(align(pair, Config(hints="identical")), pair) > 0.9
    first, last = (np.mean(hints.rows[:, 0] == hints.rows[:, 1]) for hints in seen)
    assert first < 0.4 and last > 0.9


def test_each_direction_learns_from_its_own_lexicon(rng, monkeypatch):
    src, tgt, _ = planted(rng, n=300, d=8, noise=0.1, shared=0)
    forward, back = lexicon((src, tgt), 60), lexicon((tgt, src), 60, start=100)
    pair, seen = make_pair(src, tgt, forward, back), []
    real = aligner.fit_one
    monkeypatch.setattr(
        aligner, "fit_one", lambda side, *a: seen.append(side.train.min()) or real(side, *a)
    )
    assert right(fit(pair, Config()), pair, reverse=True) > 0.95
    assert seen == [0, 100]
    seen.clear()
    fit(make_pair(src, tgt, forward), Config())
    assert seen == [0]  # one lexicon, one fit


def test_held_out_pairs_share_no_word_with_the_rest():
    rows = np.array([(i, (7 * i) % 101) for i in range(100)])
    known = np.array([(i, i) for i in range(60)])
    kind, held, soft, rest = _held_out(rows, known)
    assert kind == "pairs of the lexicon" and len(held) == 6
    for used in (rows[soft], rest):
        assert len(used) and not np.isin(used[:, 0], held[:, 0]).any()
        assert not np.isin(used[:, 1], held[:, 1]).any()
    kind, held, soft, rest = _held_out(rows, known[:20])
    assert kind == "words of like spelling" and len(held) == 25


def test_the_verdict_flags_shuffled_vectors(rng):
    src, tgt, _ = planted(rng, n=1500, d=20, noise=0.3, shared=400)
    good = align(make_pair(src, tgt), Config())
    assert good.info["verdict"]["answer"] == "yes"
    spoiled = Embedding(tgt.words, rng.permutation(tgt.vectors), tgt.lang)
    assert align(make_pair(src, spoiled), Config()).info["verdict"]["answer"] == "no"


def test_without_any_hint_the_shapes_give_the_start(rng):
    """A space with structure and its noised rotation: no word is spelled the same."""
    centres = 3 * rng.standard_normal((40, 12))
    x = centres[rng.integers(0, 40, 1200)] * rng.gamma(2, 1, (1200, 1)) + rng.standard_normal(
        (1200, 12)
    )
    q, _ = np.linalg.qr(rng.standard_normal((12, 12)))
    y = x @ q + 0.01 * rng.standard_normal(x.shape)
    src = Embedding([f"a{i}" for i in range(1200)], x.astype("f4"), "aa")
    tgt = Embedding([f"z{i * 7 + 5000}" for i in range(1200)], y.astype("f4"), "bb")
    pair = make_pair(src, tgt)
    mapping = align(pair, Config())
    assert mapping.info["hints"]["identical"] == 0
    assert right(mapping, pair) > 0.9
    assert mapping.info["verdict"]["answer"] == "doubtful"  # too few words to tell


def test_ablations(rng):
    src, tgt, _ = planted(rng, n=200, d=6, shared=20)
    pair = make_pair(src, tgt)
    assert right(align(pair, Config(ablate="prior")), pair) > 0.9
    first, second = (align(pair, Config(ablate="identical", seed=s)).history for s in (0, 1))
    assert first["moved"].iloc[0] != second["moved"].iloc[0]  # a start of its own for each seed
    with pytest.raises(DataError, match="no part 'cycle' to ablate"):
        align(pair, Config(ablate="cycle"))
    with pytest.raises(DataError, match="unknown last 'first'"):
        align(pair, Config(last="first"))


def test_hints_can_be_switched_off(rng):
    src, tgt, _ = planted(rng, n=200, d=6, shared=20)
    pair = make_pair(src, tgt)
    assert pair.hints(Config(hints="cognates")).counts == {"cognates": 0}
    assert pair.hints(Config(hints="none")).counts == {}
    assert pair.hints(Config()).counts["identical"] == 20
    with pytest.raises(DataError, match="unknown hint spelling; use any of identical"):
        align(pair, Config(hints="spelling"))


def test_fewer_words_where_memory_is_short(rng, monkeypatch):
    src, tgt, q = planted(rng, n=600, noise=0.05)
    monkeypatch.setattr(em, "free_bytes", lambda _: 4 * 300**2)
    with pytest.warns(UserWarning, match="room for 300, which are used"):
        mapping = align(make_pair(src, tgt), Config(last="orthogonal"))
    assert set(mapping.history["words"]) == {300}
    torch.testing.assert_close(orthogonal_factor(mapping.W_xy), q, atol=0.05, rtol=0)


def test_an_exact_copy_is_found_whatever_the_last_step(rng):
    src, tgt, _ = planted(rng, n=300, d=8, noise=0.0, shared=30)
    pair = make_pair(src, tgt)
    for last in aligner.LAST:
        mapping = align(pair, Config(last=last))
        x = normalize(pair.x @ mapping.W_xy)
        assert x.isfinite().all() and right(mapping, pair) == 1


def test_an_e_step_that_reads_keeps_what_is_found_and_counts_its_rounds_on(rng, monkeypatch):
    src, tgt, _ = planted(rng, n=1500, d=20, noise=0.1, shared=60)
    pair, seen, used = make_pair(src, tgt), [], []
    anneal = em.anneal

    def spy(*args, partners=None, **options):
        used.append(partners and partners.row[partners.row >= 0].tolist())
        return anneal(*args, partners=partners, **options)

    monkeypatch.setattr(em, "anneal", spy)
    mapping = align(pair, Config(reads=True), watch=lambda at, *maps: seen.append(at) or {})
    assert right(mapping, pair) > 0.99
    assert [bool(some) for some in used] == [False, True, False, True]  # wide, narrow; twice
    assert 0 < len(used[1]) < len(used[3]) == 60  # held-out words do not teach the trial
    rounds = mapping.history["round"].tolist()
    assert seen == rounds and mapping.history["seconds"].is_monotonic_increasing
    assert rounds == list(range(1, len(align(pair, Config()).history) + 1))
    assert not torch.equal(mapping.W_xy, align(pair, Config()).W_xy)
