"""Power cuts: every state that a disk may be left in, opened again.

A job is watched while it works: after each call that changes names or flushes, the difference to
the folder before is noted. A flush keeps what it flushed; a power cut keeps any part of the rest.
Names come or do not, in any order; content that was not flushed is missing, cut off or zeros.
"""

import hashlib
import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("replace", "rename", "mkdir", "unlink", "remove", "rmdir", "link")
MOST = 6  # up to this many unflushed renames, try every combination; beyond it, a sample
DRAWN = 24  # combinations of more

Id = int
Folders = dict[Id, dict[str, Id]]
Files = dict[Id, bytes]


@dataclass(frozen=True)
class Change:
    """A change of names: entries that go and one that comes; flushing ``folder`` keeps it."""

    folder: Id
    gone: tuple[tuple[Id, str], ...] = ()
    come: tuple[Id, str, Id] | None = None


@dataclass
class Disk:
    """What is kept in any case, and what only perhaps."""

    folders: Folders
    files: Files  # flushed content
    now: Files = field(default_factory=dict)  # content, also of files without a name
    changes: list[Change] = field(default_factory=list)

    def copy(self) -> "Disk":
        """A disk that stays as it is."""
        return Disk(self.folders, dict(self.files), dict(self.now), list(self.changes))


class Watch:
    """Watches a folder; ``moments`` are the disk after each change."""

    def __init__(self, root: Path):
        self.root, self.ids, self.count = root, {}, itertools.count(1)
        self.moments: list[Disk] = []
        self.folders, now = self.look()
        self.disk = Disk(self.folders, dict(now), now)
        self.moments.append(self.disk.copy())

    def look(self) -> tuple[Folders, Files]:
        """Everything below the root: names by folder, content by file."""
        folders, files, seen = {}, {}, set()

        def known(path: str) -> Id:
            number = os.lstat(path).st_ino
            seen.add(number)
            return self.ids.setdefault(number, next(self.count))

        def walk(path: str) -> Id:
            one = known(path)
            if os.path.isdir(path):
                folders[one] = {}
                for name in sorted(os.listdir(path)):
                    folders[one][name] = walk(f"{path}/{name}")
            else:
                with open(path, "rb") as file:
                    files[one] = file.read()
            return one

        self.top = walk(str(self.root))
        self.ids = {number: one for number, one in self.ids.items() if number in seen}
        return folders, files

    def note(self) -> None:
        """Note what has changed since the last look."""
        folders, now = self.look()
        before, after = _entries(self.folders), _entries(folders)
        gone = {place: one for place, one in before.items() if after.get(place) != one}
        come = {place: one for place, one in after.items() if before.get(place) != one}
        for (folder, name), one in come.items():
            left = [place for place, other in gone.items() if other == one]
            for place in left:
                del gone[place]
            gone.pop((folder, name), None)  # replaced
            self.disk.changes.append(Change(folder, tuple(left), (folder, name, one)))
        for place in gone:
            self.disk.changes.append(Change(place[0], (place,)))
        changed = any(self.disk.now.get(one) != content for one, content in now.items())
        self.folders, self.disk.now = folders, self.disk.now | now
        if come or gone or changed:
            self.moments.append(self.disk.copy())

    def flushed(self, number: int) -> None:
        """Keep what was flushed: the content of a file, or the names in a folder."""
        one = self.ids.get(number)
        if one in self.disk.now:
            self.disk.files[one] = self.disk.now[one]
        kept = [change for change in self.disk.changes if change.folder == one]
        self.disk.changes = [change for change in self.disk.changes if change.folder != one]
        self.disk.folders = _applied(self.disk.folders, kept)
        self.moments.append(self.disk.copy())

    def install(self) -> None:
        """Watch the calls of this process, for good."""
        fsync = os.fsync

        def watched(call: Callable) -> Callable:
            def watching(*args, **kwargs):
                self.note()
                try:
                    return call(*args, **kwargs)
                finally:
                    self.note()

            return watching

        def flush(handle: int) -> None:
            self.note()
            fsync(handle)
            self.flushed(os.fstat(handle).st_ino)

        for name in NAMES:
            setattr(os, name, watched(getattr(os, name)))
        os.fsync = flush


