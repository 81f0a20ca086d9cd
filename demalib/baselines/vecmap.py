"""VecMap with a dictionary: whiten, rotate, re-weight both sides, de-whiten (released code)."""

from __future__ import annotations

from demalib.baselines.selflearn import projections
from demalib.baselines.shared import Projections, fit_both_directions, train_vectors
from demalib.config import Config
from demalib.pair import Mapping, Pair


def fit(pair: Pair, config: Config) -> Mapping:
    r"""Fit VecMap's supervised map, one per direction.

    Defaults of ``--supervised`` (released code): normalisation unit, center, unit; whitening,
    re-weighting by :math:`S^{1/2}` on both sides, de-whitening of each side in its own language;
    all pairs of the lexicon, no self-learning; CSLS, k = 10. The formula is that of
    :func:`demalib.finish.symmetric_step`.

    Args:
        pair: Two spaces with a train lexicon of at least d different words on each side.
        config: Only recorded; nothing is random.
    """

    def fit_one(side: Pair) -> Projections:
        return projections(*train_vectors(side, "vecmap", side.src.dim))

    return fit_both_directions(pair, config, fit_one)
