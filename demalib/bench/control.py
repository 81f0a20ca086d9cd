"""What the systems without a hint find where what they assume is true: on a turned, noised copy."""

from __future__ import annotations

import time
from typing import Any

import torch

from demalib.bench.growth import copies
from demalib.config import preset
from demalib.flow import random_orthogonal
from demalib.mapping import make_pair
from demalib.pipeline import retrievers
from demalib.retrieval import Metric
from demalib.solvers import SOLVERS
from demalib.vectors import Embedding


def control() -> dict[str, Any]:
    """CSLS P@1 of 1,500 English words against a copy, turned and noised, under other names.

    A system that fails here fails for its code or its size; one that succeeds here and fails on
    two languages fails there for their vectors.

    Returns:
        By system: P@1 of both directions, and seconds.
    """
    x, y = copies(20_000, "en", 0.3)
    y = y @ random_orthogonal(y.shape[1], torch.Generator().manual_seed(0))
    sides = [
        Embedding([f"{lang}{row}" for row in range(len(side))], side.numpy(), lang)
        for lang, side in {"en": x, "copy": y}.items()
    ]
    rows, out = torch.arange(5000, 6500), {}
    for name, solver in SOLVERS.items():
        if solver.hint == "none":
            pair, start = make_pair(*sides, steps=solver.steps), time.perf_counter()
            mapping = solver.fit(pair, preset("en-fr", solver=name))
            out[name] = {"seconds": time.perf_counter() - start}
            for way, retriever in zip(("to", "back"), retrievers(mapping, pair), strict=True):
                best = retriever.translate(rows, Metric(), k=1)[1][:, 0]
                out[name][f"p@1 {way}"] = float(best.eq(rows).float().mean())
    return out
