"""Normalised embeddings and an orthogonal map (Xing et al. 2015).

It assumes that all words have length one, so that a rotation maps words to their translations.
"""

from __future__ import annotations

from demalib.baselines.shared import Projections, fit_both_directions, train_vectors
from demalib.config import Config
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes


def fit(pair: Pair, config: Config) -> Mapping:
    r"""Maximise the cosine of the lexicon's pairs over orthogonal maps (Xing et al. 2015).

    Defaults: normalisation unit only ("Normalized word vectors"), set in :data:`demalib.SOLVERS`;
    all pairs of the lexicon; retrieval by cosine.

    Args:
        pair: Two spaces with a train lexicon.
        config: Only recorded; nothing is random.

    Note:
        The paper maximises :math:`\sum_i a_i W b_i^T` by gradient steps, each followed by the
        nearest orthogonal matrix. The sum is linear in W, so these steps converge to the Procrustes
        solution, computed directly here (shown by Artetxe et al. 2016, Section 2).
    """

    def fit_one(side: Pair) -> Projections:
        return procrustes(*train_vectors(side, "xing")), None

    return fit_both_directions(pair, config, fit_one)
