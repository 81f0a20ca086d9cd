"""Reading ``.vec`` files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.timing import ratios

DEMALIB = "from demalib.data.store import read_vectors as read\nread({path!r})"
READERS = {  # the first line is not timed
    "demalib": DEMALIB,
    "demalib, cached": DEMALIB,
    "plain loop": """import numpy as np
lines = open({path!r}, encoding="utf-8")
n, d = map(int, next(lines).split())
words, out = [], np.empty((n, d), np.float32)
for i, line in enumerate(lines):
    fields = line.split()
    words.append(fields[0])
    out[i] = np.array(fields[1:], dtype=np.float32)""",
    "gensim": """from gensim.models import KeyedVectors
KeyedVectors.load_word2vec_format({path!r})""",
}
TIMED = """
import re, time
{imports}
def peak():  # of this program alone: what getrusage says includes the one that started it
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
before, start = peak(), time.perf_counter()
{code}
print(time.perf_counter() - start, peak() - before)
"""


def vectors(n: int = 200_000, d: int = 300, rest: float = 2.5) -> dict[str, Any]:
    """Read a ``.vec`` file with each reader in a process of its own.

    Args:
        n: Words in the file.
        d: Their dimension.
        rest: Seconds to wait after writing: the digest of a file at rest, as a user's is, is kept.
    """
    seconds, peak = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.vec"
        write(path, n, d)
        time.sleep(rest)
        for name in READERS:
            seconds[name], peak[name] = read(name, path)
    cached = {"seconds": seconds.pop("demalib, cached"), "peak_mb": peak.pop("demalib, cached")}
    size = {"words": n, "d": d, "matrix_mb": 4 * n * d / 2**20}
    return {**size, **ratios("demalib", seconds, peak), "cached": cached}


def write(path: Path, n: int, d: int) -> None:
    """Write random vectors."""
    rng, line = np.random.default_rng(0), " ".join(["%.5g"] * d)
    with open(path, "w") as file:
        file.write(f"{n} {d}\n")
        for i in range(n):
            file.write(f"word{i} {line % tuple(rng.normal(0, 0.3, d))}\n")


def read(reader: str, path: Path) -> tuple[float, float]:
    """Read a file in a new process with a cache beside it; return seconds and peak megabytes."""
    imports, _, code = READERS[reader].partition("\n")
    script = TIMED.format(imports=imports, code=code.format(path=str(path)))
    env = {**os.environ, "DEMALIB_CACHE": str(path.with_name("cache"))}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    seconds, megabytes = map(float, done.stdout.split())
    return seconds, megabytes
