"""Nothing is lost: kills, full disks, folders that cannot be written, two at a time."""

import contextlib
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from chaos import faults, world
from chaos.soak import MEGABYTES, soak
from conftest import at_once

from demalib import runs
from demalib.alignment import load_alignment
from demalib.cli import main
from demalib.data.files import build_folder, write_json, write_text
from demalib.data.store import save_embedding
from demalib.errors import DataError

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "02_train.ipynb"
fork = multiprocessing.get_context("fork")


@pytest.mark.parametrize("name", sorted(set(faults.JOBS) - {"sweep"}))  # that is in test_cluster
def test_killed_and_started_again_is_as_if_never_killed(name):
    tally = faults.kill(name, times=2, seed=3, in_a_row=2)
    assert tally.outside == [] and tally.injected == tally.survived >= 2


def align(folder, seed, *more):
    """Two small files aligned with the command; its exit code."""
    for side in world.spaces(60):
        if not (folder / f"{side.lang}.npz").exists():
            save_embedding(folder / f"{side.lang}.npz", side)
    return call([*next(commands(folder, seed)), *more])


def commands(folder, seed=5):
    command = f"align --src {folder}/en.npz --tgt {folder}/es.npz --out {folder}/aligned"
    yield [*command.split(), "--solver", "identical", "--seed", seed]
    for format in ("vec", "word2vec", "npz", "dictionary"):
        yield ["export", folder / "aligned", "--format", format, "--out", folder / "out"]


def call(words):
    return main([str(word) for word in words])


