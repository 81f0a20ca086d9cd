"""Headless notebooks: execute one with papermill, or sweep over many and skip finished runs.

A sweep passes the unfinished runs to :func:`run_in_process` or
:func:`demalib.runs.cluster.on_dask`, receives each when it is ready, and moves it into place.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterable
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

Todo = dict[Path, dict[str, Any]]  # parameters of runs, by folder
# (folder of a run, time of its start, function that fills a folder with its files)
Ready = Generator[tuple[Path, float, Callable[[Path], None]], None, None]


def _papermill() -> Any:
    """Import papermill, which loads Jupyter; other functions do not need it."""
    try:
        import papermill
    except ImportError as error:
        raise DataError(
            f"notebooks need Jupyter and papermill ({error}); run: pip install 'demalib[notebooks]'"
        ) from error
    return papermill


def notebook_parameters(notebook: str | Path, params: dict[str, Any]) -> dict[str, Any]:
    """Collect all parameters of a run: the notebook's defaults, and those given.

    Raises:
        DataError: The notebook is missing, or does not declare a given parameter; papermill
            itself would only warn, and run with the default.
    """
    if not Path(notebook).is_file():
        raise DataError(
            f"{notebook}: no such notebook; those of the project are in its checkout, not in the "
            "package: clone the project and run this there"
        )
    if Path(notebook).suffix != ".ipynb":
        raise DataError(f"{notebook}: not a notebook; give an .ipynb file")
    papermill = _papermill()
    try:
        declared = papermill.inspect_notebook(str(notebook))
    except Exception as error:  # a damaged file can raise almost anything
        raise DataError(f"{notebook}: cannot be read as a notebook ({error!r:.200})") from error
    if unknown := sorted(set(params) - set(declared)):
        raise DataError(
            f"{Path(notebook).name}: no parameter {', '.join(unknown)}; "
            f"it has {', '.join(sorted(declared))}"
        )
    return {name: ast.literal_eval(p["default"]) for name, p in declared.items()} | params


class NotebookError(DataError):
    """A failed notebook: ``what`` in one line, its ``traceback``, and where it is kept."""

    def __init__(self, what: str, traceback: str, out: Path) -> None:
        super().__init__(f"{what} (kept with its traceback: {display_path(out)})")
        self.what, self.traceback = what, traceback


def execute(notebook: Path, out: Path, params: dict[str, Any], scratch: Path | None = None) -> None:
    """Execute a notebook with papermill and keep it, with its outputs, as ``out``.

    Args:
        notebook: The notebook; its folder is the kernel's working folder.
        out: Path of the executed notebook.
        params: Parameters to set.
        scratch: Folder of the kernel's sockets on a worker, where no progress is shown; the
            system's temporary folder if left out.

    Raises:
        NotebookError: A cell or the kernel failed; the message has the error's last line and the
            path of the executed notebook.
    """
    papermill = _papermill()
    from nbclient.exceptions import DeadKernelError
    from traitlets.config import Config as TraitConfig

    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="demalib-", dir=scratch) as sockets:
            kernel = {"connection_file": f"{sockets}/kernel.json"}
            # sockets in the file system: no port collisions when many runs share a machine;
            # their names have at most 107 bytes
            if os.name == "posix" and len(os.fsencode(sockets)) < 90:
                kernel |= {"transport": "ipc", "ip": f"{sockets}/kernel"}
            papermill.execute_notebook(
                str(notebook),
                str(out),
                parameters=params,
                cwd=str(notebook.parent),
                kernel_name="python3",
                progress_bar=scratch is None and os.isatty(2),
                config=TraitConfig(KernelManager=kernel),
            )
    except papermill.PapermillExecutionError as error:
        what = f"{notebook.name} failed in cell {error.cell_index}: {error.ename}: {error.evalue}"
        raise NotebookError(what, str(error).strip(), out) from error
    except DeadKernelError as error:
        what = f"{notebook.name} failed: its kernel died; did it run out of memory?"
        raise NotebookError(what, what, out) from error


def run_config(notebook: Path, params: dict[str, Any]) -> Config | None:
    """Return the settings of the run that a notebook makes; None if it declares no ``folder``."""
    shown = notebook_parameters(notebook, params)
    if "folder" not in shown:
        return None
    shown.pop("folder")
    return preset(shown.pop("pair"), shown.pop("recipe"), **shown)


def _build(notebook: Path, params: dict[str, Any], work: Path) -> None:
    execute(notebook, work / notebook.name, params | {"folder": str(work)})


def run_notebook(notebook: str | Path, params: dict[str, Any]) -> Path:
    """Execute a notebook; a run appears in its own folder only if all of it succeeded.

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
    """Print a line immediately, above the progress bar if there is one."""
    with tqdm.external_write_mode():
        print(text, flush=True)


def run_in_process(notebook: Path, todo: Todo) -> Ready:
    """Execute runs in this process, one after the other."""
    for folder, params in todo.items():
        yield folder, time.time(), partial(_build, notebook, params)


def sweep(
    notebook: str | Path,
    grid: dict[str, Iterable[Any]],
    params: dict[str, Any],
    carry_out: Callable[[Path, Todo], Ready] = run_in_process,
) -> pd.DataFrame:
    """Execute a run for every combination of the grid; skip finished runs, report failed ones.

    Args:
        notebook: A notebook that declares ``folder``.
        grid: Values to combine, by parameter: ``{"pair": ["en-fr"], "seed": [0, 1, 2]}``.
        params: Parameters that are the same in all runs.
        carry_out: Executes runs: :func:`run_in_process`, or :func:`demalib.runs.cluster.on_dask`
            on a cluster. It takes the unfinished runs, and yields each when it is ready.

    Returns:
        A row per run: the grid's parameters, ``outcome`` (done, skipped, failed, or same for
        further seeds of a solver without random numbers), ``seconds`` and ``detail`` (its folder
        or what went wrong).
    """
    notebook_parameters(
        notebook, {}
    )  # report a missing notebook or papermill once, before the first run
    notebook = Path(notebook).resolve()
    jobs = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    rows: dict[int, dict[str, Any]] = {}
    numbers: dict[Path, int] = {}

    def report(number: int, outcome: str, detail: str, seconds: float = 0.0) -> None:
        columns = {"outcome": outcome, "seconds": seconds, "detail": detail}
        rows[number] = jobs[number] | columns
        values = " ".join(map(str, jobs[number].values()))
        say(f"{len(rows)}/{len(jobs)} {values}: {outcome}")

    for number, job in enumerate(jobs):
        try:
            config = run_config(notebook, params | job)
            if config is None:
                raise DataError(f"{notebook.name}: no parameter folder, so it makes no runs")
            matters = seed_matters(config)
        except DataError as error:
            report(number, "failed", str(error))
            continue
        folder, first = run_dir(config), next(iter(grid.get("seed", [config.seed])))
        if not matters and config.seed != first:
            report(number, "same", f"as with seed {first}: the solver uses no random numbers")
        elif folder in numbers or (folder / "metrics.json").is_file():
            report(number, "skipped", display_path(folder))
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
            report(numbers[folder], outcome, detail, time.time() - started)
    return pd.DataFrame([rows[number] for number in sorted(rows)])
