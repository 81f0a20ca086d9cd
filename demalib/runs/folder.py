"""Run folders: where they are, how they are built, and how a run is solved.

A run is built under ``results/runs/.unfinished`` and renamed to its own folder,
``results/runs/<pair>/<name>/<seed>``, when it is complete. A folder with a ``metrics.json`` is
finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from demalib.config import Config
from demalib.data.files import (
    display_path,
    errors_about,
    flush,
    make_folder,
    path_lock,
    plain_name,
    remove_folder,
    rename,
    write_json,
    write_text,
)
from demalib.data.tensors import load_mapping, save_mapping
from demalib.errors import DataError
from demalib.evaluation.benchmark import (
    Judged,
    Known,
    Solved,
    load_gold,
    load_pair,
    solve_and_judge,
)
from demalib.evaluation.record import commit
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.solvers import get_solver

CHECKPOINT = "checkpoint.safetensors"  # of a run that is not finished
UNFINISHED = ".unfinished"


def project_root(start: Path | None = None) -> Path:
    """Find the folder with ``notebooks/jupytext.toml``, the root of the checkout.

    Raises:
        DataError: Neither the working folder nor one above it is a demalib checkout.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "notebooks" / "jupytext.toml").is_file():
            return folder
    raise DataError(
        f"{start}: not inside a checkout of demalib (no notebooks/jupytext.toml above); "
        "clone the project and change into it, or name a folder for results with DEMALIB_RESULTS"
    )


def results_dir() -> Path:
    """Return the folder of results: ``$DEMALIB_RESULTS``, or the project's own ``results``."""
    return Path(os.environ.get("DEMALIB_RESULTS") or project_root() / "results").resolve()


def run_dir(config: Config) -> Path:
    """Return the folder of a finished run: ``results/runs/<pair>/<name>/<seed>``."""
    names = (plain_name(str(part)) for part in (config.pair, config.name, config.seed))
    return results_dir().joinpath("runs", *names)


def work_dir(folder: Path) -> Path:
    """Return the folder in which a run is built, always the same, so that it can resume."""
    runs = results_dir() / "runs"
    return runs / UNFINISHED / folder.relative_to(runs)


def save_run(folder: Path, solved: Solved) -> None:
    """Write the mapping, its settings, every query and, last, the figures; each atomically."""
    mapping = solved.mapping
    make_folder(folder)
    save_mapping(folder / "mapping.safetensors", mapping)
    write_json(folder / "config.json", mapping.info)
    if len(mapping.history):
        write_json(folder / "history.json", mapping.history.to_dict(orient="list"))
    write_text(folder / "queries.csv", _queries(solved.judged).to_csv(index=False))
    write_json(folder / "metrics.json", solved.metrics)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _queries(judged: Judged) -> pd.DataFrame:
    """List the position of every query's best translation, by direction and metric."""
    parts = [
        frame[["query", "position"]].assign(direction=direction, retrieval=metric)
        for direction, frames in judged.items()
        for metric, frame in frames.items()
    ]
    return pd.concat(parts)[["direction", "retrieval", "query", "position"]]


def read_queries(run: Config | Path, direction: str, retrieval: str = "csls") -> pd.DataFrame:
    """Read the queries of a finished run: ``query``, and ``position`` of the best gold word.

    Args:
        run: Its settings, or its folder.
        direction: Such as ``en-fr``.
        retrieval: A metric of the run.
    """
    path = (run_dir(run) if isinstance(run, Config) else run) / "queries.csv"
    if not path.is_file():
        raise DataError(f"{display_path(path)}: no such file; run it again")
    columns = {"direction": str, "retrieval": str, "query": str, "position": int}
    try:
        table = pd.read_csv(path, keep_default_na=False, dtype=columns)[list(columns)]
    except Exception as error:  # pandas raises many kinds
        raise DataError(f"{display_path(path)}: not valid ({error}); run it again") from error
    return table[(table["direction"] == direction) & (table["retrieval"] == retrieval)]


def read_metrics(folder: Path) -> dict[str, Any]:
    """Read the figures of a run."""
    path = folder / "metrics.json"
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{display_path(path)}: no figures; did the run finish?") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{display_path(path)}: not JSON ({error}); run it again") from error
    if not isinstance(figures, dict):
        raise DataError(f"{display_path(path)}: not a JSON object; run it again")
    return figures


def known_map(config: Config) -> Known | None:
    """Find the map of a finished run that differs in its lexicons alone, where they do not matter.

    A system without hints learns the same map whatever words it is judged by, so it is solved once,
    as long as the code is that of one commit.
    """
    unhinted = get_solver(config.solver).hint == "none" or (config.solver, config.hints) == (
        "em",
        "none",
    )
    for source in ("bundled", "muse") if unhinted else ():
        folder = run_dir(other := config.replace(lexicons=source))
        if other == config or not (folder / "metrics.json").is_file():
            continue
        metrics, this = read_metrics(folder), commit()
        if this and not this.endswith("dirty") and metrics.get("commit") == this:
            mapping = load_mapping(folder / "mapping.safetensors")
            info = mapping.info | {"config": config.to_dict()}
            return Known(replace(mapping, info=info), metrics)
    return None


def finished_runs() -> list[dict[str, Any]]:
    """Read the ``metrics.json`` of every finished run, in order of the folders."""
    found = sorted((results_dir() / "runs").glob("[!.]*/*/*/metrics.json"))
    return [read_metrics(path.parent) for path in found]


def build_run(folder: Path, build: Callable[[Path], None], again: bool = False) -> bool:
    """Build a run in its working folder and move it into place; skip a finished one.

    Args:
        folder: The run's own folder, see :func:`run_dir`.
        build: Fills the working folder, ``metrics.json`` included.
        again: Build it even if it is finished; the old one stays until the new one is complete.

    Returns:
        Whether it was built.
    """
    work = work_dir(folder)
    with path_lock(work):  # a second process waits, then finds the run finished
        return _build_locked(folder, work, build, again)


def _build_locked(folder: Path, work: Path, build: Callable[[Path], None], again: bool) -> bool:
    """Build a run while this process has the lock; see :func:`build_run`."""
    old = work.with_name(f".old-{work.name}")
    if old.is_dir() and not folder.is_dir():
        rename(old, folder)  # a process was killed between the two renames below
    if (folder / "metrics.json").is_file() and not again:
        return False
    make_folder(work)
    with errors_about(work):
        build(work)
    read_metrics(work)
    flush(work)
    make_folder(folder.parent)
    remove_folder(old)
    try:
        if folder.is_dir():
            rename(folder, old)
        rename(work, folder)
    except BaseException:
        if old.is_dir() and not folder.is_dir():
            rename(old, folder)
        raise
    remove_folder(old)
    return True


def solve(config: Config) -> dict[str, Any]:
    """Return the figures of a run; if it is not finished, load, align, judge and save first."""

    def build(work: Path) -> None:
        checkpoint, known = DiskCheckpoint(work / CHECKPOINT), known_map(config)
        words, gold = load_pair(config), load_gold(config)
        save_run(work, solve_and_judge(words, gold, config, checkpoint, known))

    build_run(run_dir(config), build)
    return read_metrics(run_dir(config))
