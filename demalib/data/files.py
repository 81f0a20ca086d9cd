"""Cache folder, file names, writes that survive kills and power cuts, locks and digests.

Everything takes its name in the same way: it is written aside, flushed to the disk, renamed, and
the folder with the new name is flushed too.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from demalib.errors import DataError


def cache_dir() -> Path:
    """Return the folder of downloads and parsed vectors: ``$DEMALIB_CACHE`` or the user's cache."""
    return Path(os.environ.get("DEMALIB_CACHE") or platformdirs.user_cache_dir("demalib"))


def display_path(path: str | Path) -> str:
    """Format a path as a person would type it: relative if it is below the working folder."""
    path = Path(path).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def plain_name(name: str) -> str:
    """Return the name if it is safe to use: a file of that name cannot leave its folder.

    Raises:
        DataError: It is empty, begins with a dot, or contains a path separator or a control
            character.
    """
    if not name or name[0] == "." or any(c in "/\\" or c < " " for c in name):
        raise DataError(
            f"{name!r} cannot name a file: leave out slashes, control characters and a leading dot"
        )
    return name


@contextlib.contextmanager
def errors_about(path: Path) -> Iterator[None]:
    """Let errors of the system that name no file, such as a full disk, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            error.filename = display_path(path)
        raise


CANNOT_FLUSH = (errno.EINVAL, errno.ENOTSUP)  # from file systems without fsync for folders


def flush(path: Path) -> None:
    """Wait until a file, or a folder with all that is in it, is on the disk."""
    if path.is_dir():
        for inside in path.iterdir():
            flush(inside)
    _fsync(path)


def _fsync(path: Path) -> None:
    """Flush a file's content, or the names in a folder."""
    if os.name != "posix" and path.is_dir():
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        with errors_about(path):
            os.fsync(handle)
    except OSError as error:
        if error.errno not in CANNOT_FLUSH:
            raise
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless they exist."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        _fsync(path.parent)


def rename(old: Path, new: Path) -> None:
    """Give a flushed file or folder another name, and wait until the name is on the disk."""
    os.rename(old, new) if old.is_dir() else os.replace(old, new)
    for folder in {new.parent, old.parent}:
        _fsync(folder)


def move_in(file: Path, path: Path) -> None:
    """Flush a finished file and give it its name, in a folder that is made if it does not exist."""
    make_folder(path.parent)
    flush(file)
    rename(file, path)


def remove_folder(folder: Path) -> None:
    """Remove a folder and what is in it, if it exists; what fails once is tried again."""
    for _ in range(2):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def folder_aside(beside: Path) -> Iterator[Path]:
    """Yield a temporary folder beside a path; remove it after the block."""
    make_folder(beside.parent)
    aside = Path(tempfile.mkdtemp(dir=beside.parent, prefix=f".{beside.name}.", suffix=".tmp"))
    try:
        yield aside
    finally:
        remove_folder(aside)


def exchange_files(aside: Path, folder: Path, names: Sequence[str]) -> None:
    """Move files in that belong together; earlier ones are replaced, or come back if that fails.

    Args:
        aside: Where the new files are; some of the names may be missing.
        folder: Where they go.
        names: Their names. The last one makes the others valid: of the old files it goes first, of
            the new ones it comes last.
    """
    before = aside / "before"
    before.mkdir()
    old = [name for name in reversed(names) if (folder / name).exists()]
    new = [name for name in names if (aside / name).exists()]
    try:
        for name in old:
            rename(folder / name, before / name)  # never an old map with new words
        for name in new:
            rename(aside / name, folder / name)
    except BaseException:
        for name in reversed(new):
            if not (aside / name).exists():
                (folder / name).unlink(missing_ok=True)  # nor new pairs with an old map
        for name in reversed(old):
            if (before / name).exists():
                rename(before / name, folder / name)
        raise


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path``; rename it to ``path`` if the block succeeds."""
    path = Path(path)
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    aside = Path(name)
    try:
        with errors_about(path):
            yield aside
        aside.chmod(0o644)  # mkstemp's 0600 would hide results from colleagues
        flush(aside)
        rename(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with atomic_write(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, data: Any) -> None:
    """Write indented UTF-8 JSON atomically."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def build_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a temporary folder, then rename it to ``folder``; of two processes the first wins."""
    with folder_aside(folder) as aside:
        fill(aside)
        flush(aside)
        with contextlib.suppress(OSError):  # another process was first: use its result
            rename(aside, folder)
        if not folder.is_dir():
            raise OSError(f"{folder}: could not be moved into place")


@contextlib.contextmanager
def path_lock(path: Path) -> Iterator[None]:
    """Lock ``path`` against other processes while it is made.

    A process that had to wait should check again, inside the block, whether ``path`` exists. Other
    machines that share the folder wait too if its file system passes locks on, as NFS does by default.
    """
    make_folder(path.parent)
    lock = Path(f"{path}.lock")
    with errors_about(lock):
        held = FileLock(lock).acquire()
    with held:
        try:
            for left in path.parent.iterdir():  # by a process that was killed
                if left.name.startswith(f".{path.name}.") and left.suffix == ".tmp":
                    remove_folder(left)
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()  # still locked: waiting processes notice, and lock a new file


@contextlib.contextmanager
def claim_folder(folder: Path) -> Iterator[None]:
    """Make sure that a folder can be written, and keep other processes out while it is filled.

    If the block fails, a folder that did not exist before is removed, unless it has files.

    Raises:
        DataError: A file is in the way, the folder cannot be written, or another process fills it.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(
            f"{folder}: a file of this name is in the way; choose another folder with --out"
        )
    new = not folder.exists()
    lock = FileLock(folder / ".align.lock", timeout=0)
    try:
        try:
            make_folder(folder)
            lock.acquire()
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"x")
        except Timeout as error:
            raise DataError(
                f"{folder}: another process is writing here; wait for it, or choose another folder "
                "with --out"
            ) from error
        except OSError as error:
            raise DataError(
                f"{folder}: cannot be written ({error.strerror or error}); choose another folder "
                "with --out"
            ) from error
        yield
    finally:
        if lock.is_locked:
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink()
            lock.release()
        if new:
            with contextlib.suppress(OSError):  # it has files
                folder.rmdir()


def digest(path: str | Path) -> str:
    """Compute the SHA-256 of a file; cache it until the file's size, times or inode change.

    Note:
        It is cached only if the file had been unchanged for two seconds when it was read.
        Programs cannot set the change time, so a file that is rewritten with its old size and
        modification time is noticed too.
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
