"""Cache folder, names, atomic writes, locks and digests of files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock

from demalib.errors import DataError


def cache_dir() -> Path:
    """The folder for downloads and parsed vectors: ``$DEMALIB_CACHE`` or the user's cache."""
    return Path(os.environ.get("DEMALIB_CACHE") or platformdirs.user_cache_dir("demalib"))


def display_path(path: str | Path) -> str:
    """A path as a person would type it: relative to the working folder if it lies below it."""
    path = Path(path).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def plain_name(name: str) -> str:
    """The name itself, if a file or folder of that name stays in the folder it is put into.

    Raises:
        DataError: It is empty, begins with a dot, or holds a path separator or a control character.
    """
    if not name or name[0] == "." or any(c in "/\\" or c < " " for c in name):
        raise DataError(
            f"{name!r} cannot name a file: leave out slashes, control characters and a leading dot"
        )
    return name


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Yield a temporary neighbour of ``path``; rename it to ``path`` if nothing went wrong."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        aside.chmod(0o644)  # mkstemp's 0600 would hide results from colleagues
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file, whole or not at all."""
    with atomic_write(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, data: Any) -> None:
    """Write JSON for people and programs: indented, UTF-8, whole or not at all."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def build_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a temporary folder, then rename it to ``folder``; of two builders the first wins."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".tmp"))
    try:
        fill(aside)
        with contextlib.suppress(OSError):  # another process was first: its result is as good
            os.rename(aside, folder)
        if not folder.is_dir():
            raise OSError(f"{folder}: could not be put in place")
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def path_lock(path: Path) -> Iterator[None]:
    """Let one of this machine's processes make ``path``; who waited looks for it again inside."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = Path(f"{path}.lock")
    with FileLock(lock):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()  # while it is held: who waits for it notices, and locks a new one


def digest(path: str | Path) -> str:
    """SHA-256 of a file's content; remembered while the file's stat says it is untouched.

    Note:
        The memory is trusted only if the file had been at rest for two seconds when it was
        read. The change time cannot be set by programs, so a file that is rewritten with its
        old size and modification time is noticed too.
    """
    path = Path(path).resolve()
    stat = path.stat()
    signature = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    memo = cache_dir() / "digests" / (hashlib.sha256(str(path).encode()).hexdigest() + ".json")
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(memo.read_text())
        if known["signature"] == signature:
            return str(known["sha256"])
    started = time.time_ns()
    value = _sha256(path)
    if started - max(stat.st_mtime_ns, stat.st_ctime_ns) > 2e9:
        with contextlib.suppress(OSError):
            write_json(memo, {"path": str(path), "signature": signature, "sha256": value})
    return value


def _sha256(path: Path) -> str:
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()
