import pytest
import torch
from torch.nn.functional import normalize

from demalib import contrastive
from demalib.contrastive import contrastive_step, share_weight
from demalib.finish import Evidence, symmetric_step


def posterior_loss(x, y, P_x, P_y, pairs):
    u, v = normalize(x @ P_x), normalize(y @ P_y)
    logits = u @ v.T / contrastive.TEMPERATURE
    rows, columns = logits.log_softmax(1), logits.log_softmax(0)
    return -float((rows + columns)[pairs[:, 0], pairs[:, 1]].mean())


def test_the_contrastive_step_raises_the_posteriors_of_known_pairs(gen):
    x, y = (normalize(torch.randn(200, 20, generator=gen)) for _ in range(2))
    known = torch.stack([torch.arange(150), torch.arange(150)], 1)
    start = symmetric_step(Evidence.of_pairs(x[:150], y[:150]))
    ends = contrastive_step([x, y], start, {(0, 1): known})
    before, after = (posterior_loss(x, y, *maps, known) for maps in (start, ends))
    assert after < before - 0.2
    again = contrastive_step([x, y], start, {(0, 1): known})
    assert all(torch.equal(a, b) for a, b in zip(ends, again, strict=True))  # nothing is random


def test_the_loss_of_a_pair_is_minus_its_log_posterior(gen):
    """Against all wrong words: other right answers of a word are not among them."""
    points, words = (normalize(torch.randn(6, 4, generator=gen)) for _ in range(2))
    right = (points * words).sum(1) / contrastive.TEMPERATURE
    pairs = torch.tensor([[i, i] for i in range(6)] + [[2, 0], [2, 5], [4, 1]])
    logits = points @ words.T / contrastive.TEMPERATURE
    for part in range(contrastive.PARTS):
        inside = list(range(part, 6, contrastive.PARTS))
        answers = contrastive._right(torch.arange(6), pairs, part)
        loss = contrastive._surprise(right, points, words[inside], answers)
        for i in range(6):
            wrong = [j for j in inside if [i, j] not in pairs.tolist()]
            expected = -logits[i, [i, *wrong]].log_softmax(0)[0]
            assert float(loss[i]) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)


def test_a_pair_that_is_known_and_found_counts_once_and_other_found_ones_stay(gen):
    x = normalize(torch.randn(40, 8, generator=gen))
    known = torch.tensor([[0, 0], [1, 7]])  # the second is not what the vectors say
    rows, weights = contrastive._pairs(x, x, known)
    assert rows[:2].tolist() == known.tolist() and (weights[:2] == contrastive.KNOWN_WEIGHT).all()
    assert rows[2:].tolist() == [[i, i] for i in range(1, 40)] and (weights[2:] == 1).all()


def test_a_known_pair_of_rare_words_is_no_found_pair(gen, monkeypatch):
    """Found pairs are of frequent words; known ones may be of any."""
    monkeypatch.setattr(contrastive, "FOUND", 20)
    x = normalize(torch.randn(20, 8, generator=gen))
    rows, _ = contrastive._pairs(x, x, torch.tensor([[5, 26]]))  # 5 * 20 + 26 is 6 * 20 + 6
    assert rows[1:].tolist() == [[i, i] for i in range(20)]


