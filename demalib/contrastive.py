"""The contrastive step: raise the posteriors of pairs of words, in two languages or more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from demalib.procrustes import induce_dictionary

POOL, PARTS = 12_000, 2  # words a pair must stand out from; every second one in turn
TEMPERATURE = 0.06  # the variance of the mixtures whose posteriors rise
STEPS, BATCH, RATE = 20, 512, 1e-3  # Adam's steps for two languages, pairs in each, its rate
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
    an objective. Pairs are the known ones and the mutual best ones of the start under CSLS. Where
    more than two languages are linked, the mean over all links is descended, in steps that grow
    with the number of languages, since each map has more links to serve.

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
    for step in range(STEPS * len(sides) // 2 if pairs else 0):
        part = step % PARTS
        pools = [
            normalize(side[part:POOL:PARTS] @ P, dim=1) for side, P in zip(sides, ends, strict=True)
        ]
        losses = []
        for (a, b), (rows, weights) in pairs.items():
            batches = -(-len(rows) // BATCH)
            chosen = slice(step % batches, None, batches)
            (i, j), w = rows[chosen].T, weights[chosen]
            u, v = (normalize(sides[k][r] @ ends[k], dim=1) for k, r in ((a, i), (b, j)))
            right = (u * v).sum(1) / TEMPERATURE
            loss = _surprise(right, u, pools[b], _places(j, part))
            loss = loss + _surprise(right, v, pools[a], _places(i, part))
            losses.append((w * loss).sum() / w.sum())
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return [P.detach() for P in ends]


def _pairs(a: Tensor, b: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Join known pairs and mutual best ones of other words: row numbers, ``(K, 2)``, and weights."""
    found = induce_dictionary(a, b, "mutual", FOUND)
    apart = ~(torch.isin(found[:, 0], known[:, 0]) | torch.isin(found[:, 1], known[:, 1]))
    pairs = torch.cat([known, found[apart]])
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


def _places(rows: Tensor, part: int) -> Tensor:
    """Find the places of words in one part of the pool; POOL, past its end, if not in it."""
    return torch.where((rows - part) % PARTS == 0, (rows - part) // PARTS, POOL)


def _surprise(right: Tensor, points: Tensor, pool: Tensor, rows: Tensor) -> Tensor:
    """Minus the log-posterior of the right word of each point, ``(B,)``, against a pool of words."""
    logits = points @ pool.T / TEMPERATURE
    inside = (rows < len(pool)).nonzero()[:, 0]
    itself = torch.zeros_like(logits, dtype=torch.bool)
    itself[inside, rows[inside]] = True
    wrong = logits.masked_fill(itself, -torch.inf).logsumexp(1)
    return softplus(wrong - right)
