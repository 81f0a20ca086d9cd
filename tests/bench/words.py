"""Words that the parts measure with."""

from __future__ import annotations

import torch
from torch.nn.functional import normalize

from demalib.data.registry import load_vectors
from demalib.pair import Pair, make_pair


def english_french(words: int = 0) -> Pair:
    """Load the most frequent English and French words, all of them by default."""
    src, tgt = (load_vectors(lang).head(words) for lang in ("en", "fr"))
    return make_pair(src, tgt)


def frequent(lang: str, n: int) -> torch.Tensor:
    """Load the n most frequent words of a language as unit vectors, ``(n, d)``."""
    return torch.from_numpy(load_vectors(lang).head(n).normalise().vectors)


def noised(x: torch.Tensor, noise: float) -> torch.Tensor:
    """Copy unit vectors with noise, as unit vectors, ``(n, d)``.

    Args:
        x: Unit vectors, ``(n, d)``.
        noise: Relative to the length of a word; 0.6 leaves a cosine of 0.86.
    """
    moved = torch.randn(x.shape, generator=torch.Generator().manual_seed(0)) / x.shape[1] ** 0.5
    return normalize(x + noise * moved)
