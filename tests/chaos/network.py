"""Sweeps and downloads over a bad network: every run once, none twice, none damaged."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import nbformat

from chaos.link import Machines, address, machines

CLIENT, SCHEDULER, FIRST, SECOND = 1, 2, 3, 4
PORT, PATIENCE, RUNS = 8786, 240, 5
# time-outs of seconds instead of minutes
SOON = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8s",
    "DASK_DISTRIBUTED__WORKER__HEARTBEAT_INTERVAL": "1s",
    "OMP_NUM_THREADS": "1",
    "DEMALIB_THREADS": "1",
}
LONGER = 20  # seconds; longer than all of these
HEAD = 'pair = "en-fr"\nsolver = "gradient"\nseed = 0\nrecipe = "laptop"\nablate = ""\n'
HEAD += 'max_vocab = 5000\nfolder = ""\n'
BODY = """
import hashlib, json, os, pathlib, time
with open(log, "a") as file:
    file.write(f"{seed}\\n")
time.sleep(1)
blob = os.urandom(300_000)
pathlib.Path(folder, "blob").write_bytes(blob)
pathlib.Path(folder, "metrics.json").write_text(json.dumps(
    {"seed": seed, "sha256": hashlib.sha256(blob).hexdigest()}))
"""


class Cluster:
    """A scheduler, two workers and a sweep, each on a machine of its own."""

    def __init__(self, folder: Path, network: Machines):
        self.folder, self.network, self.running = folder, network, {}
        self.env = os.environ | SOON | {"DEMALIB_RESULTS": str(folder / "results")}
        self.env |= {"JUPYTER_RUNTIME_DIR": str(folder / "jupyter"), "TMPDIR": str(folder)}
        new = nbformat.v4.new_code_cell
        cells = [new(HEAD, metadata={"tags": ["parameters"]})]
        cells += [new(f"log = {str(folder / 'log')!r}" + BODY)]
        plain = {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}}
        self.notebook = folder / "train.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=plain), self.notebook)
        (folder / "log").touch()

    def start(self, number: int, *words: str) -> subprocess.Popen:
        """Start one of our programs on a machine; what it says is kept in a file."""
        with open(self.folder / f"said-{number}", "ab") as said:
            process = self.network.start(
                number,
                [sys.executable, "-m", *words],
                env=self.env,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self.running[number] = process
        return process

    def scheduler(self) -> None:
        """Start the scheduler."""
        place = ("--host", address(SCHEDULER), "--port", str(PORT), "--no-dashboard")
        self.start(SCHEDULER, "distributed.cli.dask_scheduler", *place)

    def worker(self, number: int) -> None:
        """Start a worker, which waits for the scheduler."""
        words = ["distributed.cli.dask_worker", f"tcp://{address(SCHEDULER)}:{PORT}"]
        words += ["--host", address(number), "--nthreads", "1", "--no-dashboard"]
        words += ["--local-directory", str(self.folder / f"w{number}"), "--death-timeout", "120"]
        self.start(number, *words)

    def sweep(self) -> subprocess.Popen:
        """Start the sweep."""
        words = ["demalib", "sweep", "--notebook", str(self.notebook), "--pairs", "en-fr"]
        words += ["--solvers", "gradient", "--seeds", *map(str, range(RUNS))]
        return self.start(CLIENT, *words, "--scheduler", f"tcp://{address(SCHEDULER)}:{PORT}")

    def stop(self, *numbers: int) -> None:
        """Kill what runs on some machines."""
        for number in numbers:
            process = self.running.pop(number, None)
            if process:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def started(self) -> Counter:
        """How often each run was started."""
        return Counter(map(int, (self.folder / "log").read_text().split()))

    def await_starts(self, count: int) -> None:
        """Wait for the first runs to start."""
        end = time.monotonic() + PATIENCE
        while self.started().total() < count:
            stuck = time.monotonic() > end or self.running[CLIENT].poll() is not None
            assert not stuck, f"no run starts: {self.said(CLIENT)}"
            time.sleep(0.1)

    def said(self, number: int) -> str:
        """The last words of a program."""
        return (self.folder / f"said-{number}").read_text(errors="replace")[-600:]

    def finished(self, process: subprocess.Popen) -> int:
        """Wait for a sweep, not for ever: its exit code."""
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return -1

    def wrong(self) -> list[str]:
        """What is lost, doubled, damaged or left over among the results."""
        found, runs = [], self.folder / "results" / "runs"
        folders = sorted(runs.glob("[!.]*/*/*"))
        for folder in folders:
            metrics = json.loads((folder / "metrics.json").read_text())
            blob = (folder / "blob").read_bytes()
            if hashlib.sha256(blob).hexdigest() != metrics["sha256"]:
                found.append(f"{folder.name}: damaged")
            if sorted(p.name for p in folder.iterdir()) != ["blob", "metrics.json", "train.ipynb"]:
                found.append(f"{folder.name}: {sorted(p.name for p in folder.iterdir())}")
        if sorted(int(folder.name) for folder in folders) != list(range(RUNS)):
            found.append(f"runs {[folder.name for folder in folders]} of {RUNS}")
        left = [p for p in (runs / ".unfinished").rglob("*") if p.is_file()]
        return found + [f"left over: {path.name}" for path in left]


def lossy(cluster: Cluster) -> None:
    """One packet in five is lost."""
    cluster.network.set(loss=0.2)
    expect(cluster, cluster.sweep(), 0)


def partition(cluster: Cluster) -> None:
    """A worker cannot be reached for longer than the time-outs; then it comes back, with its work
    done, which was given to the other."""
    sweep = cluster.sweep()
    cluster.await_starts(2)
    cluster.network.set(cut=(FIRST,))
    time.sleep(LONGER)
    cluster.network.set()
    expect(cluster, sweep, 0)


def blink(cluster: Cluster) -> None:
    """All links fail again and again, for less than the time-outs; a run may fail of it."""
    sweep = cluster.sweep()
    for _ in range(4):
        time.sleep(2)
        cluster.network.set(cut=(CLIENT, SCHEDULER, FIRST, SECOND))
        time.sleep(1.5)
        cluster.network.set()
    if expect(cluster, sweep, 0, 2) == 2:
        assert "bad network" in cluster.said(CLIENT) or "lost the" in cluster.said(CLIENT)
        renew(cluster)
        expect(cluster, cluster.sweep(), 0)


def restart(cluster: Cluster) -> None:
    """The scheduler is killed and started again: the sweep says so, and the next one finishes."""
    sweep = cluster.sweep()
    cluster.await_starts(2)
    cluster.stop(SCHEDULER)
    cluster.scheduler()
    if expect(cluster, sweep, 0, 2) == 2:
        assert "lost the connection" in cluster.said(CLIENT), cluster.said(CLIENT)
        renew(cluster)
        expect(cluster, cluster.sweep(), 0)


def cut_off(cluster: Cluster) -> None:
    """The client cannot reach anybody for longer than the time-outs."""
    sweep = cluster.sweep()
    cluster.await_starts(2)
    cluster.network.set(cut=(CLIENT,))
    time.sleep(LONGER)
    cluster.network.set()
    if expect(cluster, sweep, 0, 2) == 2:
        assert "lost the connection" in cluster.said(CLIENT), cluster.said(CLIENT)
        renew(cluster)
        expect(cluster, cluster.sweep(), 0)


SCENES: dict[str, Callable[[Cluster], None]] = {
    f.__name__: f for f in (lossy, partition, blink, restart, cut_off)
}


def renew(cluster: Cluster) -> None:
    """Start the workers again, as a person does, or the system."""
    cluster.stop(FIRST, SECOND)
    for number in (FIRST, SECOND):
        cluster.worker(number)


def expect(cluster: Cluster, sweep: subprocess.Popen, *codes: int) -> int:
    """Wait for a sweep, which must end with one of these codes."""
    code = cluster.finished(sweep)
    assert code in codes, f"exit code {code}: {cluster.said(CLIENT)}"
    return code


def bad_network(name: str, seed: int) -> list[str]:
    """Play a scene: what went wrong."""
    with (
        tempfile.TemporaryDirectory(prefix="c", ignore_cleanup_errors=True) as folder,
        machines(4, seed) as network,
    ):
        cluster = Cluster(Path(folder), network)
        try:
            cluster.scheduler()
            for number in (FIRST, SECOND):
                cluster.worker(number)
            SCENES[name](cluster)
            twice = cluster.started() - Counter(range(RUNS))
            wrong = cluster.wrong()
            if twice.total() > 4:
                wrong.append(f"started again: {dict(twice)}")
            return [f"{name}: {text}" for text in wrong]
        except AssertionError as error:
            return [f"{name}: {error}"]
        finally:
            cluster.network.set()
            cluster.stop(*list(cluster.running))
