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

from demalib.bench.timing import ratios

_READERS = {
    "demalib": "from demalib.store import read_vectors as read\nread({path!r})",
    "demalib, cached": "from demalib.store import read_vectors as read\nread({path!r})",
    "plain loop": """
import numpy as np
lines = open({path!r}, encoding="utf-8")
n, d = map(int, next(lines).split())
words, out = [], np.empty((n, d), np.float32)
for i, line in enumerate(lines):
    fields = line.split()
    words.append(fields[0])
    out[i] = np.array(fields[1:], dtype=np.float32)""",
    "gensim": """
from gensim.models import KeyedVectors
KeyedVectors.load_word2vec_format({path!r})""",
}
_TIMED = """
import re, time
{imports}
def peak():  # of this program alone: what getrusage says includes the one that started it
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
before, start = peak(), time.perf_counter()
{code}
print(time.perf_counter() - start, peak() - before)
"""


def vectors(n: int = 200_000, d: int = 300) -> dict[str, Any]:
    """Reading the first 200k words of a ``.vec`` file, each reader in a process of its own."""
    rng = np.random.default_rng(0)
    seconds, peak = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "bench.vec")
        with open(path, "w") as file:
            file.write(f"{n} {d}\n")
            line = " ".join(["%.5g"] * d)
            for i in range(n):
                file.write(f"word{i} {line % tuple(rng.normal(0, 0.3, d))}\n")
        time.sleep(2.5)  # a file at rest, as a user's is
        for name, code in _READERS.items():
            imports, _, rest = code.strip().partition("\n")
            script = _TIMED.format(imports=imports, code=rest.format(path=path))
            env = {**os.environ, "DEMALIB_CACHE": str(Path(folder) / "cache")}
            out = subprocess.run(
                [sys.executable, "-c", script], env=env, capture_output=True, text=True
            )
            seconds[name], peak[name] = map(float, out.stdout.split())
    cached = {"seconds": seconds.pop("demalib, cached"), "peak_mb": peak.pop("demalib, cached")}
    size = {"words": n, "d": d, "matrix_mb": 4 * n * d / 2**20}
    return {**size, **ratios("demalib", seconds, peak), "cached": cached}
