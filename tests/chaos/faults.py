"""Kills at random moments: what is started again ends as if nothing had happened.

Jobs run in forked processes, which start in a moment; each leaves its result in a folder, and
says in one line what a reader finds there.
"""

import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import torch

from chaos import MEMORY, world
from demalib import runs
from demalib.alignment import load_alignment
from demalib.cli import main
from demalib.data.registry import fetch_muse_vectors
from demalib.data.store import read_vectors
from demalib.data.tensors import load_mapping
from demalib.runs.folder import CHECKPOINT

Job = Callable[[Path], str]
# of metrics.json: two runs may differ in these
NOT_REPEATED = ("seconds", "cpu_seconds", "date", "peak_gb")


def digest(*parts: bytes) -> str:
    """A short name for some bytes."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def figures(folder: Path) -> bytes:
    """metrics.json of a run and its maps, without what the clock says."""
    metrics = {k: v for k, v in runs.read_metrics(folder).items() if k not in NOT_REPEATED}
    mapping = load_mapping(folder / "mapping.safetensors")
    maps = mapping.W_xy.numpy().tobytes() + mapping.W_yx.numpy().tobytes()
    return json.dumps(metrics, sort_keys=True).encode() + maps


def command(*words: object) -> None:
    """Run demalib as from a shell; a failure ends this process with its exit code."""
    with contextlib.redirect_stdout(io.StringIO()):
        if code := main([str(word) for word in words]):
            raise SystemExit(code)


def download(folder: Path) -> str:
    """A file from the slow host."""
    return digest(fetch_muse_vectors("es").read_bytes())


def cache(folder: Path) -> str:
    """A parsed file, read back from the cache."""
    embedding = read_vectors(folder / "www" / world.VECTORS / "wiki.en.vec")
    again = read_vectors(folder / "www" / world.VECTORS / "wiki.en.vec")
    assert again.words == embedding.words
    return digest("\n".join(embedding.words).encode(), embedding.vectors.tobytes())


def gradient(folder: Path) -> str:
    """A run with checkpoints."""
    runs.solve(world.GRADIENT)
    return digest(figures(runs.run_dir(world.GRADIENT)))


def em(folder: Path) -> str:
    """A run without."""
    runs.solve(world.EM)
    return digest(figures(runs.run_dir(world.EM)))


def align_seed(folder: Path, seed: int, *more: object) -> None:
    """The command, over what an earlier one left."""
    side = folder / "www" / world.VECTORS
    for lang in ("en", "es"):
        if not (folder / f"{lang}.vec").exists():
            os.link(side / f"wiki.{lang}.vec", folder / f"{lang}.vec")
    command(
        *f"align --src {folder}/en.vec --tgt {folder}/es.vec --out {folder}/aligned".split(),
        *f"--solver identical --seed {seed}".split(),
        *more,
    )


def align(folder: Path) -> str:
    """The command, again and again over what an earlier one left."""
    for seed in (1, 0):
        align_seed(folder, seed)
    mapping, pair = load_alignment(folder / "aligned")
    assert mapping.config.seed == 0
    return digest(mapping.W_xy.numpy().tobytes(), pair.src.vectors.tobytes())


def export(folder: Path) -> str:
    """Vectors and a dictionary for other programs."""
    if not (folder / "aligned" / "mapping.safetensors").exists():
        align(folder)
    for kind in ("vec", "word2vec", "npz", "dictionary"):
        command("export", folder / "aligned", "--format", kind, "--out", folder / "out")
    files = sorted(path for path in (folder / "out").iterdir() if path.name[0] != ".")
    assert len(files) == 7
    return digest(*(path.read_bytes() for path in files if path.suffix != ".npz"))


NOTEBOOK = """
import json, os, pathlib, time
with open(folder.split("/results/")[0] + "/kernels", "a") as file:
    file.write(f"{os.getpid()}\\n")
for i in range(5):
    time.sleep(0.05)
    pathlib.Path(folder, "part").write_text("x" * i)
