"""Relaxed CSLS: gradient steps on the retrieval criterion itself ("CSLS-Sp", RCSLS).

It assumes that a lexicon is large enough to fit a free linear map, and that words without a
translation in it still say where hubs are.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from demalib.config import Config
from demalib.mapping import Mapping, Pair
from demalib.refine import procrustes
from demalib.retrieval import chunks
from demalib.rivals.shared import fit_both_ways, train_rows

RATE = 25.0  # released example script; the code's own default is 1
ROUNDS = 10  # released code and script
SMALLEST_RATE = 1e-4  # released code
NEGATIVES = 200_000  # words per side among which neighbours are sought, released code


def neighbour_means(queries: Tensor, keys: Tensor, values: Tensor, knn: int) -> Tensor:
    """Mean of the values whose keys have the k largest dot products with a query, ``(Q, d)``.

    Args:
        queries: ``(Q, d)``.
        keys: ``(M, d)``.
        values: What is averaged, a row per key, ``(M, d)``.
        knn: Neighbours k; all keys if there are fewer.
    """
    out = torch.empty_like(queries)
    for part in chunks(len(queries), len(keys)):
        found = (queries[part] @ keys.T).topk(min(knn, len(keys)), dim=1).indices
        out[part] = embedding_bag(found, values, mode="mean")
    return out


def loss_and_gradient(
    W: Tensor, a: Tensor, b: Tensor, x: Tensor, y: Tensor, knn: int
) -> tuple[float, Tensor]:
    r"""The relaxed CSLS loss of a map and its gradient, ``(d, d)`` (Joulin et al. 2018).

    .. math:: \frac1n \sum_i -2 a_i W b_i^T
              + \frac1k \sum_{y_j \in N_Y(a_i W)} a_i W y_j^T
              + \frac1k \sum_{x_j W \in N_X(b_i)} x_j W b_i^T

    Args:
        W: The map, ``(d, d)``.
        a: Source vectors of the lexicon's pairs, ``(n, d)``.
        b: Target vectors of the same pairs, ``(n, d)``.
        x: Source words among which neighbours are sought, ``(N, d)``.
        y: Target words, likewise, ``(M, d)``.
        knn: Neighbours k.
    """
    mapped = a @ W
    near_y = neighbour_means(mapped, y, y, knn)  # (n, d), of the mapped source words
    near_x = neighbour_means(b, x @ W, x, knn)  # (n, d), of the target words, before mapping
    gradient = (a.T @ (near_y - 2 * b) + near_x.T @ b) / len(a)
    return float((gradient * W).sum()), gradient  # the loss is linear while neighbours stay


def descend(side: Pair, config: Config, spectral: bool) -> Tensor:
    """Full-batch steps from Procrustes; one that raises the loss is undone and the rate halved."""
    rows = train_rows(side, "rcsls")
    a, b = side.x[rows[:, 0]], side.y[rows[:, 1]]
    words = (side.x[:NEGATIVES], side.y[:NEGATIVES])
    W, rate = procrustes(a, b), RATE
    loss, gradient = loss_and_gradient(W, a, b, *words, config.knn)
    for _ in range(ROUNDS):
        trial = W - rate * gradient
        if spectral:
            u, s, vt = torch.linalg.svd(trial)
            trial = (u * s.clamp(max=1)) @ vt
        trial_loss, trial_gradient = loss_and_gradient(trial, a, b, *words, config.knn)
        if trial_loss <= loss:
            W, loss, gradient = trial, trial_loss, trial_gradient
        else:
            rate /= 2
        if rate < SMALLEST_RATE:
            break
    return W


def fit(pair: Pair, config: Config) -> Mapping:
    """RCSLS without a constraint (Joulin et al. 2018, "RCSLS"), one map per direction.

    Defaults: start at Procrustes on all pairs of the lexicon; 10 rounds, rate 25, halved when the
    loss rises, stop below 1e-4 (released code and example script); neighbours k = 10
    (``config.knn``; released code) among the first 200,000 words of either side (released code),
    sought anew each round by dot product. Normalisation unit, center, unit (released code, with
    centring on).

    Args:
        pair: Two spaces with a train lexicon.
        config: ``knn``; nothing is random.

    Note:
        The figures of the row "CSLS-Sp" are those of plain RCSLS, so this is its function;
        :func:`fit_spectral` is what the name says. Without a constraint the loss has no minimum,
        it falls with the scale of the map, so rate and rounds are part of the method. The released
        code means to undo a step that raises the loss but, updating in place, only halves the
        rate; here it is undone.
    """
    return fit_both_ways(pair, config, lambda side: descend(side, config, spectral=False))


def fit_spectral(pair: Pair, config: Config) -> Mapping:
    """RCSLS over maps of spectral norm at most 1 ("+ spectral"); defaults as :func:`fit`.

    After every step, singular values above 1 are cut to 1: the projection onto the convex hull
    of the orthogonal maps.
    """
    return fit_both_ways(pair, config, lambda side: descend(side, config, spectral=True))
