"""Ridge regression from the target to the source space (Shigeto et al. 2015).

It assumes that hubs arise because regression shrinks what it maps: if the candidates shrink
instead of the queries, hubs become rare.
"""

from __future__ import annotations

import torch
from torch import Tensor

from demalib.baselines.shared import Projections, fit_both_directions, train_vectors
from demalib.config import Config
from demalib.pair import Mapping, Pair

# Candidates for lambda, in units of the mean eigenvalue of B^T B. The paper tunes lambda on train
# data; the rerun of Artetxe et al. 2018a (released code) has lambda 0.
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


def ridge(b: Tensor, a: Tensor) -> Tensor:
    r"""Solve ridge regression of a on b, ``(d, d)``: :math:`M = (B^TB + \lambda I)^{-1} B^TA`.

    The :math:`\lambda` is the candidate with the least squared error on left-out pairs. Leaving out
    pair i changes its residual to :math:`r_i / (1 - h_i)`, where
    :math:`h_i = b_i (B^TB + \lambda I)^{-1} b_i^T`, so no refit is needed.

    Args:
        b: Vectors to map, ``(n, d)``.
        a: Their targets, ``(n, d)``.
    """
    e, Q = torch.linalg.eigh(b.T @ b)
    z = b @ Q  # (n, d), b in the eigenbasis
    best, least = Q, torch.inf
    for penalty in PENALTIES:
        shrunk = e.clamp(min=0) + penalty * e.mean()
        M = (z.T @ a) / shrunk[:, None]
        left_out = (a - z @ M) / (1 - (z * z / shrunk).sum(dim=1))[:, None]
        if (error := float(left_out.square().sum())) < least:
            best, least = Q @ M, error
    return best


def fit(pair: Pair, config: Config) -> Mapping:
    r"""Fit reverse ridge regression (Shigeto et al. 2015), one map per direction.

    Defaults: lambda by leave-one-out error on the lexicon, out of six values (the paper tunes it
    on train data); all pairs of the lexicon; no normalisation, nearest neighbour (the rerun in the
    released code of Artetxe et al. 2018a), both set in :data:`demalib.SOLVERS`.

    Args:
        pair: Two spaces with a train lexicon.
        config: Only recorded; nothing is random.

    Note:
        The method moves the target words, :math:`yM`, and searches in the source space for the one
        nearest to x, so the map of the source words is the identity.
    """

    def fit_one(side: Pair) -> Projections:
        a, b = train_vectors(side, "shigeto")
        return torch.eye(side.src.dim, device=b.device), ridge(b, a)

    return fit_both_directions(pair, config, fit_one)
