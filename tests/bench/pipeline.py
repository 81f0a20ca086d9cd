"""``make run`` by stage, so that the next slow thing is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Nothing of demalib is imported up here: importing it is a stage.
RUN = ["run", "notebooks/02_train.ipynb", "-p", "pair", "en-fr", "-p", "max_vocab", "0"]
TESTS = Path(__file__).resolve().parents[1]


def pipeline() -> dict[str, Any]:
    """Time what ``make run`` does for English and French, each stage once.

    Returns:
        Seconds of ``demalib fetch`` with everything there, of the stages in a process of their
        own, of ``demalib run`` in all, and of what running as a notebook adds to the stages.
    """
    command = [sys.executable, "-m", "bench.pipeline"]
    done = subprocess.run(command, cwd=TESTS, stdout=subprocess.PIPE, text=True, check=True)
    seconds = json.loads(done.stdout)
    fetch = demalib("fetch")
    with tempfile.TemporaryDirectory() as folder:
        total = demalib(*RUN, results=folder)
        notebook = next(Path(folder).glob("runs/*/*/*/02_train.ipynb")).read_text()
    return {
        "fetch": fetch,
        "stages": seconds,
        "sum": sum(seconds.values()),
        "run": total,
        "overhead": overhead(total, sum(seconds.values()), json.loads(notebook)),
    }


def demalib(*args: str, results: str = "") -> float:
    """Run a command of demalib; return its seconds."""
    env, started = os.environ | {"DEMALIB_RESULTS": results}, time.perf_counter()
    command = [sys.executable, "-m", "demalib", *args]
    subprocess.run(command, cwd=TESTS.parent, env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def overhead(total: float, stages: float, notebook: dict[str, Any]) -> dict[str, float]:
    """Split what a run takes beyond its stages, by papermill's own record in the notebook."""
    inside = notebook["metadata"]["papermill"]["duration"]
    cells = sum(cell["metadata"]["papermill"]["duration"] or 0 for cell in notebook["cells"])
    return {
        "all": total - stages,
        "command, papermill": total - inside,
        "kernel start and stop": inside - cells,
        "cells beyond the stages": cells - stages,
    }


def stages(words: int = 0) -> dict[str, float]:
    """Time the stages of ``notebooks/02_train``, with the most frequent words or all."""
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - started

    with stage("import"):
        from demalib import plots
        from demalib.alignment import translate
        from demalib.config import preset
        from demalib.data.registry import load_vectors
        from demalib.evaluation import benchmark
        from demalib.evaluation.translation import by_frequency
        from demalib.pair import make_pair
        from demalib.runs import save_run
        from demalib.solvers import align

        plots.style()
        config = preset("en-fr")
    with stage("read"):
        sides = [load_vectors(lang).head(words) for lang in config.langs]
    with stage("normalise"):  # and find the identical words
        pair = make_pair(*sides)
    with stage("solve"):
        mapping = align(pair, config)
    with stage("judge"):
        gold = benchmark.load_gold(config)
        judged = benchmark.evaluate(mapping, pair, gold, config)
        results = benchmark.summarise(judged, gold)
    with tempfile.TemporaryDirectory() as folder:
        with stage("save"):
            metrics = benchmark.run_record(config, pair, gold, results, mapping, seconds["solve"])
            save_run(Path(folder), benchmark.Solved(mapping, judged, metrics))
        with stage("draw"):
            frames = {name: by_frequency(frame["csls"]) for name, frame in judged.items()}
            axes = (
                plots.history(mapping.history),
                plots.precision(results),
                plots.by_frequency(frames),
            )
            for number, ax in enumerate(axes):
                plots.save(ax, Path(folder) / f"{number}.png")
    with stage("translate"):
        for word in pair.src.words[100:104]:
            translate(mapping, pair, word, k=3)
    return seconds


if __name__ == "__main__":
    json.dump(stages(), sys.stdout)
