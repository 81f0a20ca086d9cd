"""A toy world in the plane to watch density matching: 21 English words and their translations."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from demalib.embedding import Embedding
from demalib.flow import LinearFlow
from demalib.hints import Lexicon
from demalib.losses import density_loss
from demalib.mixture import WordMixture

# Each language's words are sorted by frequency, in the order of the registry's vectors; no word is
# in both languages. The positions are made up: related words are close together, and the cloud is
# asymmetric. This layout was chosen because with wide Gaussians its loss has a single valley; in most
# random layouts some starts end in a false one (01_density counts them).
ENGLISH = """
time temps 0.90 0.25 | day jour 0.95 -0.05 | school école 0.35 -0.45 | city ville 0.20 -0.30
night nuit 1.10 0.10 | water eau 0.50 0.75 | house maison 0.55 -0.15 | mother mère 0.00 0.55
father père 0.15 0.25 | street rue 0.10 -0.05 | brother frère -0.15 0.70 | dog chien -0.65 -0.55
rain pluie 0.10 0.90 | wind vent 0.60 1.20 | snow neige 0.10 1.20 | sea mer 0.30 1.05
horse cheval -1.05 -0.80 | wine vin -0.45 0.55 | milk lait -0.40 0.35 | cat chat -1.05 -0.40
bread pain -0.50 0.15
"""
FRENCH = """
temps jour ville maison eau école père rue nuit mère mer frère chat vent vin chien lait cheval
neige pluie pain
"""


def plane(
    degrees: float = 120.0, noise: float = 0.05, seed: int = 0
) -> tuple[Embedding, Embedding, Lexicon]:
    """Make English words, French words as a rotated copy with noise, and their dictionary.

    Args:
        degrees: Angle by which French is rotated, counter-clockwise.
        noise: Standard deviation of the noise on every French coordinate.
        seed: Seed of the noise.

    Returns:
        The English and the French embedding, 21 words in 2 dimensions each, and the translations,
        English first. Each language has its own order of frequency, so equal row numbers do not
        imply a translation.
    """
    entries = [entry.split() for line in ENGLISH.strip().split("\n") for entry in line.split("|")]
    places = {french: (float(a), float(b)) for _, french, a, b in entries}
    x = np.array(list(places.values()), dtype=np.float32)
    y = np.array([places[word] for word in FRENCH.split()]) @ rotation(degrees).numpy()
    y += noise * np.random.default_rng(seed).standard_normal(y.shape)
    src = Embedding([english for english, *_ in entries], x, "en")
    tgt = Embedding(FRENCH.split(), y.astype(np.float32), "fr")
    return src, tgt, Lexicon([(english, french) for english, french, *_ in entries], "toy")


def rotation(degrees: float) -> Tensor:
    """Make the map ``(2, 2)`` that rotates row vectors counter-clockwise: ``x @ W``."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return torch.tensor([[c, s], [-s, c]])


def angle(W: Tensor) -> float:
    """Compute the angle, 0 to 360 degrees, of the rotation nearest to a map ``(2, 2)``."""
    return math.degrees(math.atan2(W[0, 1] - W[1, 0], W[0, 0] + W[1, 1])) % 360


def degrees_apart(a: float, b: float) -> float:
    """Compute the difference of two angles, 0 to 180 degrees."""
    return abs((a - b + 180) % 360 - 180)


def grid(reach: float, n: int = 121) -> Tensor:
    """Make a square grid of points from ``-reach`` to ``reach``, row by row, ``(n * n, 2)``."""
    line = torch.linspace(-reach, reach, n)
    y, x = torch.meshgrid(line, line, indexing="ij")
    return torch.stack([x.reshape(-1), y.reshape(-1)], dim=1)


@torch.no_grad()
def landscape(
    maps: Iterable[Tensor], x: Tensor, target_mixture: WordMixture, ranks: Tensor | None = None
) -> list[float]:
    """Compute the density loss of several maps on the same samples (Eq. 8, or Eq. 10).

    Args:
        maps: Matrices, ``(d, d)`` each.
        x: Samples of the source mixture, ``(B, d)``.
        target_mixture: The mixture that scores the mapped samples.
        ranks: Ranks of the words that ``x`` was sampled from, ``(B,)``; without them the naive
            prior is used.

    Returns:
        The loss of each map in nats.
    """
    flows = (LinearFlow(x.shape[1], weight=W) for W in maps)
    return [float(density_loss(flow, x, target_mixture, ranks)) for flow in flows]
