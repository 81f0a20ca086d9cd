"""C1 of ContrastiveBLI: two free maps, contrastive steps against near words, self-learning.

It assumes that a pair of the lexicon should be nearer than the words that are near it now, and that
the map's own surest pairs are as good as pairs of the lexicon to start again from.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.baselines.selflearn import projections
from demalib.baselines.shared import Projections, Sizes, fit_both_directions, train_rows
from demalib.config import Config
from demalib.pair import Mapping, Pair
from demalib.progress import progress
from demalib.retrieval import csls_, mean_top_cosine
from demalib.tiles import iter_products, slices

CLIP = 0.15  # largest norm of the gradient of both maps together, released code
Maps = tuple[Tensor, Tensor]  # of source and target words into the common space, (d, d) each
BATCH = 256  # pairs whose negatives are looked at together; changes nothing but memory


class Size(NamedTuple):
    """Settings that the recipe decides; the released code has one set for 5k words, one for 1k."""

    negatives: int  # of either side
    pool: int  # most frequent words among which they are searched
    rate: float
    decay: float  # of the rate, a step
    steps: int  # in a round
    rounds: int
    found: int  # surest pairs of either direction that join the lexicon in later rounds
    ranks: int  # most frequent words that may be among them
    every: int  # steps after which negatives are searched anew
    mask: bool  # other translations of a word are no negatives


PUBLISHED = Size(150, 60_000, 1.5, 0.99, 200, 2, 10_000, 60_000, 1, False)
LAPTOP = Size(50, 20_000, 1.5, 0.96, 50, 2, 6000, 20_000, 10, True)
SIZES = Sizes(LAPTOP, PUBLISHED)


def near(queries: Tensor, words: Tensor, own: Tensor, k: int, gold: Tensor | None) -> Tensor:
    """Find the k nearest words of each query except its own, ``(n, k)``.

    Args:
        queries: Unit vectors, ``(n, d)``.
        words: Unit vectors of the other language, ``(M, d)``.
        own: Row number of each query's translation, ``(n,)``.
        k: How many.
        gold: Query and word of every other known translation, ``(G, 2)``; None leaves them in.
    """
    out = torch.empty(len(queries), k, dtype=torch.long, device=queries.device)
    for part, cosines in iter_products(queries, words):
        rows = torch.arange(len(cosines), device=own.device)
        inside = own[part] < len(words)
        cosines[rows[inside], own[part][inside]] = -torch.inf
        if gold is not None:
            here = (gold[:, 0] >= part.start) & (gold[:, 0] < part.stop) & (gold[:, 1] < len(words))
            cosines[gold[here, 0] - part.start, gold[here, 1]] = -torch.inf
        out[part] = cosines.topk(k, dim=1).indices
    return out


def same_query(pairs: Tensor) -> Tensor:
    """List all translations of each pair's word: number of the pair and the word, ``(G, 2)``."""
    order = pairs[:, 0].argsort(stable=True)
    _, counts = pairs[order, 0].unique_consecutive(return_counts=True)
    ends = counts.cumsum(0)
    found = []
    for low, high in zip((ends - counts).tolist(), ends.tolist(), strict=True):
        if high - low > 1:
            some = order[low:high]
            found.append(torch.cartesian_prod(some, pairs[some, 1]))
    return torch.cat(found) if found else pairs.new_zeros(0, 2)


def loss_and_gradient(
    u: Tensor, v: Tensor, pairs: Tensor, near_y: Tensor, near_x: Tensor
) -> tuple[float, Tensor, Tensor]:
    r"""Compute the contrastive loss and its gradients with respect to the words' vectors.

    .. math:: -\frac1n \sum_{(i,j)} \log \frac{e^{u_i \cdot v_j}}{e^{u_i \cdot v_j}
              + \sum_{k \in N_Y(i)} e^{u_i \cdot v_k} + \sum_{k \in N_X(j)} e^{u_k \cdot v_j}}

    Args:
        u: Mapped source words, ``(N, d)``.
        v: Mapped target words, ``(M, d)``.
        pairs: Row numbers of n pairs, ``(n, 2)``.
        near_y: Row numbers of each pair's negatives among the target words, ``(n, k)``.
        near_x: The same among the source words, ``(n, k)``.

    Returns:
        The loss and the gradients, shaped like ``u`` and ``v``.
    """
    loss, grad_u, grad_v = 0.0, torch.zeros_like(u), torch.zeros_like(v)
    for part in slices(len(pairs), BATCH):
        (i, j), k = pairs[part].T, near_y.shape[1]
        right = torch.cat([j[:, None], near_y[part]], dim=1)  # the pair's own word first
        a, b = u[i], v[j]
        others_y, others_x = v[right], u[near_x[part]]  # (B, 1 + k, d), (B, k, d)
        logits = torch.cat(
            [torch.bmm(others_y, a[:, :, None]), torch.bmm(others_x, b[:, :, None])], 1
        )
        log_share = logits[:, :, 0].log_softmax(dim=1)
        loss -= float(log_share[:, 0].sum())
        slope = log_share.exp() / len(pairs)  # of the loss with respect to each logit
        slope[:, 0] -= 1 / len(pairs)
        to_y, to_x = slope[:, None, : k + 1], slope[:, None, k + 1 :]
        grad_u.index_add_(0, i, torch.bmm(to_y, others_y)[:, 0])
        grad_v.index_add_(0, j, torch.bmm(to_x, others_x)[:, 0])
        grad_v.index_add_(0, right.flatten(), torch.bmm(to_y.mT, a[:, None]).flatten(0, 1))
        grad_u.index_add_(0, near_x[part].flatten(), torch.bmm(to_x.mT, b[:, None]).flatten(0, 1))
    return loss / len(pairs), grad_u, grad_v


