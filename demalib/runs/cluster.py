"""Many runs on many machines: a sweep's notebooks as tasks of a Dask cluster.

A worker needs demalib and its own cache of vectors, but no shared file system: it is sent the
notebook, builds the run in a folder of its own, and its result is the files. The client alone
writes results. A worker that dies is Dask's to replace; its folder too is cleared by Dask.
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
from demalib.runs.notebooks import NotebookError, Ready, Todo, execute, say

if TYPE_CHECKING:
    from distributed import Client, Future

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PATIENCE = 10  # seconds to wait for a scheduler


class Outcome(NamedTuple):
    """What a worker sends back: the run's files by name, and what went wrong, if anything did."""

    files: dict[str, bytes]
    seconds: float
    worker: str
    what: str = ""
    traceback: str = ""


# ---------------------------------------------------------------- on a worker


def run_aside(name: str, notebook: bytes, params: dict[str, Any]) -> Outcome:
    """Execute a notebook on a Dask worker, in a folder that does not outlive the task."""
    from distributed import get_worker

    worker, started, what, told = get_worker(), time.time(), "", ""
    os.environ.update(dict.fromkeys(THREADS, str(share_of_cores())))  # kernels inherit it
    with tempfile.TemporaryDirectory(dir=worker.local_directory, prefix="run-") as aside:
        source, run = Path(aside, name), Path(aside, "run")
        source.write_bytes(notebook)
        run.mkdir()
        try:
            execute(source, run / name, params | {"folder": str(run)}, Path(worker.local_directory))
        except NotebookError as error:
            what, told = error.what, error.traceback
        except Exception as error:  # such as a full disk: another worker may do better
            what, told = f"{name} failed: {error!r}", traceback.format_exc()
        files = {
            path.relative_to(run).as_posix(): path.read_bytes()
            for path in run.rglob("*")
            if path.is_file()
        }
    return Outcome(files, time.time() - started, worker.address, what, told)


def share_of_cores() -> int:
    """CPU threads of a kernel here: ``$DEMALIB_THREADS``, or cores divided among the workers."""
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
    """A Dask client.

    Args:
        scheduler: ``local`` starts workers on this machine, reachable from it alone, and ends
            them afterwards; otherwise the address or the scheduler file of a cluster that runs.
        workers: How many of them, for ``local``; 0 takes two, or one on a single core.
    """
    try:
        from dask.system import CPU_COUNT
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise DataError(f"no Dask here ({error}); run: pip install 'demalib[cluster]'") from error
    if scheduler == "local":
        count = workers or min(2, CPU_COUNT)
        cluster = LocalCluster(
            n_workers=count, threads_per_worker=1, host="127.0.0.1", memory_limit=0,
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
            env={"DEMALIB_THREADS": os.environ.get("DEMALIB_THREADS", max(1, CPU_COUNT // count))},
        )  # fmt: skip
        try:
            with Client(cluster) as client:
                yield client
        finally:
            # a slow goodbye is no failure of the sweep; before Python 3.11 there were two errors
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
    """Runs that are executed on a Dask cluster, as they are ready; a failed one is tried twice.

    Args:
        notebook: The notebook; it is sent to the workers.
        todo: Parameters of the runs, by their folders.
        scheduler: See :func:`connect`.
        workers: See :func:`connect`.
    """
    if not todo:
        return
    source = notebook.read_bytes()
    with connect(scheduler, workers) as client, tqdm(total=len(todo), disable=None) as bar:
        count = len(client.scheduler_info(n_workers=-1)["workers"])
        waits = "" if count else ", waiting for the first"
        say(f"{count} workers{waits}; dashboard: {client.dashboard_link}")

        def submit(folder: Path, **where: Any) -> Future:
            return client.submit(
                run_aside, notebook.name, source, todo[folder], pure=False, **where
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
    """Wait for a future that is done; meanwhile the progress line lives."""
    while True:
        for future in futures:
            if future.done():
                return future
        bar.refresh()
        time.sleep(0.1)


def _outcome(future: Future, name: str) -> Outcome:
    """A future's result; where Dask itself gave up on the task, that as an outcome."""
    if future.cancelled():
        raise DataError("the connection to the scheduler is lost; finished runs are kept, go on "
                        "with the same command")  # fmt: skip
    try:
        return future.result()
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        why = repr(error)
        if type(error).__name__ == "KilledWorker":
            why = "every worker that tried it died; was there too little memory?"
        return Outcome({}, 0.0, "", f"{name} failed: {why}", text)


def unpack(name: str, outcome: Outcome, work: Path) -> None:
    """Fill a run's working folder with what a worker sent, and with nothing else if it is whole."""
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
