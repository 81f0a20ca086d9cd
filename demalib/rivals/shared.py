"""What the rivals have in common: the row of the table, the train lexicon, the common space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from demalib.config import Config
from demalib.files import DataError
from demalib.mapping import Mapping, Pair
from demalib.retrieval import Metric
from demalib.vectors import NORMALISATION


@dataclass(frozen=True)
class Rival:
    """A system of the paper's tables.

    Attributes:
        fit: The function that learns the map.
        hint: What it learns from: ``none``, ``identical`` or ``train`` (a train lexicon).
        paper: Who described it.
        row: Its name in Tables 1 to 3.
        steps: The normalisation of its own paper, for :func:`demalib.make_pair`.
        metric: The retrieval of its row.
        settings: Fields of :class:`demalib.Config` that its row asks for.
    """

    fit: Callable[[Pair, Config], Mapping]
    hint: str
    paper: str
    row: str
    steps: tuple[str, ...] = NORMALISATION
    metric: Metric = Metric("csls")
    settings: dict[str, Any] = field(default_factory=dict)


def train_rows(side: Pair, system: str, at_least: int = 1) -> np.ndarray:
    """Row numbers of the train lexicon's pairs, ``(n, 2)``.

    Args:
        side: The pair, asked from the side whose lexicon is wanted.
        system: Who asks, for the message.
        at_least: Different words that either side of the lexicon must have.

    Raises:
        DataError: There is no lexicon, or it is too small for the system.
    """
    way = f"{side.src.lang}-{side.tgt.lang}"
    if side.train is None:
        raise DataError(
            f"{system} learns from a dictionary and has none for {way}; give one with --lexicon, "
            "or use a system that needs none, such as 'identical'"
        )
    have = min(len(np.unique(side.train[:, column])) for column in (0, 1))
    if have < at_least:
        raise DataError(
            f"{system} needs {at_least} different words on either side of the {way} lexicon, "
            f"it has {have}; give a larger lexicon, or use 'procrustes'"
        )
    return side.train


def train_vectors(side: Pair, system: str, at_least: int = 1) -> tuple[Tensor, Tensor]:
    """Vectors of the train lexicon's pairs, each ``(n, d)``, float64; see :func:`train_rows`."""
    rows = train_rows(side, system, at_least)
    return side.x[rows[:, 0]].double(), side.y[rows[:, 1]].double()


def fit_both_ways(pair: Pair, config: Config, fit_one: Callable[[Pair], Tensor]) -> Mapping:
    """The maps of both directions, each learned by ``fit_one`` from its own lexicon."""
    W_xy, W_yx = (fit_one(side).float() for side in (pair, pair.swap()))
    return Mapping.of(W_xy, W_yx, pair, config)


def fold(P_x: Tensor, P_y: Tensor) -> Tensor:
    r"""One map for a method that moves both sides into a common space, ``(d, d)``.

    With :math:`W = P_x P_y^T` every score is kept as a dot product,
    :math:`\langle xW, y \rangle = \langle xP_x, yP_y \rangle`.

    Args:
        P_x: Source space to common space, ``(d, k)``.
        P_y: Target space to common space, ``(d, k)``.

    Note:
        The method's own cosine also divides by :math:`|yP_y|`, which no map of x alone can
        express: dividing by :math:`|y|` instead is the same only where :math:`P_y` is a rotation.
    """
    return P_x @ P_y.T


def require_words(pair: Pair, system: str) -> None:
    """More words than dimensions on either side, without which a space has no shape to match.

    Raises:
        DataError: A side has too few.
    """
    for side in (pair.src, pair.tgt):
        if len(side) <= side.dim:
            raise DataError(
                f"{system} compares the shapes of two spaces and needs more than {side.dim} words "
                f"a side (its dimensions), {side.lang} has {len(side)}; read more words"
            )


def seeded_layers(sizes: tuple[int, ...], generator: torch.Generator) -> list[torch.nn.Linear]:
    """Linear layers of these sizes with torch's usual start, but drawn from ``generator``."""
    layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    for layer in layers:
        for weight in (layer.weight, layer.bias):
            bound = layer.in_features**-0.5
            torch.nn.init.uniform_(weight, -bound, bound, generator=generator)
    return layers
