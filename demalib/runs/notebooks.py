"""Notebooks without a screen: one with papermill, or a sweep of many that skips what is finished.

A sweep hands the runs that are missing to :func:`run_in_process` or to :func:`demalib.runs.cluster.on_dask`,
gets each back when it can be put into its place, and puts it there itself.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from demalib.config import Config, preset
from demalib.data.files import display_path
from demalib.errors import DataError
from demalib.runs.folder import build_run, results_dir, run_dir
from demalib.solvers import seed_matters

Todo = dict[Path, dict[str, Any]]  # parameters of runs, by their folders
Ready = Iterator[tuple[Path, float, Callable[[Path], None]]]  # folder, start, what fills it


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


class NotebookError(DataError):
    """A notebook failed: ``what`` in one line, its ``traceback``, and where it is kept."""

    def __init__(self, what: str, traceback: str, out: Path) -> None:
        super().__init__(f"{what} (kept with its traceback: {display_path(out)})")
        self.what, self.traceback = what, traceback


def execute(notebook: Path, out: Path, params: dict[str, Any], scratch: Path | None = None) -> None:
    """Execute a notebook with papermill and keep it, with its outputs, as ``out``.

    Args:
        notebook: The notebook; its folder is the kernel's working folder.
        out: Where the executed notebook goes.
        params: Parameters to set.
        scratch: Where the kernel's sockets are, on a worker that nobody watches: it then shows
            no progress. The system's temporary folder if left out.

    Raises:
        NotebookError: A cell or the kernel failed; the message has its last line and names the kept notebook.
    """
    import papermill
    from nbclient.exceptions import DeadKernelError
    from traitlets.config import Config as TraitConfig

    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="demalib-", dir=scratch) as sockets:
            kernel = {"connection_file": f"{sockets}/kernel.json"}
            # sockets in the file system: no ports to collide with when many runs share a machine;
            # their names may have 107 bytes
            if os.name == "posix" and len(os.fsencode(sockets)) < 90:
                kernel |= {"transport": "ipc", "ip": f"{sockets}/kernel"}
            papermill.execute_notebook(
                str(notebook), str(out), parameters=params, cwd=str(notebook.parent),
                kernel_name="python3", progress_bar=scratch is None and os.isatty(2),
                config=TraitConfig(KernelManager=kernel),
            )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        what = f"{notebook.name} failed in cell {error.cell_index}: {error.ename}: {error.evalue}"
        raise NotebookError(what, str(error).strip(), out) from error
    except DeadKernelError as error:
        what = f"{notebook.name} failed: its kernel died; was there too little memory?"
        raise NotebookError(what, what, out) from error


def run_config(notebook: Path, params: dict[str, Any]) -> Config | None:
    """The settings of the run that a notebook makes; None if it declares no ``folder``."""
    shown = notebook_parameters(notebook, params)
    if "folder" not in shown:
        return None
    shown.pop("folder")
    return preset(shown.pop("pair"), shown.pop("recipe"), **shown)


def _build(notebook: Path, params: dict[str, Any], work: Path) -> None:
    execute(notebook, work / notebook.name, params | {"folder": str(work)})


def run_notebook(notebook: str | Path, params: dict[str, Any]) -> Path:
    """Execute a notebook; what it writes appears in its place only if all of it succeeded.

    Args:
        notebook: The notebook. One that declares ``folder`` makes a run: its other parameters
            are settings of :class:`~demalib.Config`, and the run has a folder of its own.
        params: Parameters to set.

    Returns:
        The folder with the executed notebook.
    """
    notebook = Path(notebook).resolve()
    config = run_config(notebook, params)
    if config is None:
        folder = results_dir() / "runs" / "notebooks"
        execute(notebook, folder / notebook.name, params)
    else:
        folder = run_dir(config)
        build_run(folder, partial(_build, notebook, params), again=True)
    return folder


def say(text: str) -> None:
    """Print a line at once, above a progress line if there is one."""
    with tqdm.external_write_mode():
        print(text, flush=True)


def run_in_process(notebook: Path, todo: Todo) -> Ready:
    """Runs that are executed in this process, one after the other."""
    for folder, params in todo.items():
        yield folder, time.time(), partial(_build, notebook, params)


def sweep(
    notebook: str | Path,
    grid: dict[str, Iterable[Any]],
    params: dict[str, Any],
    carry_out: Callable[[Path, Todo], Ready] = run_in_process,
) -> pd.DataFrame:
    """One run for every combination of the grid; finished ones are skipped, failed ones told.

    Args:
        notebook: A notebook that declares ``folder``.
        grid: Values to combine, by parameter: ``{"pair": ["en-fr"], "seed": [0, 1, 2]}``.
        params: Parameters that are the same in all runs.
        carry_out: Where runs are executed: :func:`run_in_process`, or on a cluster with
            :func:`demalib.runs.cluster.on_dask`. It gets the runs that are not finished, and yields
            each when it can be put into its place.

    Returns:
        A row per run: the grid's parameters, ``outcome`` (done, skipped, failed, or the same as
        with the first seed where chance plays no part), ``seconds`` and ``detail`` (its folder or
        what went wrong).
    """
    notebook = Path(notebook).resolve()
    jobs = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    rows: dict[int, dict[str, Any]] = {}
    numbers: dict[Path, int] = {}

    def tell(number: int, outcome: str, detail: str, seconds: float = 0.0) -> None:
        told = {"outcome": outcome, "seconds": seconds, "detail": detail}
        rows[number] = jobs[number] | told
        values = " ".join(map(str, jobs[number].values()))
        say(f"{len(rows)}/{len(jobs)} {values}: {outcome}")

    for number, job in enumerate(jobs):
        try:
            config = run_config(notebook, params | job)
            if config is None:
                raise DataError(f"{notebook.name}: no parameter folder, so it makes no runs")
            matters = seed_matters(config)
        except DataError as error:
            tell(number, "failed", str(error))
            continue
        folder, first = run_dir(config), next(iter(grid.get("seed", [config.seed])))
        if not matters and config.seed != first:
            tell(number, "same", f"as with seed {first}: the solver uses no random numbers")
        elif folder in numbers or (folder / "metrics.json").is_file():
            tell(number, "skipped", display_path(folder))
        else:
            numbers[folder] = number
    todo = {folder: params | jobs[number] for folder, number in numbers.items()}
    with contextlib.closing(carry_out(notebook, todo)) as ready:
        for folder, started, build in ready:
            try:
                outcome = "done" if build_run(folder, build) else "skipped"
                detail = display_path(folder)
            except DataError as error:
                outcome, detail = "failed", str(error)
                if isinstance(error, NotebookError):
                    say(error.traceback)
            tell(numbers[folder], outcome, detail, time.time() - started)
    return pd.DataFrame([rows[number] for number in sorted(rows)])