def contrast(side: Pair, pairs: Tensor, maps: Maps, size: Size) -> Maps:
    """Take full-batch gradient steps on both maps; lengths of mapped words count as constants."""
    x, y = side.x[: size.pool], side.y[: size.pool]
    pairs = pairs[(pairs[:, 0] < len(x)) & (pairs[:, 1] < len(y))]
    A, B = maps
    k = min(size.negatives, len(x) // 2, len(y) // 2)  # no word has that many translations
    gold_y = same_query(pairs) if size.mask else None
    gold_x = same_query(pairs.flip(1)) if size.mask else None
    rate = size.rate
    for step in progress(range(size.steps), desc="c1", unit="step"):
        xA, yB = x @ A, y @ B
        length_x, length_y = (m.norm(dim=1, keepdim=True).clamp(min=1e-12) for m in (xA, yB))
        u, v = xA / length_x, yB / length_y
        if step % size.every == 0:
            near_y = near(u[pairs[:, 0]], v, pairs[:, 1], k, gold_y)
            near_x = near(v[pairs[:, 1]], u, pairs[:, 0], k, gold_x)
        _, grad_u, grad_v = loss_and_gradient(u, v, pairs, near_y, near_x)
        grad_A, grad_B = x.T @ (grad_u / length_x), y.T @ (grad_v / length_y)
        norm = float((grad_A.square().sum() + grad_B.square().sum()).sqrt())
        pace = rate * min(1.0, CLIP / max(norm, 1e-12))
        A, B = A - pace * grad_A, B - pace * grad_B
        rate *= size.decay
    return A, B


def surest_pairs(side: Pair, maps: Maps, seeds: Tensor, size: Size, knn: int) -> Tensor:
    """Find the pairs with the highest scores of either direction without words of the lexicon.

    A word's partner is the one of the largest 2 cos - r, among all words.

    Returns:
        Row numbers, ``(n, 2)``; n is at most twice ``size.found``.
    """
    P_x, P_y = maps
    u, v = normalize(side.x @ P_x, dim=1), normalize(side.y @ P_y, dim=1)
    found = []
    for queries, words in ((u, v), (v, u)):
        r, best = mean_top_cosine(words, queries, knn), []
        for _, scores in iter_products(queries[: size.ranks], words):
            best.append(csls_(scores, r).max(dim=1))
        values, partners = (torch.cat([b[part] for b in best]) for part in (0, 1))
        top = values.topk(min(size.found, len(values))).indices
        found.append(torch.stack([top, partners[top]], dim=1))
    both = torch.cat([found[0], found[1].flip(1)]).unique(dim=0)
    known = torch.isin(both[:, 0], seeds[:, 0]) | torch.isin(both[:, 1], seeds[:, 1])
    return both[~known]


def fit(pair: Pair, config: Config) -> Mapping:
    r"""Fit stage C1 of ContrastiveBLI (Li et al. 2022, Section 2.1), two maps per direction.

    Each of two rounds starts at VecMap's supervised map on the lexicon; in the second its surest
    10,000 pairs of either direction, found among the 60,000 most frequent words, join the lexicon.
    Then 200 full-batch steps on the lexicon's pairs against 150 negatives of either side, searched
    anew for every step by cosine among 60,000 words; plain gradient descent, rate 1.5, falling by 1 % a step, gradient
    clipped at 0.15, temperature 1. All of the released code, for a lexicon of 5,000 words.

    Args:
        pair: Two spaces with a train lexicon of at least d different words on each side.
        config: ``knn``. The recipe ``laptop`` has 50 negatives out of 20,000 words, searched in
            every tenth step, 50 steps, and no other translation of a word among its negatives.

    Note:
        The released code uses unit vectors; here they are centred too, as for VecMap's map, so that
        no step at all is the system ``vecmap``. Its setting for 1,000 words (more rounds, found
        pairs among the contrasted ones) is not built. Nothing is random.
    """
    size = SIZES.of(config)

    def fit_one(side: Pair) -> Projections:
        rows = train_rows(side, "c1", side.src.dim)
        seeds = torch.from_numpy(rows.copy()).to(side.x.device)
        lexicon = seeds
        for last in [False] * (size.rounds - 1) + [True]:
            a, b = side.x[lexicon[:, 0]].double(), side.y[lexicon[:, 1]].double()
            start = projections(a, b)
            maps = contrast(side, seeds, (start[0].float(), start[1].float()), size)
            if not last:
                found = surest_pairs(side, maps, seeds, size, config.knn)
                lexicon = torch.cat([seeds, found])
        return maps

    return fit_both_directions(pair, config, fit_one)