pathlib.Path(folder, "metrics.json").write_text(json.dumps({"seed": seed, "pair": pair}))
"""


def train_notebook(folder: Path) -> Path:
    """A notebook that makes a run in a moment."""
    import nbformat

    path = folder / "train.ipynb"
    if not path.exists():
        head = 'pair = "en-fr"\nsolver = "gradient"\nseed = 0\nrecipe = "laptop"\nablate = ""\n'
        head += 'max_vocab = 5000\nfolder = ""\n'
        new = nbformat.v4.new_code_cell
        cells = [new(head, metadata={"tags": ["parameters"]}), new(NOTEBOOK)]
        plain = {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=plain), path)
    return path


def sweep(folder: Path, seeds: int = 2) -> str:
    """Some notebooks, headless."""
    grid = ("--pairs", "en-fr", "--solvers", "gradient", "--seeds", *range(seeds))
    command("sweep", "--notebook", train_notebook(folder), *grid)
    found = [folder / "results/runs/en-fr/gradient" / str(seed) for seed in range(seeds)]
    assert all((place / "train.ipynb").is_file() for place in found)
    return digest(
        *((place / name).read_bytes() for place in found for name in ("metrics.json", "part"))
    )


def leftovers(seeds: int) -> list[str]:
    """List what a sweep of this many runs leaves behind: kernels, or temporary files."""
    with ground() as (folder, address), tempfile.TemporaryDirectory(prefix="t") as temporary:
        place = fresh(folder, "sweep")

        def job(folder: Path) -> str:
            tempfile.tempdir = os.environ["TMPDIR"] = temporary
            return sweep(folder, seeds)

        said = finish(*start(job, place, address))
        kernels = set(map(int, (place / "kernels").read_text().split()))
        alive = [f"kernel {pid}" for pid in kernels if psutil.pid_exists(pid)]
        files = [str(path) for path in Path(temporary).rglob("*")]
        unfinished = [
            str(p) for p in (place / "results/runs/.unfinished").rglob("*") if p.is_file()
        ]
        short = [] if len(kernels) == seeds else [f"{len(kernels)} kernels of {seeds}: {said}"]
        return alive + files + unfinished + short


JOBS: dict[str, Job] = {
    f.__name__: f for f in (download, cache, gradient, em, align, export, sweep)
}


SIGNS = {"gradient": CHECKPOINT}  # killed before there is one, a run has nothing to resume


@dataclass
class Kills:
    """What came of killing one job."""

    injected: int = 0
    survived: int = 0
    outside: list[str] = field(default_factory=list)


def start(job: Job, folder: Path, address: str) -> tuple[int, int]:
    """Fork a process that does the job: its id, and where it will say what it found."""
    reader, writer = os.pipe()
    if pid := os.fork():
        os.close(writer)
        return pid, reader
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)
    os.environ.update(
        DEMALIB_CACHE=str(folder / "cache"),
        DEMALIB_MUSE_URL=address,
        DEMALIB_RESULTS=str(folder / "results"),
        JUPYTER_RUNTIME_DIR=str(folder / "jupyter"),
    )
    os.environ.pop("DEMALIB_MUSE", None)
    code = 1
    try:
        torch.set_num_threads(1)
        os.write(writer, job(folder).encode())
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def finish(pid: int, reader: int) -> str:
    """What a job found, or how it failed."""
    with os.fdopen(reader) as file:
        said = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return said if code == 0 else f"exit code {code}"


@contextlib.contextmanager
def ground() -> Iterator[tuple[Path, str]]:
    """A folder with the world in it, and the address of its host."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-", dir=MEMORY))
    pid, address = world.serve(world.build(folder / "www"))
    try:
        yield folder, address
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        shutil.rmtree(folder, ignore_errors=True)


def fresh(folder: Path, name: str) -> Path:
    """A place for one try, with the vectors there but nothing made of them."""
    place = folder / name
    shutil.copytree(folder / "www", place / "www", copy_function=os.link)
    if "download" not in name:
        shutil.copytree(folder / "www", place / "cache" / "muse", copy_function=os.link)
    return place


def await_file(pattern: str, place: Path, pid: int) -> None:
    """Wait until a job has made such a file, or has ended."""
    while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        with contextlib.suppress(FileNotFoundError):  # a folder may be renamed during the look
            if any(place.rglob(pattern)):
                return
        time.sleep(0.005)


def kill(name: str, times: int, seed: int, in_a_row: int = 3) -> Kills:
    """Kill a job at random moments, a few times in a row, then let it end; ``times`` in all."""
    tally, rng, job = Kills(), random.Random(f"{seed}:{name}"), JOBS[name]
    with ground() as (folder, address):
        began = time.monotonic()
        want = finish(*start(job, fresh(folder, f"{name}-whole"), address))
        assert "exit code" not in want, f"{name} fails even if nobody kills it"
        lasts = time.monotonic() - began
        while tally.injected < times and not tally.outside:
            place, kills = fresh(folder, f"{name}-{tally.injected}"), 0
            for _ in range(min(in_a_row, times - tally.injected)):
                pid, reader = start(job, place, address)
                await_file(SIGNS.get(name, "log"), place, pid)
                time.sleep(rng.uniform(0, lasts))
                os.kill(pid, signal.SIGKILL)
                kills += finish(pid, reader) == f"exit code {-signal.SIGKILL}"
            lasts = lasts if kills else lasts / 2  # too late each time: the machine is quicker now
            found = finish(*start(job, place, address))
            tally.injected += kills
            if found == want:
                tally.survived += kills
            else:
                log = (place / "log").read_text().strip().splitlines()[-1:]
                tally.outside.append(f"{seed}:{name}: {found} is not {want}; {log}")
            shutil.rmtree(place, ignore_errors=True)
    return tally
