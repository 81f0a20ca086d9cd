"""Self-learning: a map makes a dictionary, the dictionary makes a map (Artetxe et al. 2017).

It assumes that the map of a few seed pairs, or of identical words, is good enough for nearest
neighbours to be right more often than wrong.
"""

from __future__ import annotations

import torch
from torch import Tensor

from demalib.baselines.shared import Projections, fit_both_directions
from demalib.config import Config
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes
from demalib.tiles import iter_products

THRESHOLD = 1e-6  # least gain of the mean similarity, released code
WORDS = 20_000  # most frequent words that make the dictionary; the paper takes all 200,000
ROUNDS = 200  # never reached in practice; the paper has no limit


def nearest(mapped: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Find each word's largest dot product with a target, and that target's row, each ``(n,)``."""
    best = [cosines.max(dim=1) for _, cosines in iter_products(mapped, targets)]
    return torch.cat([b.values for b in best]), torch.cat([b.indices for b in best])


def self_learn(side: Pair) -> Projections:
    """Alternate Procrustes and forward dictionary until the mean similarity stops rising."""
    rows = side.require_identical() if side.train is None else side.train
    x, y = side.x[:WORDS], side.y[:WORDS]
    W, before = procrustes(side.x[rows[:, 0]], side.y[rows[:, 1]]), -torch.inf
    for _ in range(ROUNDS):
        similarity, found = nearest(x @ W, y)
        objective = float(similarity.mean(dtype=torch.float64))
        if objective - before < THRESHOLD:
            break
        before, W = objective, procrustes(x, y[found])
    return W, None


def fit(pair: Pair, config: Config) -> Mapping:
    """Learn from a seed by self-learning (Artetxe et al. 2017, Algorithm 2), once per direction.

    Defaults: normalisation unit, center (released code), set in :data:`demalib.SOLVERS`; the seed
    is the whole train lexicon (the 5,000-word setting of its tables; a lexicon of 25 pairs is
    enough), or else the identical words; each round drops the seed and pairs every source word with
    the target of the largest dot product; stop when the mean of these products gains less than 1e-6
    (released code). Retrieval by dot product (released code).

    Args:
        pair: Two spaces with a train lexicon or with identical words.
        config: Only recorded; nothing is random.

    Note:
        The dictionary is made of the 20,000 most frequent words, the cut-off of the same authors'
        later system; the paper uses the whole vocabulary. Its third seed, numerals, is part of the
        identical words if the vocabulary has numerals.
    """
    return fit_both_directions(pair, config, self_learn)
