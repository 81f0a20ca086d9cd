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
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from demalib.density import log_density, rank_log_prior, sample_mixture, word_weights
from demalib.files import write_json
from demalib.runs import project_root


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


PARTS: dict[str, Callable[[], dict[str, Any]]] = {"density": density, "vectors": vectors}


def main(names: list[str]) -> None:
    """Run the named parts, or all; print and keep their figures."""
    path = project_root() / "results" / "bench" / "bench.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for name in names or PARTS:
        kept[name] = PARTS[name]() | {"threads": torch.get_num_threads()}
        print(name, json.dumps(kept[name], indent=2))
        write_json(path, kept)


if __name__ == "__main__":
    main(sys.argv[1:])
