"""Adversarial training, then Procrustes refinement: MUSE (U+R) of the paper's tables.

It assumes that one rotation makes the two clouds of words so similar that a classifier cannot
distinguish mapped source words from target words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, leaky_relu

from demalib.baselines.shared import Sizes, require_words, seeded_layers
from demalib.config import Config
from demalib.device import make_generator
from demalib.pair import Mapping, Pair
from demalib.procrustes import dictionary_cosine, refine
from demalib.progress import progress

BATCH = 32  # Section 3.1
JUDGE_STEPS = 5  # discriminator steps before each step of the map, released code
DROPOUT, SLOPE = 0.1, 0.2  # of the discriminator, Section 3.1
SMOOTHING = 0.2  # of its labels, Section 3.1; released code 0.1
DECAY, SHRINK = 0.95, 0.5  # of the rate, Section 3.1; DECAY in the released code 0.98
BETA = 0.01  # of the orthogonal update, Section 3.3; released code 0.001
REFINEMENTS = 5  # released code
SPREAD = 0.5  # standard deviation of a coordinate; ours, see the Note of fit


class Size(NamedTuple):
    """Settings that the recipe decides."""

    words: int  # most frequent words, which the discriminator sees
    hidden: int  # units in each of its two hidden layers
    epochs: int
    steps: int  # of the map, per epoch
    rate: float  # of both players, at the start


PUBLISHED = Size(50_000, 2048, 5, 31_250, 0.1)  # Sections 3.1, 3.2; epochs of the released code
LAPTOP = Size(10_000, 256, 5, 3000, 0.5)
SIZES = Sizes(LAPTOP, PUBLISHED)


def judge(layers: list[torch.nn.Linear], points: Tensor) -> Tensor:
    """Compute the discriminator's logits that points are mapped source words, ``(B,)``."""
    for layer in layers[:-1]:
        points = leaky_relu(layer(points), SLOPE)
    return layers[-1](points)[:, 0]


def orthogonalise(W: Tensor) -> Tensor:
    r"""Step towards the orthogonal matrices: :math:`(1+\beta) W - \beta W W^T W` (Section 3.3)."""
    return (1 + BETA) * W - BETA * (W @ W.T @ W)


class Game:
    """The map against the discriminator.

    Args:
        x: Source words, ``(n, d)``.
        y: Target words, ``(m, d)``.
        hidden: Units in each hidden layer of the discriminator.
        generator: Source of randomness.
    """

    def __init__(self, x: Tensor, y: Tensor, hidden: int, generator: torch.Generator) -> None:
        self.x, self.y, self.generator = x, y, generator
        self.W = torch.eye(x.shape[1], device=x.device, requires_grad=True)
        self.layers = seeded_layers((x.shape[1], hidden, hidden, 1), generator)
        self.weights = [weight for layer in self.layers for weight in layer.parameters()]
        truth = torch.cat([x.new_ones(BATCH), x.new_zeros(BATCH)])
        self.labels = truth * (1 - 2 * SMOOTHING) + SMOOTHING

    def logits(self, W: Tensor) -> Tensor:
        """Judge a batch: mapped source words first, then target words, ``(2 B,)``."""
        rows = [
            torch.randint(len(side), (BATCH,), generator=self.generator, device=side.device)
            for side in (self.x, self.y)
        ]
        points = torch.cat([self.x[rows[0]] @ W, self.y[rows[1]]])
        kept = torch.rand(points.shape, generator=self.generator, device=points.device) >= DROPOUT
        return judge(self.layers, points * kept / (1 - DROPOUT))

    def step(self, rate: float) -> None:
        """Take some steps of the discriminator, then one of the map."""
        for _ in range(JUDGE_STEPS):
            self._descend(self.weights, self.logits(self.W.detach()), self.labels, rate)
        self._descend([self.W], self.logits(self.W), 1 - self.labels, rate)
        self.W.data = orthogonalise(self.W.data)

    @staticmethod
    def _descend(weights: Sequence[Tensor], logits: Tensor, labels: Tensor, rate: float) -> None:
        loss = binary_cross_entropy_with_logits(logits, labels)
        with torch.no_grad():
            for weight, gradient in zip(weights, torch.autograd.grad(loss, weights), strict=True):
                weight -= rate * gradient


def fit(pair: Pair, config: Config) -> Mapping:
    """Fit MUSE (U+R): an adversarial game, then refinement (Conneau et al. 2018, Sections 2, 3).

    Defaults: discriminator with two hidden layers of 2,048 units, leaky ReLU 0.2, dropout 0.1 of
    its input, label smoothing 0.2; batch 32, SGD at 0.1 for both, times 0.95 per epoch and halved
    when the criterion drops (Section 3.1); the 50,000 most frequent words (3.2); beta 0.01 (3.3);
    W starts as the identity, 5 discriminator steps per step of the map, 5 epochs of a million
    samples, halving from the second drop on (released code). The best epoch by the mean cosine of
    its CSLS dictionary (3.5) is refined 5 times (released code) with mutual neighbours (3.4).

    Args:
        pair: Two spaces.
        config: ``seed``; ``refinements``, ``dictionary``, ``max_rank`` and ``knn``; the recipe
            ``laptop`` has 10,000 words, 256 units and epochs of 3,000 steps at 0.5 instead.

    Note:
        The published sizes take about two hours per epoch on one CPU core. The released code does
        not require unit vectors. With them the discriminator would hardly learn, and at unit
        variance it soon knows every word; so coordinates have a standard deviation of 0.5. A common
        scale changes no cosine. On a rotated copy with some noise, the laptop's sizes find the
        rotation after 11,000 steps; they fail with a tenth of the steps or twice the rate.
    """
    require_words(pair, "muse")
    size = SIZES.of(config)
    x, y = (SPREAD * math.sqrt(pair.src.dim) * side[: size.words] for side in (pair.x, pair.y))
    game = Game(x, y, size.hidden, make_generator(config.seed, pair.x.device))
    rate, best, dropped = size.rate, game.W.detach(), False
    history: list[dict[str, float]] = []
    for epoch in progress(range(size.epochs), desc="muse", unit="epoch"):
        for _ in range(size.steps):
            game.step(rate)
        W = game.W.detach().clone()
        criterion = dictionary_cosine(pair.x @ W, pair.y, config.max_rank, config.knn)
        rate *= DECAY
        if history and criterion < max(row["criterion"] for row in history):
            rate, dropped = rate * (SHRINK if dropped else 1.0), True
        else:
            best = W
        history.append({"round": epoch + 1, "rate": rate, "criterion": criterion})
    rounds = REFINEMENTS if config.refinements < 0 else config.refinements
    W = refine(pair.x, pair.y, best, rounds, **config.refinement)
    return Mapping.orthogonal(W, pair, config, pd.DataFrame(history))
