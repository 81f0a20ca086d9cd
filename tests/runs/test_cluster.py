"""Sweeps on Dask: nothing is lost, doubled, broken or left over, whoever is killed."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import dask
import nbformat
import psutil
import pytest
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster

from demalib import runs
from demalib.cli import main
from demalib.runs import cluster
from demalib.runs.folder import CHECKPOINT, UNFINISHED

HEAD = """pair = "en-fr"
solver = "gradient"
seed = 0
recipe = "laptop"
ablate = ""
max_vocab = 5000
folder = ""
"""
BODY = """
import hashlib, json, os, pathlib, time
with open(log, "a") as file:
    file.write(f"{seed} {os.getpid()} {os.getppid()}\\n")
if seed == 99:
    raise RuntimeError("no good")
time.sleep(0.5)
blob = os.urandom(1 << 20)
pathlib.Path(folder, "part").mkdir()
pathlib.Path(folder, "part", "blob").write_bytes(blob)
pathlib.Path(folder, "metrics.json").write_text(json.dumps(
    {"seed": seed, "sha256": hashlib.sha256(blob).hexdigest(),
     "threads": os.environ["OMP_NUM_THREADS"]}))
"""


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook that says which kernel and worker ran it, and makes a megabyte."""
    temporary = Path(tempfile.mkdtemp(prefix="t"))  # short: sockets have short names
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(temporary / "jupyter"))
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    new = nbformat.v4.new_code_cell
    cells = [new(HEAD, metadata={"tags": ["parameters"]})]
    cells += [new(f"log = {str(tmp_path / 'log')!r}" + BODY)]
    plain = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = tmp_path / "train.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=plain), path)
    yield path
    shutil.rmtree(temporary)


def started(notebook):
    """(seed, kernel, worker) of every start so far."""
    log = notebook.with_name("log")
    lines = log.read_text().splitlines() if log.exists() else []
    return [tuple(map(int, line.split())) for line in lines]


def command(notebook, seeds):
    sweep = f"sweep --notebook {notebook} --pairs en-fr --solvers gradient --seeds".split()
    return [*sweep, *map(str, range(seeds)), *["--scheduler", "local", "--workers", "2"]]


