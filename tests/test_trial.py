import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from demalib import trial
from demalib.finish import Finished
from demalib.trial import Verdict, agree, choose_last, give_verdict, hold_out, interval, positions


def test_a_tenth_is_held_out_evenly_by_source_word():
    rows = np.array([(i, j) for i in range(200) for j in (i, i + 1)])
    out = hold_out(rows, 10)
    words = np.unique(rows[out, 0])
    assert len(words) == 20 and set(np.diff(words)) == {10}
    assert out.sum() == 40  # all pairs of a word together


def test_rare_words_are_not_held_out_and_not_too_many(monkeypatch):
    rows = np.stack([np.arange(0, 30_000, 10)] * 2, 1)
    assert rows[hold_out(rows, 4)].max() < trial.WORDS
    monkeypatch.setattr(trial, "MOST", 50)
    assert 40 <= hold_out(rows, 4).sum() <= 50


def planted(gen, n=60, d=16):
    x = normalize(torch.randn(n, d, generator=gen))
    q, _ = torch.linalg.qr(torch.randn(d, d, generator=gen))
    return x, x @ q, q


def test_positions_of_both_directions(gen):
    x, y, q = planted(gen)
    rows = np.stack([np.arange(10), np.arange(10)], 1)
    assert positions(Finished(q, q.T), x, y, rows).tolist() == [1] * 20
    wrong = positions(Finished(q, q.T), x, y.flip(0), rows)
    assert (wrong == 11).mean() > 0.5
    several = np.concatenate(
        [rows, (rows + np.array([0, 1])) % 10]
    )  # another right answer for each word
    assert (positions(Finished(q, q.T), x, y, several) == 1).all()


def test_the_usual_step_stands_unless_another_is_clearly_better():
    usual = np.array([1] * 50 + [5] * 50)
    better, luckier, worse = usual.copy(), usual.copy(), usual.copy()
    better[50:70], luckier[50:52], worse[:20] = 1, 1, 3
    assert choose_last({"usual": usual, "luckier": luckier, "worse": worse}) == "usual"
    assert choose_last({"usual": usual, "luckier": luckier, "better": better}) == "better"
    assert choose_last({"usual": usual}) == "usual"
    few = {"usual": np.array([2] * 7), "lucky": np.array([1] * 7)}
    assert choose_last(few) == "usual"  # seven words show nothing


def test_the_interval_is_wilsons():
    assert interval(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert interval(0.0, 20)[0] == 0 and interval(0.0, 20)[1] == pytest.approx(0.161, abs=1e-3)
    assert interval(0.5, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ([1] * 30 + [11] * 70, "yes"),
        ([11] * 99 + [1], "no"),
        ([11] * 92 + [4] * 8, "doubtful"),
        ([1] * 3 + [11] * 7, "yes"),
        ([1, 1, 1], "doubtful"),  # too few to say
    ],
)
def test_verdicts(gen, found, answer):
    x, y, q = planted(gen)
    verdict = give_verdict(Finished(q, q.T), x, y, "pairs of the lexicon", np.array(found))
    assert verdict.answer == answer and verdict.criterion > verdict.by_chance
    text = str(verdict)
    assert text.startswith(f"{answer}: ")
    assert ("too few hints" in text) == (len(found) < trial.FEWEST)
    assert Verdict(**verdict.to_dict()) == verdict


def test_two_halves_agree_on_a_right_start_only(gen, monkeypatch):
    x, y, q = planted(gen, n=800, d=16)
    assert agree(x, y, q) is None  # too few words
    monkeypatch.setattr(trial, "HALVED", 800)
    assert agree(x, y, q) > 0.9
    other, _ = torch.linalg.qr(torch.randn(16, 16, generator=gen))
    assert agree(x, torch.randn(800, 16, generator=gen), other) < trial.DIFFER


@pytest.mark.parametrize(
    ("agreement", "answer"), [(0.6, "yes"), (0.2, "yes"), (0.17, "doubtful"), (0.1, "no")]
)
def test_the_verdict_by_agreement(gen, agreement, answer):
    x, y, q = planted(gen)
    verdict = give_verdict(Finished(q, q.T), x, y, "", np.empty(0), agreement)
    assert verdict.answer == answer
    assert f"{agreement:.0%} of frequent words the same translation" in str(verdict)
    assert Verdict(**verdict.to_dict()) == verdict
