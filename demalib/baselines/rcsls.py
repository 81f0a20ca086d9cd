"""Relaxed CSLS: gradient steps on the retrieval criterion itself ("CSLS-Sp", RCSLS).

It assumes that a lexicon is large enough to fit an unconstrained linear map, and that words
without a translation in it still show where hubs are.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from demalib.baselines.shared import Learner, Projections, choose, fit_both_directions, train_rows
from demalib.config import Config
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes
from demalib.tiles import iter_products

RATES = (25.0, 1.0, 10.0, 50.0)  # the paper's candidates; that of the released example first
ROUNDS = 10  # released code and script
SMALLEST_RATE = 1e-4  # released code
NEGATIVES = 200_000  # words per side among which neighbours are searched, released code


def neighbour_means(queries: Tensor, keys: Tensor, values: Tensor, knn: int) -> Tensor:
    """Average the values whose keys have the k largest dot products with a query, ``(Q, d)``.

    Args:
        queries: ``(Q, d)``.
        keys: ``(M, d)``.
        values: Rows to average, one per key, ``(M, d)``.
        knn: Neighbours k; all keys if there are fewer.
    """
    out = torch.empty_like(queries)
    for part, products in iter_products(queries, keys):
        found = products.topk(min(knn, len(keys)), dim=1).indices
        out[part] = embedding_bag(found, values, mode="mean")
    return out


def loss_and_gradient(
    W: Tensor, x: Tensor, y: Tensor, pairs: Tensor, knn: int, words: int
) -> tuple[float, Tensor]:
    r"""Compute the relaxed CSLS loss of a map and its gradient, ``(d, d)`` (Joulin et al. 2018).

    .. math:: \frac1n \sum_i -2 a_i W b_i^T
              + \frac1k \sum_{y_j \in N_Y(a_i W)} a_i W y_j^T
              + \frac1k \sum_{x_j W \in N_X(b_i)} x_j W b_i^T

    for the pairs :math:`(a_i, b_i)`. The neighbours of a word are searched once, even if it is in
    several pairs.

    Args:
        W: The map, ``(d, d)``.
        x: Source words, ``(N, d)``.
        y: Target words, ``(M, d)``.
        pairs: Row numbers of the lexicon's pairs, ``(n, 2)``.
        knn: Neighbours k.
        words: Number of most frequent words per side among which neighbours are searched.
    """
    (src, src_pairs), (tgt, tgt_pairs) = (rows.unique(return_counts=True) for rows in pairs.T)
    near_y = neighbour_means(x[src] @ W, y[:words], y[:words], knn)
    near_x = neighbour_means(y[tgt], x[:words] @ W, x[:words], knn)  # before mapping
    gradient = (x[src] * src_pairs[:, None]).T @ near_y + near_x.T @ (y[tgt] * tgt_pairs[:, None])
    gradient = (gradient - 2 * x[pairs[:, 0]].T @ y[pairs[:, 1]]) / len(pairs)
    return float(
        (gradient * W).sum()
    ), gradient  # the loss is linear while neighbours stay the same


def descend(side: Pair, pairs: np.ndarray, rate: float, config: Config, words: int) -> Projections:
    """Take full-batch steps from Procrustes; undo one that raises the loss and halve the rate.

    Args:
        side: The two spaces.
        pairs: Row numbers of the lexicon's pairs, ``(n, 2)``.
        rate: The first step size.
        config: ``knn``.
        words: Number of most frequent words per side among which neighbours are searched.
    """
    problem = (side.x, side.y, torch.from_numpy(pairs).to(side.x.device), config.knn, words)
    W = procrustes(side.x[pairs[:, 0]], side.y[pairs[:, 1]])
    loss, gradient = loss_and_gradient(W, *problem)
    for _ in range(ROUNDS):
        trial = W - rate * gradient
        trial_loss, trial_gradient = loss_and_gradient(trial, *problem)
        if trial_loss <= loss:
            W, loss, gradient = trial, trial_loss, trial_gradient
        else:
            rate /= 2
        if rate < SMALLEST_RATE:
            break
    return W, None


def fit(pair: Pair, config: Config) -> Mapping:
    """Fit RCSLS without a constraint (Joulin et al. 2018, "RCSLS"), one map per direction.

    Defaults: start at Procrustes on all pairs of the lexicon; 10 rounds (released code); rate 1,
    10, 25 or 50, whichever finds most of a held-out fifth of the lexicon (the paper's candidates;
    its validation set), halved when the loss rises, stop below 1e-4 (released code); 10 neighbours
    (``config.knn``; released code) among the first 200,000 words of each side (released code),
    searched again in each round by dot product. Normalisation unit, center, unit (released code,
    with centring on).

    Args:
        pair: Two spaces with a train lexicon.
        config: ``knn``; ``seed`` and ``max_rank`` for the choice of the rate.

    Note:
        The figures of the row "CSLS-Sp" are those of plain RCSLS, not of its spectral variant.
        Without a constraint the loss has no minimum: it falls with the scale of the map, so rate
        and rounds are part of the method. While the rate is chosen, neighbours are searched among
        the ``config.max_rank`` most frequent words. The released code tries to undo a step that
        raises the loss but, updating in place, only halves the rate; here it is undone.
    """

    def fit_one(side: Pair) -> Projections:
        pairs = train_rows(side, "rcsls")

        def learner(rate: float) -> Learner:
            return lambda some: descend(side, some, rate, config, config.max_rank)

        rate = choose(side, pairs, config, {rate: learner(rate) for rate in RATES})
        return descend(side, pairs, rate, config, NEGATIVES)

    return fit_both_directions(pair, config, fit_one)
