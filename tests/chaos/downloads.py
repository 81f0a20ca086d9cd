"""Downloads over a bad link: the whole file or none, in a bounded time."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from chaos import world
from chaos.link import Machines, address, machines

CLIENT, HOST, PATIENCE = 1, 2, 300
SLOW = 4e6  # bytes a second: a download takes seconds, so that the link breaks in its middle
FETCH = f"""
import sys
from demalib.cli import main
from demalib.data import registry
registry.TIMEOUT, registry.LOOPBACK = 3, ({address(HOST)!r},)
sys.exit(main(["fetch", "muse", "es"]))
"""


def lossy(network: Machines, begun: Callable[[], None]) -> None:
    """One packet in five is lost."""
    network.set(loss=0.2)


def broken(network: Machines, begun: Callable[[], None]) -> None:
    """The link breaks in the middle, for longer than the time-out, and comes back."""
    network.set(rate=SLOW)
    begun()
    network.set(cut=(HOST,))
    time.sleep(4)
    network.set()


def gone(network: Machines, begun: Callable[[], None]) -> None:
    """The link breaks in the middle, for good."""
    network.set(rate=SLOW)
    begun()
    network.set(cut=(HOST,))


SCENES = {f"download {f.__name__}": f for f in (lossy, broken, gone)}


def bad_download(name: str, seed: int, megabytes: int = 12) -> list[str]:
    """Play a scene: what went wrong."""
    with tempfile.TemporaryDirectory(prefix="c") as folder, machines(2, seed) as network:
        cache, path = Path(folder, "cache"), Path(folder, "www", world.VECTORS, "wiki.es.vec")
        path.parent.mkdir(parents=True)
        path.write_bytes(b"1000000 1\n" + os.urandom(megabytes << 20).replace(b"\n", b" "))
        serve = ["http.server", "--bind", address(HOST), "-d", f"{folder}/www", "8000"]
        env = {"DEMALIB_MUSE_URL": f"http://{address(HOST)}:8000", "DEMALIB_CACHE": str(cache)}
        with open(os.devnull, "w") as null, open(f"{folder}/said", "w") as said:
            host = network.start(HOST, [sys.executable, "-m", *serve], stdout=null, stderr=null)
            time.sleep(1)
            client = network.start(
                CLIENT,
                [sys.executable, "-c", FETCH],
                env=os.environ | env,
                stdout=null,
                stderr=said,
            )

            def begun() -> None:
                end = time.monotonic() + PATIENCE
                while time.monotonic() < end and client.poll() is None:
                    if any(p.stat().st_size > 1 << 17 for p in cache.rglob("tmp*")):
                        return
                    time.sleep(0.002)

            try:
                SCENES[name](network, begun)
                code = client.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                return [f"{name}: not finished after {PATIENCE} s"]
            finally:
                client.kill()
                host.kill()
                client.wait(), host.wait()
        kept = [p for p in cache.rglob("*") if p.is_file()]
        if code != (2 if name.endswith("gone") else 0):
            return [f"{name}: exit code {code}: {Path(folder, 'said').read_text()[-300:]}"]
        if [p.read_bytes() for p in kept] != ([path.read_bytes()] if code == 0 else []):
            return [f"{name}: kept {[p.name for p in kept]}, not the file alone"]
        return []
