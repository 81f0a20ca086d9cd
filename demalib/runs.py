"""Runs and their folders: solved here or headlessly with papermill, one by one or in a sweep.

A run is built under ``results/runs/.unfinished`` and renamed to its own place,
``results/runs/<pair>/<name>/<seed>``, when it is whole. What has a ``metrics.json`` is finished.
"""

from __future__ import annotations

import ast
import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock

from demalib.config import Config, preset
from demalib.files import DataError, display_path, write_json, write_text
from demalib.mapping import Mapping
from demalib.pipeline import align, judge_both, load_gold, load_pair, measure, record, retrievers

CHECKPOINT = "checkpoint.safetensors"  # of a run that is not finished
UNFINISHED = ".unfinished"


def project_root(start: Path | None = None) -> Path:
    """The folder that holds ``notebooks`` and ``results``: found by its marker, not by chance.

    Raises:
        DataError: Neither the working folder nor one above it is a demalib checkout.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "notebooks" / "jupytext.toml").is_file():
            return folder
    raise DataError(
        f"{here}: not inside a checkout of demalib (no notebooks/jupytext.toml above); "
        "change into it first"
    )


def results_dir() -> Path:
    """Where results lie: ``$DEMALIB_RESULTS``, or the project's own ``results``."""
    return Path(os.environ.get("DEMALIB_RESULTS") or project_root() / "results").resolve()


def run_dir(config: Config) -> Path:
    """Where the files of a finished run lie: ``results/runs/<pair>/<name>/<seed>``."""
    return results_dir() / "runs" / config.pair / config.name / str(config.seed)


def work_dir(folder: Path) -> Path:
    """Where a run is built: always the same place, so that a checkpoint there is found again."""
    runs = results_dir() / "runs"
    return runs / UNFINISHED / folder.relative_to(runs)