def content(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def interrupted(monkeypatch, folder, name, how):
    """Interrupt the move of one file into an alignment, behind the words and before the map."""
    real = os.replace

    def replace(a, b):
        if b == folder / name and a.parent.name != "before":
            how()
        real(a, b)

    monkeypatch.setattr(os, "replace", replace)


def stop():
    raise KeyboardInterrupt


def test_an_alignment_that_is_interrupted_gives_the_old_one_back(tmp_path, monkeypatch):
    assert align(tmp_path, seed=1) == 0
    before = content(tmp_path / "aligned")
    src, tgt = world.spaces(60)
    pairs = "".join(f"{x} {y}\n" for x, y in zip(src.words, tgt.words, strict=True))
    write_text(tmp_path / "lexicon.txt", pairs)
    interrupted(monkeypatch, tmp_path / "aligned", "config.json", stop)
    lexicon = ("--solver", "procrustes", "--lexicon", tmp_path / "lexicon.txt")
    assert align(tmp_path, 2, *lexicon) == 130  # its train.tsv was in place already
    assert content(tmp_path / "aligned") == before


def test_an_alignment_is_never_half_of_another(tmp_path, monkeypatch):
    """The map goes before new words come: whoever is killed in between leaves no mixture."""
    assert align(tmp_path, seed=1) == 0
    with monkeypatch.context() as patch:
        interrupted(patch, tmp_path / "aligned", "config.json", lambda: os._exit(9))
        job = fork.Process(target=align, args=(tmp_path, 2))
        job.start()
        job.join()
        assert job.exitcode == 9
    with pytest.raises(DataError, match="no such mapping"):
        load_alignment(tmp_path / "aligned")
    assert align(tmp_path, seed=2) == 0 and load_alignment(tmp_path / "aligned")[0].config.seed == 2


def test_killed_between_two_renames_the_old_run_comes_back(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    folder = tmp_path / "runs/en-fr/em/0"
    runs.build_run(folder, lambda work: write_json(work / "metrics.json", {"try": 1}))
    real = os.rename

    def rename(a, b):
        if b == folder:
            raise KeyboardInterrupt
        real(a, b)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        runs.build_run(folder, lambda w: write_json(w / "metrics.json", {"try": 2}), again=True)
    assert not folder.exists()
    monkeypatch.setattr(os, "rename", real)
    assert not runs.build_run(folder, lambda work: pytest.fail("built again"))
    assert runs.read_metrics(folder) == {"try": 1}


# ---------------------------------------------------------------- no room, no right to write


def limited(most: int, job, *args) -> tuple[int, str]:
    """Do a job in a process whose files may have so many bytes: exit code and errors."""
    reader, writer = os.pipe()
    if not (pid := os.fork()):
        code = 99
        try:
            os.dup2(writer, 2)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            with contextlib.redirect_stderr(open(2, "w", buffering=1, closefd=False)):
                code = job(*args)
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


@pytest.mark.parametrize("most", [0, 100, 1500])
def test_a_full_disk_is_said_in_a_line_and_earlier_results_stay(tmp_path, most):
    assert align(tmp_path, seed=1) == 0
    every = list(commands(tmp_path))
    for words in every[1:]:
        assert call(words) == 0
    before = content(tmp_path / "aligned") | content(tmp_path / "out")
    for words in every:
        code, said = limited(most, call, words)
        assert code == 2 and said.count("\n") == 1, said
        assert said.startswith(f"demalib {words[0]}: ")
    assert content(tmp_path / "aligned") | content(tmp_path / "out") == before


def test_a_run_on_a_full_disk_goes_on_when_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    world.build(tmp_path / "cache" / "muse", 200)
    config = world.GRADIENT.replace(steps=20)

    def job():
        try:
            runs.solve(config)
        except OSError as error:
            return 2 * ("\n" not in str(error))
        return 0

    first = runs.solve(world.EM)
    for most in (0, 600):
        assert limited(most, job)[0] == 2
    assert runs.finished_runs() == [first]
    assert runs.solve(config)["solver"] == "gradient" and len(runs.finished_runs()) == 2


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 40 kB, where this machine lets us have one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here: RLIMIT_FSIZE stands for it above")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def refused(words, capsys):
    """The one line that a command says when it fails."""
    capsys.readouterr()
    assert call(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_a_really_full_disk(small_disk, tmp_path, capsys):
    assert align(tmp_path, seed=1) == 0
    (small_disk / "fill").write_bytes(b"x" * 40_960)
    for words in commands(tmp_path):
        words[words.index("--out") + 1] = small_disk
        assert "No space left" in refused(words, capsys)
    assert [p.name for p in small_disk.iterdir()] == ["fill"]


def test_a_really_read_only_disk(small_disk, tmp_path, capsys):
    assert align(tmp_path, seed=1) == 0
    (small_disk / "earlier").write_text("whole")
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    if subprocess.run(remount, capture_output=True).returncode:
        pytest.skip("no file system can be made read-only here")
    for words in commands(tmp_path):
        words[words.index("--out") + 1] = small_disk
        assert "Read-only" in refused(words, capsys)
    assert (small_disk / "earlier").read_text() == "whole"


def test_folders_that_cannot_be_written_are_said_in_a_line(tmp_path, monkeypatch, capsys):
    assert align(tmp_path, seed=1) == 0
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("DEMALIB_RESULTS", str(file))
    for words in commands(tmp_path):
        words[words.index("--out") + 1] = file
        refused(words, capsys)
    refused(["run", NOTEBOOK], capsys)
    assert file.read_text() == "in the way"


# ---------------------------------------------------------------- two at a time


def test_of_two_builders_of_a_folder_one_wins_and_both_see_it_whole(tmp_path):
    folder, barrier = tmp_path / "entry", fork.Barrier(4)

    def work(number):
        def fill(aside):
            write_text(aside / "a", str(number) * 1000)
            barrier.wait(30)
            write_text(aside / "b", str(number) * 1000)

        build_folder(folder, fill)
        parts = {(folder / name).read_text() for name in "ab"}
        os._exit(0 if len(parts) == 1 and len(parts.pop()) == 1000 else 1)

    at_once(work, [(number,) for number in range(4)])
    assert [p.name for p in tmp_path.iterdir() if p.name != "cache"] == ["entry"]


def test_of_two_writers_of_a_file_one_wins_and_every_reader_sees_one_whole(tmp_path):
    path = tmp_path / "metrics.json"
    write_json(path, {"who": 0, "much": [0] * 5000})

    def work(number):
        for _ in range(50):
            write_json(path, {"who": number, "much": [number] * 5000})

    jobs = [fork.Process(target=work, args=(n,)) for n in (1, 2)]
    for job in jobs:
        job.start()
    while any(job.is_alive() for job in jobs):
        data = json.loads(path.read_text())
        assert data["much"] == [data["who"]] * 5000
    assert [job.exitcode for job in jobs] == [0, 0]


def test_memory_is_flat():
    assert max(soak(rounds=32, steps=40).values()) < MEGABYTES
