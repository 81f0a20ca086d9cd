"""Robust self-learning: map and stochastic dictionary improve each other (SL-unsup, SL-unsup-ID).

It assumes that translations have similar similarities to the other words of their own language,
or, for SL-unsup-ID, that identical words are translations.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.baselines.shared import Sizes, require_words
from demalib.config import Config
from demalib.device import make_generator
from demalib.finish import Evidence, symmetric_step
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes
from demalib.retrieval import csls_, mean_top_cosine
from demalib.shapes import similarity_profiles
from demalib.tiles import iter_products

START_WORDS = 4000  # words whose similarities are compared, released code
WORDS = 20_000  # vocabulary cut-off of the last dictionary, Section 3.3
KEEP, GROWTH = 0.1, 2.0  # p of the stochastic dictionary, and its factor, Section 3.3
THRESHOLD = 1e-6  # least gain of the mean similarity, Section 3.3
WIDEN = 2  # rounds over all WORDS after the stochastic ones; ours, see the Note of fit


class Size(NamedTuple):
    """Settings that the recipe decides."""

    words: int  # vocabulary cut-off of the stochastic dictionaries
    patience: int  # rounds without gain before p grows
    rounds: int  # most rounds at one p


PUBLISHED = Size(20_000, 50, 10_000)  # Section 3.3, which has no bound on rounds
LAPTOP = Size(3000, 10, 20)
SIZES = Sizes(LAPTOP, PUBLISHED)


def start_dictionary(pair: Pair, knn: int) -> Tensor:
    """Pair words of both sides by their profiles under CSLS (Section 3.2), ``(2 n, 2)``."""
    n = min(START_WORDS, len(pair.x), len(pair.y))
    src, tgt = similarity_profiles(pair.x[:n]), similarity_profiles(pair.y[:n])
    return stochastic_dictionary(src, tgt, 1.0, knn)[0]


def stochastic_dictionary(
    mapped: Tensor,
    targets: Tensor,
    keep: float,
    knn: int,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, float]:
    """Find the best CSLS partners of both sides; each score is kept with probability ``keep``.

    Args:
        mapped: Unit source vectors in the target space, ``(n, d)``.
        targets: Unit target vectors, ``(m, d)``.
        keep: The probability p; each direction drops its own scores.
        knn: Neighbours k of CSLS.
        generator: Source of randomness; unused if ``keep`` is 1.

    Returns:
        Row numbers, ``(n + m, 2)``, with a pair twice if it is the best of both sides (Section
        3.3 concatenates the two directions), and the objective: the mean cosine to the nearest
        neighbour over all scores, averaged over both directions.
    """
    n, m = len(mapped), len(targets)
    r_tgt, r_src = mean_top_cosine(mapped, targets, knn), mean_top_cosine(targets, mapped, knn)
    forward, backward = (mapped.new_zeros(size, dtype=torch.long) for size in (n, m))
    best, near_tgt, near_src = (mapped.new_full((size,), -torch.inf) for size in (m, n, m))
    for part, scores in iter_products(mapped, targets):
        near_tgt[part] = scores.amax(dim=1)
        near_src = torch.maximum(near_src, scores.amax(dim=0))
        csls_(scores, r_src, r_tgt[part])
        forward[part] = _drop(scores, keep, generator).argmax(dim=1)
        value, row = _drop(scores, keep, generator).max(dim=0)
        better = value > best
        best = torch.where(better, value, best)
        backward = torch.where(better, row + part.start, backward)
    pairs = [
        torch.stack([torch.arange(n, device=forward.device), forward], 1),
        torch.stack([backward, torch.arange(m, device=backward.device)], 1),
    ]
    return torch.cat(pairs), float(near_tgt.mean() + near_src.mean()) / 2


def _drop(scores: Tensor, keep: float, generator: torch.Generator | None) -> Tensor:
    """Set scores to -inf with probability 1 - ``keep``; 16 random bits each are enough."""
    if keep >= 1:
        return scores
    draws = torch.empty(scores.shape, dtype=torch.int16, device=scores.device).random_(
        generator=generator
    )
    return scores.masked_fill(draws >= round(keep * 2**15), -torch.inf)


def self_learn(pair: Pair, found: Tensor, config: Config) -> Tensor:
    """Alternate Procrustes and dictionary; double p whenever the objective stops rising."""
    size = SIZES.of(config)
    generator = make_generator(config.seed, pair.x.device)
    keep, best, idle, spent = KEEP, -torch.inf, 0, 0
    while True:
        mapped, targets = _mapped(pair, found, size.words)
        found, objective = stochastic_dictionary(mapped, targets, keep, config.knn, generator)
        spent, idle = spent + 1, 0 if objective >= best + THRESHOLD else idle + 1
        best = max(best, objective)
        if idle >= size.patience or spent >= size.rounds:
            if keep >= 1:
                break
            keep, idle, spent = min(1.0, GROWTH * keep), 0, 0
    for _ in range(WIDEN):
        mapped, targets = _mapped(pair, found, WORDS)
        found, _ = stochastic_dictionary(mapped, targets, 1.0, config.knn)
    return found


def _mapped(pair: Pair, found: Tensor, words: int) -> tuple[Tensor, Tensor]:
    """Return unit vectors of frequent words, the source mapped by Procrustes on the dictionary."""
    W = procrustes(pair.x[found[:, 0]], pair.y[found[:, 1]])
    return normalize(pair.x[:words] @ W, dim=1), normalize(pair.y[:words], dim=1)


def projections(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the maps of both sides into the common space, symmetrically re-weighted, ``(d, d)``.

    The formula is that of :func:`demalib.finish.symmetric_step`, on certain pairs.

    Args:
        a: Source vectors of the dictionary's pairs, ``(n, d)``, float64.
        b: Target vectors of the same pairs, ``(n, d)``, float64.
    """
    return symmetric_step(Evidence.of_pairs(a, b))


def fit(pair: Pair, config: Config) -> Mapping:
    r"""Fit SL-unsup: robust self-learning without hints (Artetxe et al. 2018b, Section 3).

    Defaults: normalisation unit, center, unit (Section 3.1); start from the sorted similarities
    (3.2) of 4,000 words (released code); stochastic dictionaries with p = 0.1, doubled after 50
    rounds without a gain of 1e-6, cut-off 20,000 words, CSLS with k = 10, both directions (3.3);
    symmetric re-weighting at the end (3.4), with whitening and de-whitening (released code).

    Args:
        pair: Two spaces.
        config: ``seed``, ``knn``; the recipe ``laptop`` has 3,000 words, 10 rounds of patience
            and at most 20 rounds at one p instead.

    Note:
        Published sizes take hours on a CPU (released code's own notes). After the laptop's
        stochastic rounds, two more use all 20,000 words. A dropped score never wins here; the
        released code sets it to 0.
    """
    require_words(pair, "sl-unsup")
    return _finish(pair, start_dictionary(pair, config.knn), config)


def fit_identical(pair: Pair, config: Config) -> Mapping:
    """Fit SL-unsup-ID: as :func:`fit`, but start from all identical words (released code)."""
    require_words(pair, "sl-unsup-id")
    return _finish(pair, torch.from_numpy(pair.require_identical().copy()), config)


def _finish(pair: Pair, found: Tensor, config: Config) -> Mapping:
    found = self_learn(pair, found, config)
    P_x, P_y = projections(pair.x[found[:, 0]].double(), pair.y[found[:, 1]].double())
    P_x, P_y = P_x.float(), P_y.float()
    return Mapping.of(P_x, P_y, pair, config, P_y=P_y, P_x=P_x)