def test_the_first_step_follows_the_gradient_of_the_formula(gen, monkeypatch):
    """Adam's first step is the sign of the gradient, here of the plain formula, word by word."""
    monkeypatch.setattr(contrastive, "STEPS", 1)
    monkeypatch.setattr(contrastive, "PARTS", 1)
    x, y = (normalize(torch.randn(n, 6, generator=gen).double()) for n in (30, 40))
    known = torch.tensor([[i, (7 * i + 3) % 40] for i in range(30)] + [[2, 0], [9, 0], [9, 5]])
    start = [torch.eye(6, dtype=torch.float64)] * 2
    rows, weights = contrastive._pairs(x, y, known)
    P_x, P_y = (P.clone().requires_grad_() for P in start)
    logits = normalize(x @ P_x) @ normalize(y @ P_y).T / contrastive.TEMPERATURE
    loss, right = 0.0, {tuple(pair) for pair in rows.tolist()}
    for (i, j), w in zip(rows.tolist(), weights.tolist(), strict=True):
        for line, k, one in (
            (logits[i], j, lambda n, i=i: (i, n)),
            (logits[:, j], i, lambda n, j=j: (n, j)),
        ):
            against = [n for n in range(len(line)) if n == k or one(n) not in right]
            loss = loss - w * (line[k] - line[against].logsumexp(0))
    loss.backward()
    ends = contrastive_step([x, y], start, {(0, 1): known})
    for end, P in zip(ends, (P_x, P_y), strict=True):
        moved = end - start[0]  # unit vectors: the scale of the start is 1
        torch.testing.assert_close(moved, -contrastive.RATE * P.grad.sign(), atol=1e-6, rtol=0)


def test_every_pair_of_a_large_dictionary_is_in_a_step(gen, monkeypatch):
    """And in every step all right answers are known, those of other steps too."""
    seen, plain = set(), contrastive._right

    def watched(words, pairs, part):
        seen.update(words.tolist())
        assert len(pairs) == 200
        return plain(words, pairs, part)

    monkeypatch.setattr(contrastive, "BATCH", 4)
    monkeypatch.setattr(contrastive, "_right", watched)
    x = normalize(torch.randn(200, 20, generator=gen))
    known = torch.stack([torch.arange(200)] * 2, 1)  # 50 batches of four, and 20 steps
    contrastive_step([x, x], [torch.eye(20)] * 2, {(0, 1): known})
    assert seen == set(range(200))


def test_a_step_has_a_bound_and_more_steps_are_taken_instead(gen, monkeypatch):
    sizes, seen, plain = [], set(), contrastive._right

    def watched(words, pairs, part):
        sizes.append(len(words))
        seen.update(words.tolist())
        return plain(words, pairs, part)

    monkeypatch.setattr(contrastive, "BATCH", 2)
    monkeypatch.setattr(contrastive, "MOST", 5)
    monkeypatch.setattr(contrastive, "_right", watched)
    x = normalize(torch.randn(200, 20, generator=gen))
    known = torch.stack([torch.arange(200)] * 2, 1)  # at most five of 200 in a step: 40 steps
    contrastive_step([x, x], [torch.eye(20)] * 2, {(0, 1): known})
    assert seen == set(range(200)) and max(sizes) == 5 and len(sizes) == 2 * 40


def test_a_known_word_counts_once_however_many_translations_it_has():
    pairs = torch.tensor([[0, 5], [0, 6], [0, 7], [1, 8], [2, 9], [3, 9], [4, 0], [4, 9]])
    want = [1 / 3, 1 / 3, 1 / 3, 1, 1 / 3, 1 / 3, 1 / 2, 1 / 3]
    torch.testing.assert_close(share_weight(pairs), torch.tensor(want, dtype=torch.float64))
    for side in pairs.T:
        counted = torch.bincount(side, weights=share_weight(pairs))
        assert (counted <= 1 + 1e-9).all()
    assert len(share_weight(pairs[:0])) == 0


def test_languages_that_are_linked_improve_and_others_stay(gen):
    sides = [normalize(torch.randn(200, 20, generator=gen)) for _ in range(3)]
    known = torch.stack([torch.arange(150), torch.arange(150)], 1)
    start = [torch.eye(20) for _ in sides]
    ends = contrastive_step(sides, start, {(0, 2): known})
    losses = [posterior_loss(sides[0], sides[2], P[0], P[2], known) for P in (start, ends)]
    assert losses[1] < losses[0]
    torch.testing.assert_close(normalize(ends[1]), start[1])  # only its scale
