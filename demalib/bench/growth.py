"""How time grows with the vocabulary: CSLS, and the E-step of EM."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import torch

from demalib import plots
from demalib.bench.timing import peak_tensor_bytes, ratios
from demalib.em import choose_sigma2, expect, expect_near
from demalib.retrieval import Metric, Retriever, mean_top_cosine
from demalib.runs import project_root
from demalib.sources import load_vectors
from demalib.vectors import Policy

SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)


def copies(n: int, lang: str = "ru", noise: float = 0.6) -> tuple[torch.Tensor, torch.Tensor]:
    """The n most frequent words of a language and a noised copy of them, unit vectors, each (n, d).

    A rotation would change no cosine, so none is made.

    Args:
        n: How many words.
        lang: Their language.
        noise: Of the copy, relative to the length of a word; 0.6 leaves a cosine of 0.86.
    """
    x = torch.from_numpy(load_vectors(lang, Policy(max_vocab=n)).normalise().vectors)
    moved = torch.randn(x.shape, generator=torch.Generator().manual_seed(0)) / x.shape[1] ** 0.5
    return x, torch.nn.functional.normalize(x + noise * moved)


def plain_means(queries: torch.Tensor, others: torch.Tensor, knn: int = 10) -> torch.Tensor:
    """r(.) of CSLS as it is commonly written: 128 queries at a time, as MUSE does, ``(Q,)``."""
    parts = [(part @ others.T).topk(knn, dim=1).values.mean(dim=1) for part in queries.split(128)]
    return torch.cat(parts)


def csls(queries: int = 1500) -> dict[str, Any]:
    """The ten best translations of 1,500 words under CSLS, lazily and by brute force.

    The queries have ranks from 5,000 on, as MUSE's test words do. Brute force computes r_S of all
    target words, by the plain formula or by demalib's tiles; r_T of the queries alone.

    Returns:
        By size: seconds, the lazy ones relative to the others, the share of translations that
        are the same, and the peak of megabytes beyond the vectors.
    """
    out, rows = {}, torch.arange(5000, 5000 + queries)
    means = {"lazy": None, "brute force": plain_means, "in tiles": mean_top_cosine}
    for n in SIZES[3:]:  # at 20,000 words the wanted translations are too many to be lazy
        words, found, seconds = copies(n), {}, {}
        for name, r in means.items():
            way, start = Retriever(*words), time.perf_counter()
            if r:
                way.r_src = r(way.targets, way.mapped)  # of all target words
            found[name] = way.translate(rows, Metric())[1]
            seconds[name] = time.perf_counter() - start
        again = partial(Retriever(*words).translate, rows, Metric())
        out[n] = ratios("lazy", seconds, {"lazy": peak_tensor_bytes(again) / 2**20})
        out[n]["same"] = float(found["lazy"].eq(found["brute force"]).float().mean())
    _draw_growth("csls", {name: {n: out[n]["seconds"][name] for n in out} for name in means})
    return out


def em(plain_up_to: int = 20_000) -> dict[str, Any]:
    """One sharp E-step over all words of either side: near pairs, and all pairs.

    Returns:
        Seconds by size, the slopes of their logarithms, the share left out by near pairs, and
        time and memory of near pairs relative to all pairs at the largest size that has both.
    """
    steps = {"near pairs": expect_near, "all pairs": expect}
    seconds: dict[str, dict[int, float]] = {name: {} for name in steps}
    omitted, ratio = {}, {}
    for n in SIZES:
        x, y = copies(n)
        how = (torch.eye(x.shape[1]), choose_sigma2(x, y, 2.0, 2.0), 2.0, 1.0)
        for name, step in steps.items():
            if name == "all pairs" and n > plain_up_to:
                continue
            start = time.perf_counter()
            found = step(x, y, *how)
            seconds[name][n] = time.perf_counter() - start
            omitted[n] = max(omitted.get(n, 0.0), found.omitted)
        if n == plain_up_to:
            peak = {
                name: peak_tensor_bytes(partial(step, x, y, *how)) / 2**20
                for name, step in steps.items()
            }
            ratio = ratios("near pairs", {name: seconds[name][n] for name in steps}, peak)
    slopes = _draw_growth("em", seconds)
    return {"seconds": seconds, "slope": slopes, "omitted": omitted, f"{plain_up_to}": ratio}


def _draw_growth(name: str, seconds: dict[str, dict[int, float]]) -> dict[str, float]:
    """Draw seconds over sizes; the slope of each line."""
    plots.style()
    slopes = {
        line: float(np.polyfit(np.log(list(at)), np.log(list(at.values())), 1)[0])
        for line, at in seconds.items()
    }
    path = project_root() / "results" / "figures" / f"growth_{name}.png"
    plots.save(plots.growth(seconds, slopes), path)
    return slopes