def _entries(folders: Folders) -> dict[tuple[Id, str], Id]:
    return {(one, name): to for one, names in folders.items() for name, to in names.items()}


def _applied(folders: Folders, changes: list[Change]) -> Folders:
    folders = {one: dict(names) for one, names in folders.items()}
    for change in changes:
        for folder, name in change.gone:
            folders.get(folder, {}).pop(name, None)
        if change.come:
            folder, name, one = change.come
            folders.setdefault(folder, {})[name] = one
    return folders


def states(disk: Disk, top: Id, rng: random.Random) -> Iterator[dict[str, bytes | None]]:
    """What may be left of a disk: content by path, None for a folder."""
    for some in _subsets(disk.changes, rng):
        folders = _applied(disk.folders, some)
        paths: dict[str, Id] = {}
        todo = [("", top)]
        while todo:
            where, one = todo.pop()
            for name, to in folders.get(one, {}).items():
                paths[f"{where}/{name}"] = to
                todo.append((f"{where}/{name}", to))
        files = sorted({one for one in paths.values() if one in disk.now})
        dirty = [one for one in files if disk.now[one] != disk.files.get(one, b"")]
        for ways in _ways(len(dirty)):
            content = {one: _damaged(disk, one, way) for one, way in zip(dirty, ways, strict=True)}
            yield {
                path: content.get(one, disk.files.get(one, b"")) if one in files else None
                for path, one in paths.items()
            }


def _subsets(changes: list[Change], rng: random.Random) -> Iterator[list[Change]]:
    if len(changes) <= MOST:
        for size in range(len(changes) + 1):
            yield from map(list, itertools.combinations(changes, size))
        return
    for at in range(len(changes) + 1):
        yield changes[:at]
        yield changes[at:]
        yield changes[:at] + changes[at + 1 :]
        yield changes[at : at + 1]
    for _ in range(DRAWN):
        yield [change for change in changes if rng.random() < 0.5]


def _ways(dirty: int) -> Iterator[tuple[str, ...]]:
    kinds = ("old", "whole", "half", "holes", "zeros")
    if dirty <= 2:
        yield from itertools.product(kinds, repeat=dirty)
    else:
        yield from ((kind,) * dirty for kind in kinds)


def _damaged(disk: Disk, one: Id, way: str) -> bytes:
    old, new = disk.files.get(one, b""), disk.now.get(one, b"")
    half, rest = new[: len(new) // 2], len(new) - len(new) // 2
    holes, zeros = half + b"\0" * rest, b"\0" * len(new)
    return {"old": old, "whole": new, "half": half, "holes": holes, "zeros": zeros}[way]


def lay_out(state: dict[str, bytes | None], root: Path) -> None:
    """Make the folder that a power cut left."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path in sorted(state):
        place, content = Path(f"{root}{path}"), state[path]
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def cut(
    root: Path,
    job: Callable[[], object],
    judge: Callable[[bool], str],
    seed: int,
    most: int = 0,
) -> tuple[int, list[str]]:
    """Do a job, then open every state that a power cut during it may leave.

    Args:
        root: The folder that the job changes; it is emptied.
        job: What is done.
        judge: Reads the folder, told whether the job had returned; "" or what is wrong.
        seed: Of the sample, where all combinations would be too many.
        most: Try at most this many states, drawn from all; 0 tries all.

    Returns:
        The number of states, and those that were wrong.
    """
    watch, real = Watch(root), {name: getattr(os, name) for name in (*NAMES, "fsync")}
    watch.install()
    try:
        job()
        watch.note()
    finally:
        for name, call in real.items():
            setattr(os, name, call)
    rng, found = random.Random(seed), {}
    for at, disk in enumerate(watch.moments):
        for state in states(disk, watch.top, rng):
            key = hashlib.sha256(repr(sorted(state.items())).encode()).digest()
            found[key] = (at, state)
    chosen = sorted(found)
    chosen = rng.sample(chosen, most) if 0 < most < len(chosen) else chosen
    wrong = []
    for key in chosen:
        at, state = found[key]
        lay_out(state, root)
        if said := judge(at == len(watch.moments) - 1):
            wrong.append(f"{seed}: cut after step {at} of {len(watch.moments)}: {said}"[:300])
    return len(chosen), wrong
