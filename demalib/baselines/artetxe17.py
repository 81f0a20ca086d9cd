"""Self-learning: a map makes a dictionary, the dictionary makes a map (Artetxe et al. 2017).

It assumes that a seed of a few pairs, or of identical words, is close enough to the truth for
nearest neighbours to be right more often than wrong.
"""

from __future__ import annotations

import torch
from torch import Tensor

from demalib.baselines.shared import Projections, fit_both_ways
from demalib.config import Config
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes
from demalib.tiles import iter_products

THRESHOLD = 1e-6  # least gain of the mean similarity, released code
WORDS = 20_000  # most frequent words that make the dictionary; the paper takes all 200,000
ROUNDS = 200  # never reached in practice; the paper has no bound


def nearest(mapped: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The largest dot product with a target, and that target's row, for each word, each ``(n,)``."""
    best = [cosines.max(dim=1) for _, cosines in iter_products(mapped, targets)]
    return torch.cat([b.values for b in best]), torch.cat([b.indices for b in best])


def self_learn(side: Pair) -> Projections:
    """Alternate Procrustes and forward dictionary until the mean similarity stands still."""
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
    """Self-learning from a seed (Artetxe et al. 2017, Algorithm 2), one run per direction.

    Defaults: normalisation unit, center (released code), which the table asks for; the seed is the
    train lexicon, all of it (the 5,000-word setting of its tables; a lexicon of 25 pairs will do),
    or else the identical words; each round pairs every source word with the target of the largest
    dot product, forgetting the seed; stop when the mean of these products gains less
    than 1e-6 (released code). Retrieval by dot product (released code).

    Args:
        pair: Two spaces with a train lexicon or with identical words.
        config: Only recorded; nothing is random.

    Note:
        The dictionary is made of the 20,000 most frequent words, the cut-off of the same authors'
        later system; the paper uses the whole vocabulary. Its third seed, numerals, is a part of
        the identical words, where the vocabulary has numerals at all.
    """
    return fit_both_ways(pair, config, self_learn)
