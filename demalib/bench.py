"""``python -m demalib.bench [part...]``: what costs what, as ratios measured in one run.

Every part times rivals in turn on the same data, so that a noisy machine disturbs them alike.
The figures go to ``results/bench/bench.json``.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.profiler import ProfilerActivity, profile

from demalib import plots
from demalib.config import Config, preset
from demalib.density import log_density, rank_log_prior, sample_mixture, word_weights
from demalib.em import choose_sigma2, expect, expect_near, fit_em
from demalib.files import write_aside, write_json
from demalib.mapping import Mapping, Pair
from demalib.pipeline import Gold, judge_both, load_gold, load_pair, measure, retrievers
from demalib.retrieval import Metric, Retriever
from demalib.runs import project_root
from demalib.sources import load_vectors
from demalib.train import fit_gradient
from demalib.vectors import Policy


def in_turn(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each run; all take turns, after a first round that warms up."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def peak_tensor_bytes(run: Callable[[], Any]) -> int:
    """Most bytes that tensors made during one call held at the same time."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
        run()
    held = peak = 0
    for event in trace.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


# ---------------------------------------------------------------- the fused log-density


def density(B: int = 2048, N: int = 20_000, d: int = 300, rounds: int = 7) -> dict[str, Any]:
    """One step at the paper's size, forward and backward, against the plain formulas.

    Returns:
        Median seconds, peak megabytes, and the fused step's ratio to each rival.
    """
    sigma2, tau, gen = 0.01, 2.0, torch.Generator().manual_seed(0)
    centers = torch.nn.functional.normalize(torch.randn(N, d, generator=gen))
    y, ranks = sample_mixture(centers, B, sigma2, word_weights(N), gen)

    def fused() -> None:
        log_density(
            y.clone().requires_grad_(), centers, sigma2, ranks=ranks, tau=tau
        ).sum().backward()

    def plain(sq_dist: Callable) -> None:
        query = y.clone().requires_grad_()
        logits = rank_log_prior(ranks, N, tau) - sq_dist(query) / (2 * sigma2)
        log_norm = -0.5 * d * math.log(2 * math.pi * sigma2)
        (torch.logsumexp(logits, -1) + log_norm).sum().backward()

    def by_matmul(q: torch.Tensor) -> torch.Tensor:
        return q.square().sum(1, keepdim=True) - 2 * q @ centers.T + centers.square().sum(1)

    runs = {
        "fused": fused,
        "plain, cdist": lambda: plain(lambda q: torch.cdist(q, centers).square()),
        "plain, matmul": lambda: plain(by_matmul),
        "two bare products": lambda: (y @ centers.T) @ centers,
    }
    seconds = in_turn(runs, rounds)
    peak = {name: peak_tensor_bytes(run) / 2**20 for name, run in runs.items()}
    return {"size": {"B": B, "N": N, "d": d}, **_ratios("fused", seconds, peak)}


def _ratios(ours: str, seconds: dict[str, float], peak: dict[str, float]) -> dict[str, Any]:
    others = [name for name in seconds if name != ours]
    return {
        "seconds": seconds,
        "peak_mb": peak,
        "time_ratio": {name: seconds[ours] / seconds[name] for name in others},
        "memory_ratio": {name: peak[ours] / peak[name] for name in others if peak.get(name)},
    }


# ---------------------------------------------------------------- reading .vec files

_READERS = {
    "demalib": "from demalib.store import read_vectors as read\nread({path!r})",
    "demalib, cached": "from demalib.store import read_vectors as read\nread({path!r})",
    "plain loop": """
import numpy as np
lines = open({path!r}, encoding="utf-8")
n, d = map(int, next(lines).split())
words, out = [], np.empty((n, d), np.float32)
for i, line in enumerate(lines):
    fields = line.split()
    words.append(fields[0])
    out[i] = np.array(fields[1:], dtype=np.float32)""",
    "gensim": """
from gensim.models import KeyedVectors
KeyedVectors.load_word2vec_format({path!r})""",
}
_TIMED = """
import resource, sys, time
{imports}
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
{code}
print(time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024)
"""


