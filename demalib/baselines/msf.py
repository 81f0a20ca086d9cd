"""Multi-step framework of linear maps: whiten, rotate, re-weight and de-whiten (MSF, MSF-ISF).

It assumes that translations correlate in whitened space, more in some directions than in others,
and that directions with little correlation should count little.
"""

from __future__ import annotations

import torch
from torch import Tensor

from demalib.baselines.shared import Projections, fit_both_directions, train_vectors
from demalib.config import Config
from demalib.finish import roots
from demalib.pair import Mapping, Pair

KEEP = 1.0  # part of the components kept in step 5; released code: all by default
INVERSE_TEMPERATURE = 1.0  # of MSF-ISF; released code: 1, and 1, 1, 1, 12 for its four pairs


def whitening(a: Tensor) -> tuple[Tensor, Tensor]:
    r"""Compute the matrix :math:`(A^T A)^{-1/2}` that whitens words ``(n, d)``, and its inverse."""
    return roots(a.T @ a)


def projections(a: Tensor, b: Tensor, keep: float = KEEP) -> tuple[Tensor, Tensor]:
    r"""Compute the maps of both sides into the common space, each ``(d, k)``.

    With whitening :math:`W_x, W_y` and :math:`W_x A^T B W_y = U S V^T` the steps are:
    whiten (S1), rotate by U and V (S2), re-weight the target by S (S3), de-whiten each side in
    its own language (S4), keep the first k components (S5). On the source side, which is not
    re-weighted, S1 and S4 cancel:

    .. math:: P_x = U, \qquad P_y = W_y V S V^T W_y^{-1} V.

    Args:
        a: Source vectors of the lexicon's pairs, ``(n, d)``.
        b: Target vectors of the same pairs, ``(n, d)``.
        keep: The part of the d components that S5 keeps.
    """
    (white_x, _), (white_y, colour_y) = whitening(a), whitening(b)
    u, s, vt = torch.linalg.svd(white_x @ (a.T @ b) @ white_y)
    k = max(1, round(keep * len(s)))
    return u[:, :k], (white_y @ (vt.T * s) @ vt @ colour_y @ vt.T)[:, :k]


def fit(pair: Pair, config: Config) -> Mapping:
    r"""Fit the multi-step framework (Artetxe et al. 2018a, "AAAI 2018"), one map per direction.

    Defaults: normalisation unit, center (S0; released code), set in :data:`demalib.SOLVERS`; S1
    whitening, S3 re-weighting of the target side by S to the power 1, S4 de-whitening of each side
    in its own language (the paper's new variant, Tables 2 and 3); S5 off (released code; the paper
    tunes 216 to 272 of 300 dimensions on development words, Table 4); all pairs of the lexicon, no
    self-learning. MSF retrieves with CSLS, k = 10; MSF-ISF with the inverted softmax, inverse
    temperature 1 (released code).

    Args:
        pair: Two spaces with a train lexicon of at least d different words on each side.
        config: Only recorded; nothing is random.
    """

    def fit_one(side: Pair) -> Projections:
        return projections(*train_vectors(side, "msf", side.src.dim))

    return fit_both_directions(pair, config, fit_one)
