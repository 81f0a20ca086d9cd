"""Code that baselines share: the train lexicon, both directions, the choice of a setting."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import Mapping, Pair
from demalib.retrieval import Metric, Retriever

Projections = tuple[Tensor, Tensor | None]  # maps of source and target words into a common space
Learner = Callable[[np.ndarray], Projections]  # learns from the rows of train pairs
HELD_OUT = 0.2  # share of a lexicon's source words by which a setting is chosen


class Sizes(NamedTuple):
    """The amount of work by recipe: what a laptop can do, and what the system's paper does."""

    laptop: NamedTuple
    published: NamedTuple

    def of(self, config: Config) -> Any:
        """Return the size for ``config.recipe``."""
        return self.laptop if config.recipe == "laptop" else self.published


def train_rows(side: Pair, system: str, at_least: int = 1) -> np.ndarray:
    """Return the row numbers of the train lexicon's pairs, ``(n, 2)``.

    Args:
        side: The pair, swapped for the lexicon of the other direction.
        system: Name of the system, for the error message.
        at_least: Number of different words that each side of the lexicon must have.

    Raises:
        DataError: There is no lexicon, or it is too small for the system.
    """
    langs = f"{side.src.lang}-{side.tgt.lang}"
    if side.train is None:
        raise DataError(
            f"{system} learns from a dictionary and has none for {langs}; give one with --lexicon, "
            "or use a system that needs none, such as 'identical'"
        )
    have = min(len(np.unique(side.train[:, column])) for column in (0, 1))
    if have < at_least:
        raise DataError(
            f"{system} needs {at_least} different words on each side of the {langs} lexicon, "
            f"it has {have}; give a larger lexicon, or use 'procrustes'"
        )
    return side.train


def train_vectors(side: Pair, system: str, at_least: int = 1) -> tuple[Tensor, Tensor]:
    """Return the vectors of the train lexicon's pairs, each ``(n, d)`` float64."""
    rows = train_rows(side, system, at_least)
    return side.x[rows[:, 0]].double(), side.y[rows[:, 1]].double()


def fit_both_directions(
    pair: Pair, config: Config, fit_one: Callable[[Pair], Projections]
) -> Mapping:
    r"""Learn the maps of both directions with ``fit_one``, each from its own lexicon.

    Args:
        pair: Two spaces with a train lexicon.
        config: Settings, which are only recorded.
        fit_one: Returns :math:`P_x` and :math:`P_y`, ``(d, d)`` each: words of the two sides are
            compared by the cosine of :math:`xP_x` and :math:`yP_y`. None is the identity.
    """
    (W_xy, P_y), (W_yx, P_x) = (fit_one(side) for side in (pair, pair.swap()))
    P_y, P_x = (None if P is None else P.float() for P in (P_y, P_x))
    return Mapping.of(W_xy.float(), W_yx.float(), pair, config, P_y=P_y, P_x=P_x)


def choose(
    side: Pair,
    pairs: np.ndarray,
    config: Config,
    learners: dict[float, Learner],
) -> float:
    """Choose the candidate whose map finds most of a held-out fifth of the train pairs.

    As for the test words, retrieval is by CSLS, but only among the ``config.max_rank`` most
    frequent words. No test data is used.

    Args:
        side: The two spaces.
        pairs: Row numbers of the train lexicon's pairs, ``(n, 2)``.
        config: ``seed`` decides which source words are held out.
        learners: For each candidate a function that learns from some of the pairs; the first
            candidate wins if nothing can be held out.
    """
    queries = np.random.default_rng(config.seed).permutation(np.unique(pairs[:, 0]))
    out = np.isin(pairs[:, 0], queries[: round(HELD_OUT * len(queries))])
    held = pairs[out & (pairs < config.max_rank).all(axis=1)]
    if not len(held):
        return next(iter(learners))
    held_queries, found = torch.from_numpy(np.unique(held[:, 0])), {}
    gold = set(map(tuple, held.tolist()))
    for candidate, learn in learners.items():
        P_x, P_y = learn(pairs[~out])
        x, y = side.x[: config.max_rank] @ P_x.float(), side.y[: config.max_rank]
        retriever = Retriever(x, y if P_y is None else y @ P_y.float(), config.knn)
        best = retriever.translate(held_queries, Metric("csls"), k=1)[1][:, 0]
        answers = zip(held_queries.tolist(), best.tolist(), strict=True)
        found[candidate] = sum(answer in gold for answer in answers)
    return max(found, key=lambda candidate: found[candidate])


def require_words(pair: Pair, system: str) -> None:
    """Require more words than dimensions on each side; otherwise a space has no shape to match.

    Raises:
        DataError: A side has too few.
    """
    for side in (pair.src, pair.tgt):
        if len(side) <= side.dim:
            raise DataError(
                f"{system} compares the shapes of two spaces and needs more than {side.dim} words "
                f"per side (the dimension), {side.lang} has {len(side)}; read more words"
            )


def seeded_layers(sizes: tuple[int, ...], generator: torch.Generator) -> list[torch.nn.Linear]:
    """Make linear layers with torch's usual initialisation, but drawn from ``generator``."""
    layers = [torch.nn.Linear(a, b, device=generator.device) for a, b in pairwise(sizes)]
    for layer in layers:
        for weight in (layer.weight, layer.bias):
            bound = layer.in_features**-0.5
            torch.nn.init.uniform_(weight, -bound, bound, generator=generator)
    return layers
