"""Subnormal numbers: how many there are (none should be), and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from subnormal import CountSubnormals

from bench.timing import in_turn, ratios
from bench.words import english_french
from demalib.config import preset
from demalib.flow import random_orthogonal
from demalib.losses import Batch
from demalib.matching import e_step
from demalib.mixture import WordMixture
from demalib.pair import Pair
from demalib.solvers import fit_gradient

Work = Callable[[], Any]


def subnormal(rounds: int = 5) -> dict[str, Any]:
    """Count subnormals in three works, and compare the time with and without flushing them.

    Returns:
        By work, what :func:`measure` found; also for numbers made subnormal on purpose, which
        shows what they would cost on this CPU.
    """
    return {
        "e-step": measure(narrow_e_step(english_french(6_000)), rounds),
        "density": measure(density_step(english_french(20_000)), rounds),
        "gradient": measure(gradient_run(english_french(3_000)), rounds),
        "on purpose": measure(on_purpose(1 << 22), rounds),
        "threads": 1,
    }


def narrow_e_step(pair: Pair) -> Work:
    """Prepare an E-step whose words are far apart: a random map, a narrow variance."""
    src, tgt = (WordMixture(side, 0.003) for side in (pair.x, pair.y))
    return partial(e_step, src, tgt, random_map(pair))


def density_step(pair: Pair, B: int = 2048) -> Work:
    """Prepare a step of the log-density, forward and backward, under a random map."""
    src, tgt = (WordMixture(side, 0.01) for side in (pair.x, pair.y))
    batch = Batch.draw(src, B, torch.Generator().manual_seed(0))
    W = random_map(pair).requires_grad_()
    return lambda: tgt.log_prob(batch.points @ W, batch.ranks).sum().backward()


def gradient_run(pair: Pair, steps: int = 60) -> Work:
    """Prepare some steps of the gradient loop without identical words."""
    return partial(fit_gradient, pair, preset("en-fr", ablate="identical", steps=steps))


def on_purpose(n: int) -> Work:
    """Prepare a product of n numbers that are all subnormal."""
    values = torch.full((n,), 1e-30)
    return lambda: values * 1e-10


def random_map(pair: Pair) -> torch.Tensor:
    """Draw an orthogonal map, the same each time, ``(d, d)``."""
    return random_orthogonal(pair.src.dim, torch.Generator().manual_seed(0))


def measure(work: Work, rounds: int) -> dict[str, Any]:
    """Count the subnormals of a work by operation; time it with and without flushing, in turn.

    Flushing is a setting of each thread. So all is done by one thread, which changes it between
    two runs, and the seconds are those of the thread: waiting for a busy machine does not count.
    """
    with CountSubnormals() as seen:
        work()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        runs = {"as it is": work, "flushed": partial(flushed, work)}
        seconds = in_turn(runs, rounds, time.thread_time)
    finally:
        torch.set_num_threads(threads)
    found = {"subnormals": seen.count, "where": dict(seen.where)}
    return found | ratios("as it is", seconds, {})


def flushed(work: Work) -> Any:
    """Do a work while this thread's CPU flushes subnormals to zero."""
    torch.set_flush_denormal(True)
    try:
        return work()
    finally:
        torch.set_flush_denormal(False)