def vectors(n: int = 200_000, d: int = 300) -> dict[str, Any]:
    """Reading the first 200k words of a ``.vec`` file, each reader in a process of its own."""
    rng = np.random.default_rng(0)
    seconds, peak = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "bench.vec")
        with open(path, "w") as file:
            file.write(f"{n} {d}\n")
            line = " ".join(["%.5g"] * d)
            for i in range(n):
                file.write(f"word{i} {line % tuple(rng.normal(0, 0.3, d))}\n")
        time.sleep(2.5)  # a file at rest, as a user's is
        for name, code in _READERS.items():
            imports, _, rest = code.strip().partition("\n")
            script = _TIMED.format(imports=imports, code=rest.format(path=path))
            env = {**os.environ, "DEMALIB_CACHE": str(Path(folder) / "cache")}
            out = subprocess.run(
                [sys.executable, "-c", script], env=env, capture_output=True, text=True
            )
            seconds[name], peak[name] = map(float, out.stdout.split())
    matrix = 4 * n * d / 2**20
    return {"words": n, "d": d, "matrix_mb": matrix, **_ratios("demalib", seconds, peak)}


# ---------------------------------------------------------------- solvers


def solvers(pair: str = "en-fr") -> dict[str, Any]:
    """P@1 of both solvers over the seconds they spent; judging them does not count.

    Returns:
        A curve per solver (seconds, and P@1 by direction), and how much of the gradient loop's
        time EM needs to reach the loop's last mean P@1. Also ``results/figures/solvers.png``.
    """
    muse = "muse" if os.environ.get("DEMALIB_MUSE") else ""
    config = preset(pair, lexicons=muse, validate_every=25)
    words, gold = load_pair(config), load_gold(config)
    fits = {"em": fit_em, "gradient": fit_gradient}
    curves = {name: _curve(fit, words, gold, config) for name, fit in fits.items()}
    _draw_solvers(curves)
    return {"pair": pair, "lexicons": gold.forward.name, "curves": curves, **_sooner(curves)}


def _curve(fit: Callable, words: Pair, gold: Gold, config: Config) -> list[dict[str, float]]:
    """P@1 by direction whenever a solver can be watched, and of its last map."""
    curve, watching, started = [], 0.0, time.perf_counter()

    def watch(_: int, W_xy: torch.Tensor, W_yx: torch.Tensor) -> dict[str, float]:
        nonlocal watching
        paused = time.perf_counter()
        ways = retrievers(Mapping.of(W_xy, W_yx, words, config), words)
        results = measure(judge_both(ways, words, gold, config, ("csls",)), gold)
        row = {way: figures["csls"]["p@1"] for way, figures in results.items()}
        curve.append({"seconds": paused - started - watching} | row)
        watching += time.perf_counter() - paused
        return row

    mapping = fit(words, config, watch=watch)
    watch(0, mapping.W_xy, mapping.W_yx)
    return curve


def _sooner(curves: dict[str, list[dict[str, float]]]) -> dict[str, float]:
    """When each solver first reaches the gradient loop's last mean P@1."""
    frames = {name: pd.DataFrame(curve).set_index("seconds") for name, curve in curves.items()}
    level = frames["gradient"].mean(axis=1).iloc[-1]
    first = {name: float(f.index[f.mean(axis=1) >= level].min()) for name, f in frames.items()}
    return {"level": float(level), "seconds_to_level": first,
            "time_ratio": first["em"] / frames["gradient"].index[-1]}  # fmt: skip


def _draw_solvers(curves: dict[str, list[dict[str, float]]]) -> None:
    plots.style()
    ax = plots.solvers({name: pd.DataFrame(curve) for name, curve in curves.items()})
    out = project_root() / "results" / "figures" / "solvers.png"
    with write_aside(out) as aside:
        ax.figure.savefig(aside, format="png")


# ---------------------------------------------------------------- growth with the vocabulary

SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
NOISE = 0.6  # of the copy, relative to the length of a word: translations have a cosine of 0.86


def copies(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The n most frequent Russian words and a noised copy of them, unit vectors, each (n, d).

    A rotation would change no cosine, so none is made.
    """
    x = torch.from_numpy(load_vectors("ru", Policy(max_vocab=n)).normalise().vectors)
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    return x, torch.nn.functional.normalize(x + NOISE * noise / x.shape[1] ** 0.5)


def csls(queries: int = 1500) -> dict[str, Any]:
    """The ten best translations of 1,500 words under CSLS, lazily and by brute force.

    The queries have ranks from 5,000 on, as MUSE's test words do.

    Returns:
        By size: seconds, their ratio, the share of translations that are the same, and the peak
        of megabytes beyond the vectors.
    """
    out, rows = {}, torch.arange(5000, 5000 + queries)
    for n in SIZES[2:]:
        words, found, seconds = copies(n), {}, {}
        for name in ("lazy", "brute force"):
            way, start = Retriever(*words), time.perf_counter()
            if name == "brute force":
                _ = way.r_src  # of all target words
            found[name] = way.translate(rows, Metric())[1]
            seconds[name] = time.perf_counter() - start
        same = found["lazy"].eq(found["brute force"]).float().mean()
        again = partial(Retriever(*words).translate, rows, Metric())
        out[n] = {"seconds": seconds, "same": float(same),
                  "time_ratio": seconds["lazy"] / seconds["brute force"],
                  "peak_mb": peak_tensor_bytes(again) / 2**20}  # fmt: skip
    _draw_growth("csls", {name: {n: out[n]["seconds"][name] for n in out} for name in seconds})
    return out


def em(plain_up_to: int = 20_000) -> dict[str, Any]:
    """One sharp E-step over all words of either side: near pairs, and all pairs.

    Returns:
        Seconds by size, the slopes of their logarithms, and the share left out by near pairs.
    """
    seconds: dict[str, dict[int, float]] = {"near pairs": {}, "all pairs": {}}
    omitted = {}
    for n in SIZES:
        x, y = copies(n)
        how = (torch.eye(x.shape[1]), choose_sigma2(x, y, 2.0, 2.0), 2.0, 1.0)
        runs = {"near pairs": expect_near, "all pairs": expect}
        for name, step in runs.items():
            if name == "all pairs" and n > plain_up_to:
                continue
            start = time.perf_counter()
            found = step(x, y, *how)
            seconds[name][n] = time.perf_counter() - start
            omitted[n] = max(omitted.get(n, 0.0), found.omitted)
    slopes = _draw_growth("em", seconds)
    return {"seconds": seconds, "slope": slopes, "omitted": omitted}


def _draw_growth(name: str, seconds: dict[str, dict[int, float]]) -> dict[str, float]:
    """Draw seconds over sizes; the slope of each line."""
    plots.style()
    slopes = {
        line: float(np.polyfit(np.log(list(at)), np.log(list(at.values())), 1)[0])
        for line, at in seconds.items()
    }
    ax = plots.growth(seconds, slopes)
    with write_aside(project_root() / "results" / "figures" / f"growth_{name}.png") as aside:
        ax.figure.savefig(aside, format="png")
    return slopes


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "density": density,
    "vectors": vectors,
    "solvers": solvers,
    "em": em,
    "csls": csls,
}


def _blas() -> str:
    """The library behind torch's matrix products."""
    for known in ("mkl", "openblas", "blis", "accelerate"):
        if f"blas_info={known}" in torch.__config__.show().lower():
            return known
    return "unknown"


def main(names: list[str]) -> None:
    """Run the named parts, or all; print and keep their figures."""
    path = project_root() / "results" / "bench" / "bench.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for name in names or PARTS:
        kept[name] = PARTS[name]() | {"threads": torch.get_num_threads(), "blas": _blas()}
        print(name, json.dumps(kept[name], indent=2))
        write_json(path, kept)


if __name__ == "__main__":
    main(sys.argv[1:])
