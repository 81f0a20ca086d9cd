"""Many runs on many machines: a sweep's notebooks as tasks of a Dask cluster.

A worker needs demalib and its own cache of vectors, but no shared file system: it receives the
notebook, builds the run in a folder of its own, and returns the files. Only the client writes
results. Dask replaces a worker that dies, and clears its folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tqdm import tqdm

from demalib.errors import DataError
from demalib.progress import progress
from demalib.runs.notebooks import NotebookError, Ready, Todo, execute, say

if TYPE_CHECKING:
    from distributed import Client, Future

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PATIENCE = 10  # seconds to wait for a scheduler


class Outcome(NamedTuple):
    """A worker's result: the run's files by name, and what went wrong, if anything did."""

    files: dict[str, bytes]
    seconds: float
    worker: str
    what: str = ""
    traceback: str = ""


# ---------------------------------------------------------------- on a worker


def run_on_worker(name: str, notebook: bytes, params: dict[str, Any]) -> Outcome:
    """Execute a notebook on a Dask worker, in a folder that is deleted after the task."""
    from distributed import get_worker

    worker, started, what, details = get_worker(), time.time(), "", ""
    os.environ.update(dict.fromkeys(THREADS, str(share_of_cores())))  # kernels inherit it
    with tempfile.TemporaryDirectory(dir=worker.local_directory, prefix="run-") as aside:
        source, run = Path(aside, name), Path(aside, "run")
        source.write_bytes(notebook)
        run.mkdir()
        try:
            execute(source, run / name, params | {"folder": str(run)}, Path(worker.local_directory))
        except NotebookError as error:
            what, details = error.what, error.traceback
        except Exception as error:  # such as a full disk: another worker may succeed
            what, details = f"{name} failed: {error!r}", traceback.format_exc()
        files = {
            path.relative_to(run).as_posix(): path.read_bytes()
            for path in run.rglob("*")
            if path.is_file()
        }
    return Outcome(files, time.time() - started, worker.address, what, details)


def share_of_cores() -> int:
    """Return a kernel's CPU threads: ``$DEMALIB_THREADS``, or cores divided among the workers."""
    from dask.system import CPU_COUNT
    from distributed import get_client, get_worker

    if fixed := os.environ.get("DEMALIB_THREADS"):
        return int(fixed)
    workers = get_client().scheduler_info(n_workers=-1)["workers"]
    host = workers[get_worker().address]["host"]
    return max(1, CPU_COUNT // sum(w["nthreads"] for w in workers.values() if w["host"] == host))


# ---------------------------------------------------------------- at the client


@contextlib.contextmanager
def connect(scheduler: str, workers: int = 0) -> Iterator[Client]:
    """Yield a Dask client.

    Args:
        scheduler: ``local`` starts workers on this machine, reachable only from it, and stops
            them afterwards; otherwise the address or the scheduler file of a running cluster.
        workers: Number of workers for ``local``; 0 starts two, or one on a single core.
    """
    try:
        from dask.system import CPU_COUNT
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise DataError(
            f"Dask is missing ({error}); run: pip install 'demalib[cluster]'"
        ) from error
    if scheduler == "local":
        count = workers or min(2, CPU_COUNT)
        cluster = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            host="127.0.0.1",
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            env={"DEMALIB_THREADS": os.environ.get("DEMALIB_THREADS", max(1, CPU_COUNT // count))},
        )
        try:
            with Client(cluster) as client:
                yield client
        finally:
            # a slow shutdown does not fail the sweep; Python 3.10 has two timeout errors
            with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                cluster.close()
        return
    if "://" not in scheduler and not Path(scheduler).is_file():
        raise DataError(
            f"{scheduler}: no such scheduler file; give one, or an address such as "
            "tcp://HOST:8786, or 'local'"
        )
    place = {"address": scheduler} if "://" in scheduler else {"scheduler_file": scheduler}
    try:
        client = Client(**place, timeout=PATIENCE)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{scheduler}: no Dask scheduler answers ({error}); is it up?") from error
    with client:
        yield client


def on_dask(notebook: Path, todo: Todo, scheduler: str, workers: int = 0) -> Ready:
    """Execute runs on a Dask cluster; yield each when it is ready; retry a failed one once.

    Args:
        notebook: The notebook; it is sent to the workers.
        todo: Parameters of the runs, by their folders.
        scheduler: See :func:`connect`.
        workers: See :func:`connect`.
    """
    if not todo:
        return
    source = notebook.read_bytes()
    with connect(scheduler, workers) as client, progress(total=len(todo)) as bar:
        count = len(client.scheduler_info(n_workers=-1)["workers"])
        waits = "" if count else ", waiting for the first"
        say(f"{count} workers{waits}; dashboard: {client.dashboard_link}")

        def submit(folder: Path, **where: Any) -> Future:
            return client.submit(
                run_on_worker, notebook.name, source, todo[folder], pure=False, **where
            )

        futures, again = {submit(folder): folder for folder in todo}, set()
        while futures:
            future = _next(futures, bar)
            folder, outcome = futures.pop(future), _outcome(future, notebook.name)
            if outcome.what and outcome.worker and folder not in again:
                again.add(folder)
                others = set(client.scheduler_info(n_workers=-1)["workers"]) - {outcome.worker}
                where = {"workers": sorted(others), "allow_other_workers": True} if others else {}
                futures[submit(folder, **where)] = folder
                continue
            yield folder, time.time() - outcome.seconds, partial(unpack, notebook.name, outcome)
            bar.update()


def _next(futures: dict[Future, Path], bar: tqdm) -> Future:
    """Wait for the next finished future; meanwhile refresh the progress bar."""
    while True:
        for future in futures:
            if future.done():
                return future
        bar.refresh()
        time.sleep(0.1)


def _outcome(future: Future, name: str) -> Outcome:
    """Return a future's result; if Dask itself gave up on the task, an outcome that says so."""
    if future.cancelled():
        raise DataError(
            "lost the connection to the scheduler; finished runs are kept, "
            "repeat the command to continue"
        )
    try:
        return future.result()
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        why = repr(error)
        if type(error).__name__ == "KilledWorker":
            why = (
                "every worker that tried it died or was cut off: too little memory, a bad network?"
            )
        return Outcome({}, 0.0, "", f"{name} failed: {why}", text)


def unpack(name: str, outcome: Outcome, work: Path) -> None:
    """Write a worker's files into a run's working folder, emptied first unless the run failed."""
    for old in () if outcome.what else work.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for path, content in outcome.files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_bytes(content)
    if outcome.what:
        kept = work / (name if name in outcome.files else "traceback.txt")
        if kept.name != name:
            kept.write_text(outcome.traceback, encoding="utf-8")
        raise NotebookError(outcome.what, outcome.traceback, kept)
