"""What flushing costs: the time of commands with fsync, over the time without."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from chaos import world
from chaos.faults import train_notebook
from demalib.data.store import save_embedding

WITHOUT = "import os; os.fsync = lambda handle: None; "
MAIN = "from demalib.cli import main; raise SystemExit(main())"


def seconds(words: list[str], folder: Path, flush: bool) -> float:
    """How long a command takes, from its start to its end; the cache and the results are new."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        env = {"DEMALIB_CACHE": f"{place}/cache", "DEMALIB_RESULTS": f"{place}/results"}
        command = [sys.executable, "-c", ("" if flush else WITHOUT) + MAIN, *words]
        began = time.monotonic()
        subprocess.run(
            [word.replace("PLACE", place) for word in command],
            env=os.environ | env,
            check=True,
            capture_output=True,
        )
        return time.monotonic() - began


def cost(times: int, words: int = 20_000, dim: int = 100) -> dict[str, float]:
    """Ratios of the shortest times of an alignment and a sweep, with over without, in turns."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder, found = Path(name), {}
        for side in world.spaces(words, dim, shared=words // 4):
            save_embedding(folder / f"{side.lang}.vec", side)
        align = f"align --src {folder}/en.vec --tgt {folder}/es.vec --out PLACE/aligned --solver em"
        sweep = f"sweep --notebook {train_notebook(folder)} --pairs en-fr --solvers gradient"
        for what, command in (("align", align), ("sweep", f"{sweep} --seeds 0 1 2")):
            took = [
                [seconds(command.split(), folder, flush) for flush in (True, False)]
                for _ in range(times)
            ]
            found[what] = float(np.divide(*np.min(took, axis=0)))
        return found
