"""C1 of ContrastiveBLI: two free maps, contrastive steps against near words, self-learning.

It assumes that a pair of the lexicon should be nearer than the words that are near it now, and that
the map's own surest pairs are as good as pairs of the lexicon to start again from.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize, pad

from demalib.baselines.selflearn import projections
from demalib.baselines.shared import Projections, Sizes, fit_both_directions, train_rows
from demalib.config import Config
from demalib.pair import Mapping, Pair
from demalib.progress import progress
from demalib.retrieval import csls_, mean_top_cosine
from demalib.tiles import iter_products

CLIP = 0.15  # largest norm of the gradient of both maps together, released code
Maps = tuple[Tensor, Tensor]  # of source and target words into the common space, (d, d) each


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


class Chosen:
    """A few words for each of n queries, and products with these words alone, as sparse matrices.

    Args:
        columns: Row numbers of each query's words, ``(n, k)``.
        words: How many words there are, M.
    """

    def __init__(self, columns: Tensor, words: int) -> None:
        (n, k), self.shape = columns.shape, columns.shape
        flat = columns.flatten()
        starts = torch.arange(0, n * k + 1, k, device=flat.device)
        self.by_query = (starts, flat, (n, words))
        self.order = flat.argsort(stable=True)  # of the same entries, word by word
        ends = torch.bincount(flat, minlength=words).cumsum(0)
        self.by_word = (pad(ends, (1, 0)), self.order // k, (words, n))

    def dots(self, queries: Tensor, words: Tensor) -> Tensor:
        """Multiply each query ``(n, d)`` with its own words ``(M, d)``, ``(n, k)``."""
        zeros = queries.new_zeros(self.shape.numel())
        found = torch.sparse.sampled_addmm(_csr(zeros, self.by_query), queries, words.T)
        return found.values().view(self.shape)

    def sum_words(self, weights: Tensor, words: Tensor) -> Tensor:
        """Add up each query's words ``(M, d)`` by their weights ``(n, k)``, ``(n, d)``."""
        return _csr(weights.flatten(), self.by_query) @ words

    def sum_queries(self, weights: Tensor, queries: Tensor) -> Tensor:
        """Add up, for each word, the queries ``(n, d)`` it was chosen for, by weight, ``(M, d)``."""
        return _csr(weights.flatten()[self.order], self.by_word) @ queries


def _csr(values: Tensor, where: tuple[Tensor, Tensor, tuple[int, int]]) -> Tensor:
    with warnings.catch_warnings():  # torch calls these matrices a beta feature
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(*where[:2], values, where[2], check_invariants=False)


def loss_and_gradient(
    u: Tensor, v: Tensor, pairs: Tensor, right: Chosen, wrong: Chosen
) -> tuple[float, Tensor, Tensor]:
    r"""Compute the contrastive loss and its gradients with respect to the words' vectors.

    .. math:: -\frac1n \sum_{(i,j)} \log \frac{e^{u_i \cdot v_j}}{e^{u_i \cdot v_j}
              + \sum_{k \in N_Y(i)} e^{u_i \cdot v_k} + \sum_{k \in N_X(j)} e^{u_k \cdot v_j}}

    Args:
        u: Mapped source words, ``(N, d)``.
        v: Mapped target words, ``(M, d)``.
        pairs: Row numbers of n pairs, ``(n, 2)``.
        right: Of each pair's source word: its own target word first, then the negatives.
        wrong: Of each pair's target word: the negatives among the source words.

    Returns:
        The loss and the gradients, shaped like ``u`` and ``v``.
    """
    i, j = pairs.T
    a, b = u[i], v[j]
    log_share = torch.cat([right.dots(a, v), wrong.dots(b, u)], dim=1).log_softmax(dim=1)
    slope = log_share.exp() / len(pairs)  # of the loss with respect to each logit
    slope[:, 0] -= 1 / len(pairs)
    to_y, to_x = slope[:, : right.shape[1]], slope[:, right.shape[1] :]
    grad_u = wrong.sum_queries(to_x, b).index_add_(0, i, right.sum_words(to_y, v))
    grad_v = right.sum_queries(to_y, a).index_add_(0, j, wrong.sum_words(to_x, u))
    return -float(log_share[:, 0].mean()), grad_u, grad_v


def choose(
    u: Tensor, v: Tensor, pairs: Tensor, k: int, gold: Sequence[Tensor | None]
) -> tuple[Chosen, Chosen]:
    """Find the negatives of all pairs, as :func:`loss_and_gradient` takes them.

    ``gold`` has what :func:`same_query` lists for each side, which is not chosen, or None.
    """
    i, j = pairs.T
    near_y, near_x = near(u[i], v, j, k, gold[0]), near(v[j], u, i, k, gold[1])
    return Chosen(torch.cat([j[:, None], near_y], dim=1), len(v)), Chosen(near_x, len(u))


def contrast(side: Pair, pairs: Tensor, maps: Maps, size: Size) -> Maps:
    """Take full-batch gradient steps on both maps; lengths of mapped words count as constants."""
    x, y = side.x[: size.pool], side.y[: size.pool]
    pairs = pairs[(pairs[:, 0] < len(x)) & (pairs[:, 1] < len(y))]
    if not len(pairs):  # the lexicon has rarer words only
        return maps
    A, B = maps
    k = min(size.negatives, len(x) // 2, len(y) // 2)  # no word has that many translations
    gold = [same_query(some) if size.mask else None for some in (pairs, pairs.flip(1))]
    rate = size.rate
    for step in progress(range(size.steps), desc="c1", unit="step"):
        xA, yB = x @ A, y @ B
        length_x, length_y = (m.norm(dim=1, keepdim=True).clamp(min=1e-12) for m in (xA, yB))
        u, v = xA / length_x, yB / length_y
        if step % size.every == 0:
            chosen = choose(u, v, pairs, k, gold)
        _, grad_u, grad_v = loss_and_gradient(u, v, pairs, *chosen)
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
