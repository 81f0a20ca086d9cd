"""The systems without a hint where their assumption is true: on a rotated, noised copy."""

from __future__ import annotations

import time
from typing import Any

import torch

from bench.words import frequent, noised
from demalib.config import preset
from demalib.embedding import Embedding
from demalib.flow import random_orthogonal
from demalib.pair import make_pair, retrievers
from demalib.retrieval import Metric
from demalib.solvers import SOLVERS


def control(words: int = 20_000) -> dict[str, Any]:
    """Measure CSLS P@1 of 1,500 English words against a rotated, noised copy with other names.

    A system that fails here fails because of its code or its size; one that succeeds here and
    fails on two languages fails there because of their vectors.

    Returns:
        By system: P@1 of both directions, and seconds.
    """
    x, rows = frequent("en", words), torch.arange(5000, 6500)
    return {
        name: recover(x, rows, name) for name, solver in SOLVERS.items() if solver.hint == "none"
    }


def recover(x: torch.Tensor, rows: torch.Tensor, name: str) -> dict[str, float]:
    """Align words with their rotated, noised copy by one system; judge some of them.

    Args:
        x: Unit vectors, ``(n, d)``.
        rows: Words to judge by, row numbers.
        name: The system.
    """
    rotation = random_orthogonal(x.shape[1], torch.Generator().manual_seed(0))
    sides = [
        Embedding([f"{lang}{row}" for row in range(len(side))], side.numpy(), lang)
        for lang, side in {"en": x, "copy": noised(x, 0.3) @ rotation}.items()
    ]
    pair = make_pair(*sides, normalisation=SOLVERS[name].normalisation)
    start = time.perf_counter()
    mapping = SOLVERS[name].fit(pair, preset("en-fr", solver=name))
    out = {"seconds": time.perf_counter() - start}
    for direction, retriever in zip(("to", "back"), retrievers(mapping, pair), strict=True):
        best = retriever.translate(rows, Metric(), k=1)[1][:, 0].cpu()
        out[f"p@1 {direction}"] = float(best.eq(rows).float().mean())
    return out
