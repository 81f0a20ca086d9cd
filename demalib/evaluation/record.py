"""What a run records beside its figures: settings in full, hints, machine, time and memory."""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess
import time
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from demalib.config import Config, preset
from demalib.errors import DataError
from demalib.hints import Lexicon
from demalib.pair import Mapping, Pair
from demalib.solvers import SOLVERS, get_solver

if TYPE_CHECKING:
    from demalib.evaluation.benchmark import Gold

FINDINGS = ("hints", "last", "verdict")  # what em says about a run
OURS = ("em", "em+lexicon")  # published nowhere else
COSTS = ("seconds", "peak_gb", "threads", "cpu", "commit", "torch", "date")
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Forget this process's peak of memory, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        CLEAR.write_text("5")


def peak_gb() -> float | None:
    """Return the most memory that this process has had since :func:`reset_peak`, in GB."""
    with contextlib.suppress(OSError):
        if found := re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text()):
            return round(int(found[1]) / 1e6, 2)
    return None


@cache
def machine() -> dict[str, Any]:
    """Describe what figures of time depend on, and the commit of the code."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.is_file() else ""
    cpu = re.search(r"model name\s*: (.+)", text) or re.search(r"vendor_id\s*: (.+)", text)
    return {
        "cpu": cpu[1].strip() if cpu else platform.processor() or platform.machine(),
        "commit": commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def commit(folder: Path | None = None) -> str:
    """Return the commit of a checkout, with ``-dirty`` if code in the folder differs; empty if none."""
    where = folder or Path(__file__).parents[1]
    with contextlib.suppress(OSError):
        hashed = ["git", "rev-parse", "--short=10", "HEAD"]
        done = subprocess.run(hashed, cwd=where, capture_output=True, text=True)
        if done.returncode == 0:
            differs = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "."], cwd=where)
            return done.stdout.strip() + "-dirty" * (differs.returncode != 0)
    return ""


def settings(config: Config) -> tuple[str, str]:
    """Say how a run's settings compare with those of its system's paper.

    Returns:
        ``published``, ``reduced``, ``ours`` (a system without a paper of its own) or ``own`` (a
        solver that is none of :data:`demalib.SOLVERS`), and the settings that decide the amount of work or differ: ``steps 500 (published 150,000)``.

    Example:
        >>> settings(preset("en-fr", solver="sl-unsup"))[0]
        'reduced'
        >>> settings(preset("en-fr", solver="procrustes"))
        ('published', '')
    """
    solver = get_solver(config.solver)
    if config.solver not in SOLVERS:
        return "own", ""
    if config.solver in OURS:
        return "ours", f"hints {config.hints}, last {config.last}"
    if solver.sizes is not None:
        used, full = solver.sizes.of(config)._asdict(), solver.sizes.published._asdict()
    elif config.solver == "gradient":
        used = _loop_settings(config)
        try:
            paper = preset(config.pair, "paper")
        except DataError:  # a pair of one's own
            paper = Config().replace(recipe="paper")
        full = _loop_settings(paper)
    else:
        return "published", ""
    said = [
        f"{name} {_number(used[name])}"
        + (f" (published {_number(full[name])})" if used[name] != full[name] else "")
        for name in full
    ]
    return "published" if used == full else "reduced", ", ".join(said).replace("_", " ")


def _loop_settings(config: Config) -> dict[str, Any]:
    """Collect the settings that the paper states for its loop."""
    beside = ("max_identical", "tau", "sigma2_src", "sigma2_tgt")
    return asdict(config.gradient) | {name: getattr(config, name) for name in beside}


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def hint_sizes(config: Config, pair: Pair, mapping: Mapping) -> dict[str, int]:
    """Count the pairs that a solver could learn from, by kind."""
    if "hints" in mapping.info:
        return dict(mapping.info["hints"])
    solver = get_solver(config.solver)
    if solver.hint == "train" and pair.train is not None and pair.train_back is not None:
        return {"lexicon": len(pair.train), "lexicon back": len(pair.train_back)}
    if solver.hint == "identical" and config.ablate != "identical":
        return {"identical": len(pair.identical[: config.max_identical or None])}
    return {}


def count_leaks(config: Config, pair: Pair, gold: Gold) -> dict[str, int]:
    """Count, for each direction, the pairs of its test lexicon that its hint contains; should be 0."""
    solver, counts = get_solver(config.solver), {}
    back, soft = pair.swap(), pair.hints(config).rows if config.solver in OURS else None
    for side, lexicon in ((pair, gold.forward), (back, gold.backward)):
        rows = [np.empty((0, 2), dtype=np.int64)]
        if solver.hint == "train" and side.train is not None:
            rows.append(side.train)
        if soft is not None:
            rows.append(soft if side is pair else soft[:, ::-1])
        elif solver.hint == "identical" and config.ablate != "identical":
            rows.append(side.identical[: config.max_identical or None])
        counts[f"{side.src.lang}-{side.tgt.lang}"] = _shared(np.concatenate(rows), side, lexicon)
    return counts


def _shared(rows: np.ndarray, side: Pair, lexicon: Lexicon) -> int:
    test = set(lexicon.pairs)
    return len({(side.src.words[i], side.tgt.words[j]) for i, j in rows} & test)


def run_record(
    config: Config,
    pair: Pair,
    gold: Gold,
    results: dict,
    mapping: Mapping,
    seconds: float,
    peak: float | None = None,
) -> dict[str, Any]:
    """Make the content of ``metrics.json``: figures, and what a reader needs to trust them.

    Args:
        config: Solver and settings.
        pair: The two spaces.
        gold: Test lexicons.
        results: What :func:`demalib.evaluation.benchmark.summarise` returned.
        mapping: What was learned; its findings are recorded.
        seconds: Time of solving both directions.
        peak: Memory of the process meanwhile, in GB.
    """
    label, size = settings(config)
    record = {
        "pair": config.pair,
        "name": config.name,
        "solver": config.solver,
        "seed": config.seed,
        "seconds": round(seconds, 2),
        "results": results,
        "ablate": config.ablate,
        "vectors": config.vectors,
        "lexicon_source": config.lexicons,
        "words": {e.lang: len(e) for e in (pair.src, pair.tgt)},
        "identical_words": len(pair.identical),
        "lexicons": {d: lexicon.name for d, lexicon in zip(results, gold, strict=True)},
        "settings": label,
        "size": size,
        "config": config.to_dict(),
        "hint_sizes": hint_sizes(config, pair, mapping),
        "test_pairs_in_hint": count_leaks(config, pair, gold),
        "peak_gb": peak,
        "threads": torch.get_num_threads(),
        "date": time.strftime("%Y-%m-%d"),
        **machine(),
    }
    return record | {name: mapping.info[name] for name in FINDINGS if name in mapping.info}
