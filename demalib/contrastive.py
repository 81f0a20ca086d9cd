"""The contrastive step: raise the posteriors of pairs of words, in two languages or more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from demalib.procrustes import induce_dictionary

POOL, PARTS = 12_000, 2  # words a pair must stand out from; every second one in turn
TEMPERATURE = 0.06  # the variance of the mixtures whose posteriors rise
STEPS, RATE = 20, 1e-3  # Adam's, for two languages
BATCH, MOST = 512, 4096  # pairs in a step: more than the first where some would be in none
FOUND = 10_000  # most frequent words whose mutual best pairs join the known ones
KNOWN_WEIGHT = 4.0  # a known word counts as much as this many that EM is sure of

Link = tuple[int, int]  # two languages, by number


def contrastive_step(
    sides: Sequence[Tensor], maps: Sequence[Tensor], known: Mapping[Link, Tensor]
) -> list[Tensor]:
    r"""Raise the posteriors of pairs against all frequent words, in both directions.

    For two linked languages, with :math:`u = xP_x/\|xP_x\|` and :math:`v = yP_y/\|yP_y\|`, it
    descends

    .. math:: -\sum_{ij} w_{ij} \left[\log\frac{e^{u_i \cdot v_j/\sigma^2}}{\sum_k e^{u_i \cdot
        v_k/\sigma^2}} + \log\frac{e^{u_i \cdot v_j/\sigma^2}}{\sum_k e^{u_k \cdot v_j/\sigma^2}}
        \right]

    by some steps of Adam over all maps: the responsibilities of Eq. 9 without its prior, as
    an objective. Pairs are the known ones and the mutual best ones of the start under CSLS. The
    sums over k leave out the other translations of a word, so that none is pushed away for
    another's sake. A step takes a stride of the pairs, so that each pair is in one, and every second
    frequent word, those of even and of odd rank in turn. A pair may so meet only half of these words;
    meeting all of them changed P@1 on train words by -0.3 to +0.1 points. Where more than two languages are linked, the mean over all links is
    descended, and the number of steps grows with that of languages: each map has more links to serve.

    Args:
        sides: Words of each language by rank, ``(N, d)``.
        maps: The start of each language's map :math:`P`, ``(d, d)``.
        known: Row numbers of known pairs, ``(K, 2)``, for every link; K may be 0.

    Returns:
        The maps. Nothing is random: batches are strides of the list of pairs.
    """
    pairs = {
        (a, b): _pairs(sides[a][:FOUND] @ maps[a], sides[b][:FOUND] @ maps[b], some)
        for (a, b), some in known.items()
    }
    pairs = {link: found for link, found in pairs.items() if len(found[0])}
    scales = [(side[:POOL] @ P).norm(dim=1).mean() for side, P in zip(sides, maps, strict=True)]
    ends = [(P / scale).requires_grad_() for P, scale in zip(maps, scales, strict=True)]
    optimizer = torch.optim.Adam(ends, lr=RATE)
    batches = {
        link: max(min(STEPS, -(-len(rows) // BATCH)), -(-len(rows) // MOST))
        for link, (rows, _) in pairs.items()
    }
    for step in range(max(STEPS * len(sides) // 2, *batches.values()) if pairs else 0):
        part = step % PARTS
        pools = [
            normalize(side[part:POOL:PARTS] @ P, dim=1) for side, P in zip(sides, ends, strict=True)
        ]
        losses = []
        for (a, b), (rows, weights) in pairs.items():
            chosen = slice(step % batches[a, b], None, batches[a, b])
            (i, j), w = rows[chosen].T, weights[chosen]
            u, v = (normalize(sides[k][r] @ ends[k], dim=1) for k, r in ((a, i), (b, j)))
            right = (u * v).sum(1) / TEMPERATURE
            loss = _surprise(right, u, pools[b], _right(i, rows, part))
            loss = loss + _surprise(right, v, pools[a], _right(j, rows.flip(1), part))
            losses.append((w * loss).sum() / w.sum())
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return [P.detach() for P in ends]


def _pairs(a: Tensor, b: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Join known pairs and the mutual best ones of two languages' words, ``(n, d)`` and ``(m, d)``.

    Returns:
        Row numbers, ``(K, 2)``, each pair once, and weights, ``(K,)``.
    """
    found = induce_dictionary(a, b, "mutual", FOUND)
    both = torch.cat([known, found])
    width = 1 + int(both.max())  # known words may be rarer than all of b
    one, other = (pairs[:, 0] * width + pairs[:, 1] for pairs in (found, known))
    pairs = torch.cat([known, found[~torch.isin(one, other)]])
    weights = a.new_ones(len(pairs))
    weights[: len(known)] = KNOWN_WEIGHT * share_weight(known)
    return pairs, weights


def share_weight(pairs: Tensor) -> Tensor:
    """Weigh pairs so that no word counts more than once: 1 / the more translations of its two.

    A dictionary with five translations of a word says the same thing five times less surely.

    Args:
        pairs: Row numbers, ``(K, 2)``.

    Returns:
        Weights, ``(K,)``; 1 for words with one translation each.
    """
    counts = [torch.bincount(column, minlength=1)[column] for column in (pairs[:, 0], pairs[:, 1])]
    return torch.maximum(*counts).double().reciprocal()


def _right(words: Tensor, pairs: Tensor, part: int) -> tuple[Tensor, Tensor]:
    """Find the right answers, all pairs of each word, in one part of the pool.

    Args:
        words: Row numbers, ``(B,)``.
        pairs: Row numbers of pairs, the side of the words first, ``(K, 2)``.
        part: Which part of the pool.

    Returns:
        Which of the B words, and the place of its answer; POOL, past the end, if not in the part.
    """
    pairs = pairs[torch.isin(pairs[:, 0], words)]  # of many pairs, those of a batch are few
    word, pair = (words[:, None] == pairs[:, 0]).nonzero().T
    rows = pairs[pair, 1]
    return word, torch.where((rows - part) % PARTS == 0, (rows - part) // PARTS, POOL)


def _surprise(
    right: Tensor, points: Tensor, pool: Tensor, answers: tuple[Tensor, Tensor]
) -> Tensor:
    """Minus the log-posterior of a right word of each point, ``(B,)``, against all wrong ones.

    Args:
        right: The logit of that word, ``(B,)``.
        points: Mapped words, unit vectors, ``(B, d)``.
        pool: Words to stand out from, unit vectors, ``(M, d)``.
        answers: What :func:`_right` found.
    """
    logits = points @ pool.T / TEMPERATURE
    word, place = (side[answers[1] < len(pool)] for side in answers)
    correct = torch.zeros_like(logits, dtype=torch.bool)
    correct[word, place] = True
    wrong = logits.masked_fill(correct, -torch.inf).logsumexp(1)
    return softplus(wrong - right)
