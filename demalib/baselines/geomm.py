"""Geometry-aware multilingual mapping: two rotations and a metric between them (GeoMM).

It assumes that a lexicon lists all translations of its words, so that every other combination of
its words is a negative example.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from demalib.baselines.shared import Learner, Projections, choose, fit_both_directions, train_rows
from demalib.config import Config
from demalib.pair import Mapping, Pair

# Candidates for lambda, the likeliest first: the released code's default, the other value of the
# released results script, and their neighbours, since a smaller lexicon needs a smaller lambda.
PENALTIES = (1e2, 1e3, 1e1, 1e4, 1e0)


def bilinear_map(x: Tensor, z: Tensor, cross: Tensor, penalty: float) -> Tensor:
    r"""Find the W that minimises :math:`\|XWZ^T - A\|_F^2 + \frac\lambda2 \|W\|_F^2`, ``(d, d)``.

    The loss is convex, and its gradient is zero where :math:`X^TX\,W\,Z^TZ + \frac\lambda2 W =
    X^TAZ`. In the eigenbases of :math:`X^TX = P\,\mathrm{diag}(p)\,P^T` and :math:`Z^TZ =
    Q\,\mathrm{diag}(q)\,Q^T` that is a division: :math:`(P^TWQ)_{ij} = (P^TX^TAZQ)_{ij} /
    (p_i q_j + \lambda/2)`.

    Args:
        x: Different source words of the lexicon, ``(n, d)``.
        z: Different target words of the lexicon, ``(m, d)``.
        cross: :math:`X^TAZ`, the sum of :math:`x^T z` over the lexicon's pairs, ``(d, d)``.
        penalty: :math:`\lambda`.
    """
    (p, P), (q, Q) = torch.linalg.eigh(x.T @ x), torch.linalg.eigh(z.T @ z)
    return P @ ((P.T @ cross @ Q) / (p[:, None] * q + penalty / 2)) @ Q.T


def projections(side: Pair, pairs: np.ndarray, penalty: float) -> tuple[Tensor, Tensor]:
    r"""Compute the maps into latent space, :math:`U_1 B^{1/2}` and :math:`U_2 B^{1/2}`, ``(d, d)``.

    Args:
        side: The two spaces.
        pairs: Row numbers of a lexicon's pairs, ``(n, 2)``; a repeated pair counts once.
        penalty: :math:`\lambda`.
    """
    rows, columns = torch.from_numpy(np.unique(pairs, axis=0)).T
    x, z = side.x[rows.unique()].double(), side.y[columns.unique()].double()
    cross = side.x[rows].double().T @ side.y[columns].double()
    u, s, vt = torch.linalg.svd(bilinear_map(x, z, cross, penalty))
    return u * s.sqrt(), vt.T * s.sqrt()


def fit(pair: Pair, config: Config) -> Mapping:
    r"""Fit GeoMM (Jawanpuria et al. 2018, the bilingual case), one map per direction.

    Minimises :math:`\|X U_1 B U_2^T Z^T - A\|_F^2 + \frac\lambda2 \|B\|_F^2` over rotations
    :math:`U_1, U_2` and positive definite B, where A is 1 for the pairs of the lexicon and 0 for
    all other combinations of its words. Words are then compared by the cosine of
    :math:`xU_1B^{1/2}` and :math:`zU_2B^{1/2}`.

    Defaults: lambda out of 1, 10, ..., 10,000 by a held-out fifth of the lexicon (a fifth:
    released split script), then a fit to all pairs (for MUSE's lexicons the released results script
    has lambda 100 or 1000, by direction); the factor 1/2 (released code); normalisation unit,
    center (results script), set in :data:`demalib.SOLVERS`; CSLS, k = 10.

    Args:
        pair: Two spaces with a train lexicon.
        config: ``seed`` decides which pairs are held out; ``max_rank`` and ``knn`` are those of
            their retrieval.

    Note:
        By its SVD any W is :math:`U_1BU_2^T` with :math:`\|B\|_F = \|W\|_F`, and the latent
        cosines depend on W alone (its polar factors are unique if no singular value is 0). The
        problem on manifolds, which the paper solves by 150 steps of Riemannian conjugate
        gradients, is therefore ridge regression in W, solved exactly here.
    """

    def fit_one(side: Pair) -> Projections:
        pairs = train_rows(side, "geomm")

        def learner(penalty: float) -> Learner:
            return lambda some: projections(side, some, penalty)

        penalty = choose(side, pairs, config, {p: learner(p) for p in PENALTIES})
        return projections(side, pairs, penalty)

    return fit_both_directions(pair, config, fit_one)
