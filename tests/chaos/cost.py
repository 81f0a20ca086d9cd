"""What flushing costs: the time of commands, over their time without what they wait for fsync."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chaos import world
from chaos.faults import train_notebook
from demalib.data.store import save_embedding

MOST = 1.05  # times as long as without
# fsync is waited for, so the time inside it is what it costs; two runs on a busy machine differ more
CLOCK = """
import os, sys, time
real, spent = os.fsync, []
def fsync(handle):
    began = time.monotonic()
    real(handle)
    spent.append(time.monotonic() - began)
os.fsync = fsync
from demalib.cli import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(f"{sum(spent)} {len(spent)}")
raise SystemExit(code)
"""


def seconds(words: list[str], folder: Path) -> tuple[float, float, int]:
    """Run a command with a new cache: its seconds, those that it waits for fsync, and how often."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        env = {"DEMALIB_CACHE": f"{place}/cache", "DEMALIB_RESULTS": f"{place}/results"}
        command = [sys.executable, "-c", CLOCK, f"{place}/spent", *words]
        began = time.monotonic()
        subprocess.run(
            [word.replace("PLACE", place) for word in command],
            env=os.environ | env,
            check=True,
            capture_output=True,
        )
        took = time.monotonic() - began
        spent, calls = Path(place, "spent").read_text().split()
        return took, float(spent), int(calls)


def cost(times: int, words: int = 5_000, dim: int = 100) -> dict[str, tuple[float, str]]:
    """Time over the time without fsync, of an alignment and of a sweep; the smallest of some."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder, found = Path(name), {}
        for side in world.spaces(words, dim, shared=words // 4):
            save_embedding(folder / f"{side.lang}.vec", side)
        align = f"align --src {folder}/en.vec --tgt {folder}/es.vec --out PLACE/aligned"
        sweep = f"sweep --notebook {train_notebook(folder)} --pairs en-fr --solvers gradient"
        for what, command in (("align", align), ("sweep", f"{sweep} --seeds 0 1 2")):
            tries = [seconds(command.split(), folder) for _ in range(times)]
            ratio, took, spent, calls = min((t / (t - s), t, s, n) for t, s, n in tries)
            shown = f"{ratio:.3f}: {calls} calls take {spent:.2f} of {took:.1f} s"
            found[what] = ratio, shown
        return found
