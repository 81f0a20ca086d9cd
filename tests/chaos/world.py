"""A tiny world to hurt: vectors of two languages, dictionaries, a host that serves them slowly."""

import http.server
import os
import time
from pathlib import Path

import numpy as np

from demalib.config import preset
from demalib.data.store import save_embedding
from demalib.embedding import Embedding

VECTORS, WORDS = "fasttext/vectors-wiki", "arrival/dictionaries"
QUICK = {"vectors": "muse", "lexicons": "muse"}
EM = preset("en-es", **QUICK)
GRADIENT = preset(
    "en-es", solver="gradient", components=200, batch=32, steps=120, validate_every=5, **QUICK
)


def spaces(n: int = 300, d: int = 10, shared: int = 40, noise: float = 0.02, seed: int = 0):
    """Two spaces, one a turned and noised copy of the other."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)).astype(np.float32)
    turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
    y = (x @ turn + noise * rng.standard_normal((n, d))).astype(np.float32)
    names = (
        [f"both{i}" if i < shared else f"{lang}{i}" for i in range(n)] for lang in ("en", "es")
    )
    return tuple(Embedding(w, v, k) for w, v, k in zip(names, (x, y), ("en", "es"), strict=True))


def build(root: Path, n: int = 300) -> Path:
    """Files as MUSE's host has them, below ``root``."""
    sides = spaces(n)
    for folder in (VECTORS, WORDS):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for side in sides:
        save_embedding(root / VECTORS / f"wiki.{side.lang}.vec", side)
    for split, rows in {"0-5000": range(40, 150), "5000-6500": range(150, n)}.items():
        for a, b in (("en", "es"), ("es", "en")):
            lines = "".join(f"{a}{i} {b}{i}\n" for i in rows)
            (root / WORDS / f"{a}-{b}.{split}.txt").write_text(lines)
    return root


class Slow(http.server.SimpleHTTPRequestHandler):
    """A server that takes its time, so that a download can be interrupted."""

    root = ""

    def __init__(self, *args):
        super().__init__(*args, directory=self.root)

    def copyfile(self, source, outputfile):
        """Send the file in a few pieces."""
        data = source.read()
        step = max(1, len(data) // 8)
        for at in range(0, len(data), step):
            outputfile.write(data[at : at + step])
            time.sleep(0.02)

    def log_message(self, *args):
        """Say nothing."""


def serve(root: Path) -> tuple[int, str]:
    """A process of its own that serves ``root``: its id and its address."""
    Slow.root = str(root)
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            httpd.serve_forever()
        finally:
            os._exit(0)
    httpd.server_close()
    return pid, f"http://127.0.0.1:{httpd.server_port}"
