"""Procrustes on a train lexicon, or on identical words, with refinement (Conneau et al. 2018).

It assumes that a rotation relates the two spaces, and that word pairs determine it.
"""

from __future__ import annotations

from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes, refine


def fit(pair: Pair, config: Config, rounds: int = 0) -> Mapping:
    """Solve Procrustes on the train lexicon of each direction, then refine.

    Args:
        pair: Two spaces with a train lexicon.
        config: ``refinements`` is the number of refinements; -1 means ``rounds``.
        rounds: Default number of refinements; 5 in Conneau et al. (2018).
    """
    rounds = rounds if config.refinements < 0 else config.refinements
    if pair.train is None or pair.train_back is None:
        raise DataError(
            "solver 'procrustes' learns from a dictionary; give one with --lexicon, "
            "or use solver 'identical'"
        )
    maps = []
    for side, rows in ((pair, pair.train), (pair.swap(), pair.train_back)):
        W = procrustes(side.x[rows[:, 0]], side.y[rows[:, 1]])
        maps.append(refine(side.x, side.y, W, rounds, **config.refinement))
    W_xy, W_yx = maps
    return Mapping.of(W_xy, W_yx, pair, config)


def fit_identical(pair: Pair, config: Config) -> Mapping:
    """Solve Procrustes on identical words, then refine ten times (Søgaard et al. 2018)."""
    rows = pair.require_identical()
    W = procrustes(pair.x[rows[:, 0]], pair.y[rows[:, 1]])
    rounds = 10 if config.refinements < 0 else config.refinements
    return Mapping.orthogonal(refine(pair.x, pair.y, W, rounds, **config.refinement), pair, config)
