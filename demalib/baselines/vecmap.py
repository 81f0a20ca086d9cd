"""VecMap with a dictionary: whiten, rotate, re-weight both sides, de-whiten (released code)."""

from __future__ import annotations

import torch

from demalib.baselines.selflearn import projections, self_learn
from demalib.baselines.shared import Projections, fit_both_directions, train_rows, train_vectors
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


def fit_semi(pair: Pair, config: Config) -> Mapping:
    """Fit VecMap's ``--semi_supervised``: self-learning from a seed lexicon, one map per direction.

    As :func:`demalib.baselines.selflearn.fit`, but the first dictionary is the train lexicon
    (released code), of any size. The found dictionaries replace it: a large lexicon is forgotten,
    which is why ``vecmap`` is better with 5,000 pairs and this with 25.

    Args:
        pair: Two spaces with a train lexicon.
        config: ``seed``, ``knn``; sizes as of ``sl-unsup``.
    """

    def fit_one(side: Pair) -> Projections:
        seeds = torch.from_numpy(train_rows(side, "vecmap-semi").copy())
        found = self_learn(side, seeds, config)
        return projections(side.x[found[:, 0]].double(), side.y[found[:, 1]].double())

    return fit_both_directions(pair, config, fit_one)