def start(notebook, seeds):
    return subprocess.Popen(
        [sys.executable, "-m", "demalib", *command(notebook, seeds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(condition, seconds=900):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, "it never happened"
        time.sleep(0.05)


def finished(seeds):
    """Seeds whose run is in its place, each checked to be whole."""
    found = set()
    for folder in (runs.results_dir() / "runs" / "en-fr" / "gradient").glob("*"):
        metrics = json.loads((folder / "metrics.json").read_text())
        assert sorted(p.name for p in folder.iterdir()) == ["metrics.json", "part", "train.ipynb"]
        blob = (folder / "part" / "blob").read_bytes()
        assert hashlib.sha256(blob).hexdigest() == metrics["sha256"]
        nbformat.validate(nbformat.read(folder / "train.ipynb", 4))
        assert folder.name == str(metrics["seed"]) and metrics["seed"] in range(seeds)
        found.add(metrics["seed"])
    return found


def assert_nothing_is_left(notebook):
    pids = {pid for _, *both in started(notebook) for pid in both}
    wait_for(lambda: not any(map(psutil.pid_exists, pids)), 10)
    temporary = Path(tempfile.gettempdir()).rglob("*")
    left = [path for path in temporary if path.suffix != ".lock"]  # Dask keeps its own
    left += (runs.results_dir() / "runs" / UNFINISHED).rglob("*")
    assert [path for path in left if not path.is_dir()] == []


def test_a_killed_worker_costs_only_its_run(notebook):
    sweep = start(notebook, 12)
    wait_for(lambda: len({worker for _, _, worker in started(notebook)}) == 2)
    workers = {worker for _, _, worker in started(notebook)}
    heard = [c for pid in (sweep.pid, *workers) for c in psutil.Process(pid).net_connections()]
    assert {c.laddr.ip for c in heard if c.status == "LISTEN"} == {"127.0.0.1"}
    before = len(started(notebook))
    wait_for(lambda: len(started(notebook)) > before)
    worker = started(notebook)[-1][2]
    os.kill(worker, signal.SIGKILL)
    out, _ = sweep.communicate(timeout=900)
    assert sweep.returncode == 0, out
    assert "dashboard: http://127.0.0.1:" in out and "done    12" in out
    assert finished(12) == set(range(12))
    again = Counter(s for s, *_ in started(notebook)) - Counter(range(12))
    theirs = {s for s, _, by in started(notebook) if by == worker}
    assert set(again) <= theirs and again.total() <= 3  # some whose files were on their way
    assert_nothing_is_left(notebook)

    before = started(notebook)
    assert main(command(notebook, 12)) == 0
    assert started(notebook) == before


def test_a_slow_goodbye_is_no_failure(monkeypatch):
    close = LocalCluster.close

    def slow(self, *args, **kwargs):
        close(self, *args, **kwargs)
        raise asyncio.TimeoutError

    monkeypatch.setattr(LocalCluster, "close", slow)
    with cluster.connect("local", 1) as client:
        assert client.submit(int, "7").result() == 7


def test_threads_are_what_the_user_says(monkeypatch):
    monkeypatch.setenv("DEMALIB_THREADS", "7")
    with cluster.connect("local", 1) as client:
        assert client.submit(cluster.share_of_cores).result() == 7


def test_a_killed_client_goes_on_where_it_was(notebook):
    sweep = start(notebook, 6)
    wait_for(lambda: len(finished(6)) >= 2)
    sweep.kill()
    sweep.communicate()
    before, had = started(notebook), finished(6)
    pids = {pid for _, *both in before for pid in both}
    wait_for(lambda: not any(map(psutil.pid_exists, pids)), 10)  # no orphans
    again = start(notebook, 6)
    out, _ = again.communicate(timeout=900)
    assert again.returncode == 0 and finished(6) == set(range(6)), out
    assert {seed for seed, *_ in started(notebook)[len(before) :]} == set(range(6)) - had
    assert len(started(notebook)) == len(before) + 6 - len(had)
    assert_nothing_is_left(notebook)


def test_workers_elsewhere_send_files_and_a_failure_is_reported(notebook, tmp_path, capsys):
    place, folder = tmp_path / "scheduler.json", runs.results_dir() / "runs" / "en-fr" / "gradient"
    stale = runs.work_dir(folder / "0") / CHECKPOINT
    stale.parent.mkdir(parents=True)
    stale.touch()
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),  # it may undo a choice
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            env={"DEMALIB_RESULTS": "/nowhere", "OMP_NUM_THREADS": 77},
        ) as machines,
        Client(machines) as client,
    ):
        client.write_scheduler_file(str(place))
        sweep = ["sweep", "--notebook", str(notebook), "--pairs", "en-fr", "--solvers", "gradient"]
        assert main([*sweep, "--seeds", "0", "99", "1", "--scheduler", str(place)]) == 2
    out, err = capsys.readouterr()
    assert finished(2) == {0, 1}
    assert runs.read_metrics(folder / "0")["threads"] == str(max(1, CPU_COUNT // 2))
    tries = [worker for seed, _, worker in started(notebook) if seed == 99]
    assert len(tries) == 2 and len(set(tries)) == 2  # once more, on the other worker
    assert re.search(r"-+> \d+ +raise RuntimeError", out), out
    kept = runs.work_dir(folder / "99") / "train.ipynb"
    assert "1 runs failed" in err and "no good" in kept.read_text()
    assert f"RuntimeError: no good (kept with its traceback: {kept})" in err


def test_what_cannot_work_is_said_in_a_line(notebook, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    sweep = command(notebook, 1)[:-4]
    for more, says in [
        (["--scheduler", "tcp://127.0.0.1:1"], "no Dask scheduler answers"),
        (["--scheduler", str(tmp_path / "none.json")], "no such scheduler file"),
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "needs --scheduler local"),
    ]:
        assert main([*sweep, *more]) == 2
        error = capsys.readouterr().err
        assert says in error and error.count("\n") == 1, error
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main([*sweep, "--scheduler", "local"]) == 2
    assert "pip install 'demalib[cluster]'" in capsys.readouterr().err
