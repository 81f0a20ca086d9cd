"""A world in the plane, to see density matching at work: 21 English words and their French ones."""

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

# Words of each language by frequency, in the order of the registry's vectors; no two are spelled
# alike. The places are made up: words of one kind lie together, and the cloud is lopsided. They were
# picked among 174 random layouts since wide Gaussians leave a single valley of the loss in them; in
# most layouts some starts end in a false one.
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
    """English words in the plane, French ones as a turned and noised copy, and the dictionary.

    Args:
        degrees: How far French is turned against English.
        noise: Standard deviation of what is added to every French coordinate.
        seed: Of that noise.

    Returns:
        Both sides, 21 words in 2 dimensions each, every side in its own order of frequency, so
        that a row number says nothing certain; and the translations, English first.
    """
    entries = [entry.split() for line in ENGLISH.strip().split("\n") for entry in line.split("|")]
    places = {french: (float(a), float(b)) for _, french, a, b in entries}
    x = np.array(list(places.values()), dtype=np.float32)
    turned = np.array([places[word] for word in FRENCH.split()]) @ rotation(degrees).numpy()
    turned += noise * np.random.default_rng(seed).standard_normal(turned.shape)
    src = Embedding([english for english, *_ in entries], x, "en")
    tgt = Embedding(FRENCH.split(), turned.astype(np.float32), "fr")
    return src, tgt, Lexicon([(english, french) for english, french, *_ in entries], "toy")


def rotation(degrees: float) -> Tensor:
    """The map ``(2, 2)`` that turns row vectors counter-clockwise: ``x @ W``."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return torch.tensor([[c, s], [-s, c]])


def angle(W: Tensor) -> float:
    """How far a map ``(2, 2)`` turns: the degrees, 0 to 360, of the rotation nearest to it."""
    return math.degrees(math.atan2(W[0, 1] - W[1, 0], W[0, 0] + W[1, 1])) % 360


def degrees_apart(a: float, b: float) -> float:
    """The angle between two directions, 0 to 180 degrees."""
    return abs((a - b + 180) % 360 - 180)


def grid(reach: float, n: int = 121) -> Tensor:
    """Points of a square grid from ``-reach`` to ``reach``, row by row, ``(n * n, 2)``."""
    line = torch.linspace(-reach, reach, n)
    down, across = torch.meshgrid(line, line, indexing="ij")
    return torch.stack([across.reshape(-1), down.reshape(-1)], dim=1)


@torch.no_grad()
def landscape(
    maps: Iterable[Tensor], x: Tensor, target: WordMixture, ranks: Tensor | None = None
) -> list[float]:
    """Compute the density loss of several maps on the same samples (Eq. 8, or Eq. 10).

    Args:
        maps: Matrices, ``(d, d)`` each.
        x: Samples of the source, ``(B, d)``.
        target: The mixture that scores them.
        ranks: Ranks of the words behind ``x``, ``(B,)``; the naive prior without them.

    Returns:
        A number of nats for each map.
    """
    flows = (LinearFlow(x.shape[1], weight=W) for W in maps)
    return [float(density_loss(flow, x, target, ranks)) for flow in flows]
