"""Long runs: memory stays where it was after a warm-up."""

import gc
import tempfile
from pathlib import Path

import psutil

from chaos import world
from demalib.aligner import fit as fit_em
from demalib.em import SCHEDULE
from demalib.pair import make_pair
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.solvers import fit_gradient

MEGABYTES = 20  # that a soak may add
ROUNDS = sum(phase.rounds for phase in SCHEDULE)


def resident() -> float:
    """Memory of this process, in megabytes."""
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


def soak(rounds: int, steps: int) -> dict[str, float]:
    """Measure how many megabytes these EM rounds and gradient steps with checkpoints add."""
    pair, grown = make_pair(*world.spaces()), {}
    fit_em(pair, world.EM)
    before = resident()
    for _ in range(-(-rounds // ROUNDS)):
        fit_em(pair, world.EM)
    grown["EM rounds"] = resident() - before
    config = world.GRADIENT.replace(steps=steps, selection="unsupervised")
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        fit_gradient(
            pair, config.replace(steps=20), checkpoint=DiskCheckpoint(Path(folder) / "warm")
        )
        before = resident()
        fit_gradient(pair, config, checkpoint=DiskCheckpoint(Path(folder) / "c.safetensors"))
        grown["gradient steps"] = resident() - before
    return grown