def save_run(
    folder: Path,
    mapping: Mapping,
    metrics: dict[str, Any],
    judged: dict[str, dict[str, pd.DataFrame]],
) -> None:
    """Write the mapping, its settings, every query and, last, the figures; each whole or not."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping.save(folder / "mapping.safetensors")
    write_json(folder / "config.json", mapping.info)
    if len(mapping.history):
        write_json(folder / "history.json", mapping.history.to_dict(orient="list"))
    write_text(folder / "queries.csv", _queries(judged).to_csv(index=False))
    write_json(folder / "metrics.json", metrics)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _queries(judged: dict[str, dict[str, pd.DataFrame]]) -> pd.DataFrame:
    """The position of the best translation of every query, by direction and metric."""
    parts = [
        frame[["query", "position"]].assign(direction=direction, retrieval=metric)
        for direction, frames in judged.items()
        for metric, frame in frames.items()
    ]
    return pd.concat(parts)[["direction", "retrieval", "query", "position"]]


def read_queries(config: Config) -> pd.DataFrame:
    """What a finished run wrote of its queries: ``direction``, ``retrieval``, ``query`` and the
    ``position`` of the best translation from 1."""
    path = run_dir(config) / "queries.csv"
    if not path.is_file():
        raise DataError(f"{display_path(path)}: no such file; run it again")
    return pd.read_csv(path, keep_default_na=False)


def read_metrics(folder: Path) -> dict[str, Any]:
    """The figures of a run."""
    path = folder / "metrics.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{display_path(path)}: no figures here; was the run finished?") from error
    except ValueError as error:
        raise DataError(f"{display_path(path)}: not JSON ({error}); run it again") from error


def finished_runs() -> list[dict[str, Any]]:
    """``metrics.json`` of every finished run, in order of its folder."""
    found = sorted((results_dir() / "runs").glob("[!.]*/*/*/metrics.json"))
    return [read_metrics(path.parent) for path in found]


def build_run(folder: Path, build: Callable[[Path], None], again: bool = False) -> bool:
    """Build a run in its working folder and put it in place; a finished one is left alone.

    Args:
        folder: The run's place, see :func:`run_dir`.
        build: Fills the folder it is given, up to ``metrics.json``.
        again: Build it even if it is there; the old one stays until the new one is whole.

    Returns:
        Whether it was built.
    """
    work = work_dir(folder)
    work.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{work}.lock"):  # a second process waits, then finds the run finished
        if (folder / "metrics.json").is_file() and not again:
            return False
        build(work)
        read_metrics(work)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            os.rename(folder, tempfile.mkdtemp(dir=work.parent, prefix=".old-"))
        os.rename(work, folder)
        for old in work.parent.glob(".old-*"):
            shutil.rmtree(old)
    return True


def solve(config: Config) -> dict[str, Any]:
    """The figures of a run: read if it is finished, else load, align, judge and save first."""

    def build(work: Path) -> None:
        pair, started = load_pair(config), time.perf_counter()
        mapping = align(pair, config, work / CHECKPOINT)
        seconds, gold = time.perf_counter() - started, load_gold(config)
        judged = judge_both(retrievers(mapping, pair, config.knn), pair, gold, config)
        figures = record(config, pair, gold, measure(judged, gold), seconds)
        save_run(work, mapping, figures, judged)

    build_run(run_dir(config), build)
    return read_metrics(run_dir(config))


# ---------------------------------------------------------------- notebooks


def notebook_parameters(notebook: str | Path, params: dict[str, Any]) -> dict[str, Any]:
    """All parameters of a run: the notebook's defaults, then those given.

    Raises:
        DataError: The notebook is missing, or does not declare a given parameter; papermill
            itself would only warn, and run with the default.
    """
    import papermill  # Jupyter's machinery: needed only here

    if not Path(notebook).is_file():
        raise DataError(f"{notebook}: no such notebook")
    declared = papermill.inspect_notebook(str(notebook))
    if unknown := sorted(set(params) - set(declared)):
        raise DataError(
            f"{Path(notebook).name}: no parameter {', '.join(unknown)}; "
            f"it has {', '.join(sorted(declared))}"
        )
    return {name: ast.literal_eval(p["default"]) for name, p in declared.items()} | params


def execute(notebook: Path, out: Path, params: dict[str, Any]) -> None:
    """Execute a notebook with papermill and keep it, with its outputs, as ``out``.

    Raises:
        DataError: A cell failed; the message has its last line and names the kept notebook.
    """
    import papermill
    from traitlets.config import Config as TraitConfig

    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="demalib-") as sockets:
            # sockets in the file system: no ports to collide with when many runs share a machine
            ipc = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name == "posix" else {}
            papermill.execute_notebook(
                str(notebook), str(out), parameters=params, cwd=str(notebook.parent),
                kernel_name="python3", progress_bar=os.isatty(2),
                config=TraitConfig(KernelManager=ipc),
            )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        raise DataError(
            f"{notebook.name} failed in cell {error.cell_index}: {error.ename}: {error.evalue} "
            f"(kept with its traceback: {display_path(out)})"
        ) from error


def run_notebook(
    notebook: str | Path, params: dict[str, Any], again: bool = True
) -> tuple[Path, bool]:
    """Execute a notebook; what it writes appears in its place only if all of it succeeded.

    Args:
        notebook: The notebook. One that declares ``folder`` makes a run: its other parameters
            are settings of :class:`~demalib.Config`, and the run has a folder of its own.
        params: Parameters to set.
        again: Execute it even if the run is finished.

    Returns:
        The folder with the executed notebook, and whether it was executed now.
    """
    notebook = Path(notebook).resolve()
    shown = notebook_parameters(notebook, params)
    if "folder" not in shown:
        folder = results_dir() / "runs" / "notebooks"
        execute(notebook, folder / notebook.name, params)
        return folder, True
    shown.pop("folder")
    folder = run_dir(preset(shown.pop("pair"), shown.pop("recipe"), **shown))
    built = build_run(
        folder,
        lambda work: execute(notebook, work / notebook.name, params | {"folder": str(work)}),
        again,
    )
    return folder, built


def sweep(
    notebook: str | Path, grid: dict[str, Iterable[Any]], params: dict[str, Any]
) -> pd.DataFrame:
    """One run for every combination of the grid; finished ones are skipped, failed ones told.

    Args:
        notebook: A notebook that declares ``folder``.
        grid: Values to combine, by parameter: ``{"pair": ["en-fr"], "seed": [0, 1, 2]}``.
        params: Parameters that are the same in all runs.

    Returns:
        A row per run: the grid's parameters, ``outcome`` (done, skipped or failed), ``seconds``
        and ``detail`` (its folder or what went wrong).
    """
    rows = []
    jobs = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    for number, job in enumerate(jobs, 1):
        started = time.time()
        try:
            folder, built = run_notebook(notebook, params | job, again=False)
            outcome, detail = "done" if built else "skipped", display_path(folder)
        except DataError as error:
            outcome, detail = "failed", str(error)
        rows.append(job | {"outcome": outcome, "seconds": time.time() - started, "detail": detail})
        print(f"{number}/{len(jobs)} {' '.join(map(str, job.values()))}: {outcome}", flush=True)
    return pd.DataFrame(rows)
