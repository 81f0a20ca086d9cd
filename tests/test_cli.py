import json
import os
import subprocess
import sys

import pytest
from conftest import planted

from demalib.cli import main
from demalib.data.store import save_embedding


@pytest.fixture
def files(tmp_path, rng):
    src, tgt, _ = planted(rng, n=400, d=10, shared=40)
    save_embedding(tmp_path / "aa.vec", src)
    save_embedding(tmp_path / "bb.vec", tgt)
    lines = [f"src{i} tgt{i}\n" for i in range(100, 400)]
    (tmp_path / "train.txt").write_text("".join(lines[:100]))
    (tmp_path / "test.txt").write_text("".join(lines[100:]))
    return tmp_path


def align(files, *more):
    command = f"align --src {files}/aa.vec --tgt {files}/bb.vec --out {files}/out"
    return main([*command.split(), *more])


@pytest.mark.parametrize("more", [["--solver", "identical"], ["--lexicon", "train.txt"], []])
def test_align_then_evaluate(files, more, capsys):
    more = [str(files / part) if part.endswith(".txt") else part for part in more]
    assert align(files, *more) == 0
    assert "400 of 400 words read" in capsys.readouterr().out
    assert (
        main(["evaluate", str(files / "out"), "--lexicon", str(files / "test.txt"), "--json"]) == 0
    )
    results = json.loads(capsys.readouterr().out)
    for direction in ("aa-bb", "bb-aa"):
        for metric in ("csls", "csls-d"):
            figures = results[direction][metric]
            assert figures["p@1"] > 0.99 and figures["queries"] == 200
            assert {"p@5", "p@10", "mrr", "coverage", "ci95", "copy"} <= figures.keys()


def test_evaluate_as_a_table_with_a_reverse_lexicon(files, capsys):
    align(files)
    (files / "back.txt").write_text("tgt300 src300\ntgt301 wrong\n")
    command = f"evaluate {files}/out --lexicon {files}/test.txt --reverse {files}/back.txt"
    assert main(command.split()) == 0
    out = capsys.readouterr().out
    assert "P@1" in out and "copy P@1" in out and "50%" in out


def test_evaluate_reads_words_as_align_did(files, capsys):
    for name in ("aa.vec", "bb.vec", "test.txt"):
        text = (files / name).read_text().replace("src", "SRC").replace("tgt", "TGT")
        (files / name).write_text(text)
    align(files, "--case", "keep")
    capsys.readouterr()
    assert main(["evaluate", str(files / "out"), "--lexicon", str(files / "test.txt")]) == 0
    assert "200" in capsys.readouterr().out


def test_errors_are_one_line_with_exit_code_2(files, capsys):
    (files / "bb.vec").write_text("<html>")
    assert align(files) == 2
    error = capsys.readouterr().err
    assert error.startswith("demalib align: ") and error.count("\n") == 1 and "web page" in error
    assert not (files / "out").exists()
    assert main(["evaluate", str(files / "none"), "--lexicon", "x"]) == 2
    assert "no such mapping" in capsys.readouterr().err
    assert main(["fetch", "xx"]) == 2
    assert "it has en, fr, ja, ru" in capsys.readouterr().err


def test_piped_output_has_no_progress_bar(files):
    command = f"align --src {files}/aa.vec --tgt {files}/bb.vec --out {files}/out"
    command = [sys.executable, "-m", "demalib", *command.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())
    assert done.returncode == 0 and done.stderr == ""


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "demalib align --src en.vec --tgt de.vec" in capsys.readouterr().out


def test_a_notebook_refuses_what_it_does_not_declare(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    assert main(["run", "notebooks/02_train.ipynb", "-p", "sedd", "1"]) == 2
    assert "02_train.ipynb: no parameter sedd; it has" in capsys.readouterr().err
