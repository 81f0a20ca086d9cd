"""Time and memory of functions, side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from torch.profiler import ProfilerActivity, profile


def in_turn(
    runs: dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Measure the median seconds of each run; all take turns, after a first round as a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            start = clock()
            run()
            times[name].append(clock() - start)
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def peak_tensor_bytes(run: Callable[[], Any]) -> int:
    """Measure the most bytes that tensors made during one call held at the same time."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
        run()
    held = peak = 0
    for event in trace.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def ratios(ours: str, seconds: dict[str, float], peak: dict[str, float]) -> dict[str, Any]:
    """Compare ours with each of the others: seconds and peak megabytes by name, and ratios."""
    others = [name for name in seconds if name != ours]
    return {
        "seconds": seconds,
        "peak_mb": peak,
        "time_ratio": {name: seconds[ours] / seconds[name] for name in others},
        "memory_ratio": {name: peak[ours] / peak[name] for name in others if peak.get(name)},
    }
