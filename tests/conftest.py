import http.server
import multiprocessing
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

from demalib.data.files import cache_dir
from demalib.data.registry import fetch_wheels
from demalib.embedding import Embedding
from demalib.hints import Lexicon
from demalib.pair import make_pair

MUSE = Path(__file__).resolve().parents[2] / "shared" / "muse"
REAL_CACHE = cache_dir()  # read before any test points DEMALIB_CACHE elsewhere

# A busy machine may stall for longer than Hypothesis allows; the same inputs every time.
settings.register_profile("any machine", deadline=None, derandomize=True)
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Every test has a cache of its own: none depends on yesterday's."""
    monkeypatch.setenv("DEMALIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DEMALIB_MUSE", raising=False)
    monkeypatch.delenv("DEMALIB_RESULTS", raising=False)


@pytest.fixture
def real_cache(monkeypatch):
    """The user's cache, with the wheels of four languages in it; others come when needed."""
    monkeypatch.setenv("DEMALIB_CACHE", str(REAL_CACHE))
    fetch_wheels(["en", "fr", "ja", "ru"])


@pytest.fixture
def muse(monkeypatch):
    """The official dictionaries, where a machine has them."""
    folder = Path(os.environ.get("DEMALIB_TEST_MUSE", MUSE))
    if not folder.is_dir():
        pytest.skip("no MUSE dictionaries on this machine (DEMALIB_TEST_MUSE names their folder)")
    monkeypatch.setenv("DEMALIB_MUSE", str(folder))
    return folder


@pytest.fixture
def gen():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def at_once(target, calls):
    """Call a function in one process for each tuple of arguments, all at a time; none may fail."""
    fork = multiprocessing.get_context("fork")
    jobs = [fork.Process(target=target, args=args) for args in calls]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0] * len(jobs)


def planted(rng, n=600, d=16, noise=0.02, shared=100):
    """Two spaces, the second a rotated, noised copy; the first ``shared`` words look alike."""
    x = rng.standard_normal((n, d)).astype(np.float32)
    q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    y = (x @ q + noise * rng.standard_normal((n, d))).astype(np.float32)
    src = [f"both{i}" if i < shared else f"src{i}" for i in range(n)]
    tgt = [f"both{i}" if i < shared else f"tgt{i}" for i in range(n)]
    return Embedding(src, x, "aa"), Embedding(tgt, y, "bb"), torch.from_numpy(q.astype(np.float32))


def lexicon(first=200, last=300, shift=0):
    """Translations of some words of :func:`planted`."""
    return Lexicon([(f"src{i}", f"tgt{i + shift}") for i in range(first, last)])


def shaped_pair(rng, n=300, d=5, angle=1.0, noise=0.005, shared=30):
    """Two spaces with a shape: skewed along axes of different lengths, then turned by an angle."""
    x = (rng.gamma(0.7, size=(n, d)) - 0.7) * np.geomspace(2, 0.5, d)
    turn = rng.standard_normal((d, d))
    turn = torch.from_numpy(turn - turn.T)
    q = torch.matrix_exp(angle * turn / torch.linalg.matrix_norm(turn, 2)).numpy()
    y = x @ q + noise * rng.standard_normal((n, d))
    words = [
        [f"both{i}" if i < shared else f"{side}{i}" for i in range(n)] for side in ("src", "tgt")
    ]
    return make_pair(
        Embedding(words[0], x.astype(np.float32), "aa"),
        Embedding(words[1], y.astype(np.float32), "bb"),
    )


@pytest.fixture(autouse=True)
def one_thread(request):
    """Tiny tensors gain nothing from more threads; marked tests get all of them."""
    torch.set_num_threads((os.cpu_count() or 1) if request.node.get_closest_marker("heavy") else 1)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A stand-in for MUSE's host; ``cut`` and ``page`` in a path make it misbehave."""
    root = tmp_path / "www"

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(root))

        def do_GET(self):
            if "wiki.cut" in self.path:
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                self.wfile.write(b"2 2\na 1 2\n")
            elif "wiki.pag" in self.path:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<?xml version='1.0'?><Error>AccessDenied</Error>")
            elif "wiki.err" in self.path:
                self.send_error(500)
            else:
                super().do_GET()

        def log_message(self, *args):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    monkeypatch.setenv("DEMALIB_MUSE_URL", f"http://127.0.0.1:{httpd.server_port}")
    yield root
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def languages(rng):
    """Three noised rotations of one space; bb and cc share no word, either shares 60 with aa."""
    x = rng.standard_normal((800, 16)).astype(np.float32)
    out = []
    for lang, shared in (("aa", range(120)), ("bb", range(60)), ("cc", range(60, 120))):
        turn, _ = np.linalg.qr(rng.standard_normal((16, 16)))
        noised = x + 0.3 * rng.standard_normal(x.shape)
        words = [f"w{i}" if i in shared else f"{lang}{i}" for i in range(len(x))]
        out.append(Embedding(words, (noised @ turn).astype(np.float32), lang))
    return out
