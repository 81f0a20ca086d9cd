"""Locks that do not work, clocks that are wrong, other versions."""

import errno
import fcntl
import json
import os
import time

import numpy as np
import pytest

from demalib.data import files, store
from demalib.data.files import cache_dir, digest, path_lock
from demalib.data.store import read_vectors


@pytest.fixture
def vec(tmp_path):
    path = tmp_path / "aa.vec"
    path.write_text("2 2\na 1 2\nb 3 4\n")
    return path


def test_what_a_killed_process_left_is_removed(tmp_path):
    left = tmp_path / ".run.x.tmp"
    left.mkdir()
    with path_lock(tmp_path / "run"):
        assert not left.exists()
    assert [p for p in tmp_path.iterdir() if p.name != "cache"] == []


def test_without_locks_it_is_said_in_a_line_or_done_without_a_cache(vec, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(OSError, match="No locks available: '.*run.lock'"),
        path_lock(tmp_path / "run"),
    ):
        pass
    with pytest.warns(UserWarning, match="cannot cache.*No locks.*going on without"):
        assert read_vectors(vec).words == ["a", "b"]


@pytest.mark.parametrize("when", [time.time() + 1e8, 1.0])
def test_a_file_from_the_future_or_a_clock_set_back_hides_no_change(vec, when, monkeypatch):
    os.utime(vec, (when, when))
    monkeypatch.setattr(files.time, "time_ns", lambda: 10**9)  # 1970 again
    assert read_vectors(vec).words == ["a", "b"]
    vec.write_text("2 2\na 1 2\nc 3 4\n")
    os.utime(vec, (when, when))
    assert read_vectors(vec).words == ["a", "c"]


def test_a_digest_from_the_future_is_not_kept(vec):
    os.utime(vec, (time.time() + 1e8,) * 2)
    digest(vec)
    assert not list((cache_dir() / "digests").glob("*"))


def test_two_versions_share_a_cache_and_never_their_entries(vec, monkeypatch):
    assert read_vectors(vec).words == ["a", "b"]
    real = store.clean

    def other(blocks, policy, report):
        for block in real(blocks, policy, report):
            yield block._replace(words=[word.upper() for word in block.words])

    with monkeypatch.context() as newer:
        newer.setattr(store, "PARSER_VERSION", store.PARSER_VERSION + 1)
        newer.setattr(store, "clean", other)
        assert read_vectors(vec).words == ["A", "B"]
    assert read_vectors(vec).words == ["a", "b"]
    assert len([p for p in (cache_dir() / "vectors").iterdir() if p.is_dir()]) == 2


def test_an_entry_of_a_version_that_writes_more_is_read_or_built_again(vec):
    first = read_vectors(vec)
    [entry] = [p for p in (cache_dir() / "vectors").iterdir() if p.is_dir()]
    meta = json.loads((entry / "meta.json").read_text())
    for changed in (meta | {"new": 1}, {"dim": "two"}, []):
        (entry / "meta.json").write_text(json.dumps(changed))
        again = read_vectors(vec)
        assert again.words == first.words and np.array_equal(again.vectors, first.vectors)
