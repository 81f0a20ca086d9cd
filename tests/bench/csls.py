"""CSLS of some words, lazily and by brute force, as the vocabulary grows."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.timing import peak_tensor_bytes, ratios
from bench.words import frequent, noised
from demalib import plots
from demalib.retrieval import Metric, Retriever, mean_top_cosine
from demalib.runs import project_root

SIZES = (50_000, 100_000, 200_000)  # at 20,000 words most r_S are needed: nothing to be lazy about


def csls(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Find the ten best translations of 1,500 words under CSLS, lazily and by brute force.

    The queries have ranks from 5,000 on, as MUSE's test words do. The vocabulary is the most
    frequent Russian words, and a noised copy of them.

    Returns:
        By size, what :func:`compare` found. Also ``results/figures/growth_csls.png``.
    """
    rows = torch.arange(5000, 6500)
    out = {n: compare(x := frequent("ru", n), noised(x, 0.6), rows) for n in sizes}
    _draw({name: {n: out[n]["seconds"][name] for n in out} for name in out[sizes[0]]["seconds"]})
    return out


def compare(x: Tensor, y: Tensor, rows: Tensor) -> dict[str, Any]:
    """Translate some words lazily, with all r_S by the plain formula, and with all r_S in tiles.

    Returns:
        Seconds, the lazy ones relative to the others, the share of translations that are the
        same, and the peak of megabytes beyond the vectors.
    """
    means = {"lazy": None, "brute force": plain_means, "in tiles": mean_top_cosine}
    found, seconds = {}, {}
    for name, r in means.items():
        retriever, start = Retriever(x, y), time.perf_counter()
        if r:
            retriever.r_src = r(retriever.targets, retriever.mapped)  # of all target words
        found[name] = retriever.translate(rows, Metric())[1]
        seconds[name] = time.perf_counter() - start
    again = partial(Retriever(x, y).translate, rows, Metric())
    out = ratios("lazy", seconds, {"lazy": peak_tensor_bytes(again) / 2**20})
    return {**out, "same": float(found["lazy"].eq(found["brute force"]).float().mean())}


def plain_means(queries: Tensor, others: Tensor, knn: int = 10) -> Tensor:
    """Compute r(.) of CSLS as it is commonly written: 128 queries at a time, like MUSE, ``(Q,)``."""
    parts = [(part @ others.T).topk(knn, dim=1).values.mean(dim=1) for part in queries.split(128)]
    return torch.cat(parts)


def _draw(seconds: dict[str, dict[int, float]]) -> None:
    """Draw seconds over sizes, each line with its slope."""
    plots.style()
    slopes = {
        line: float(np.polyfit(np.log(list(at)), np.log(list(at.values())), 1)[0])
        for line, at in seconds.items()
    }
    path = project_root() / "results" / "figures" / "growth_csls.png"
    plots.save(plots.growth(seconds, slopes), path)
