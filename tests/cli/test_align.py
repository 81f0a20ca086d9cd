import json
import os
import subprocess
import sys

import pytest
from conftest import planted

from demalib.cli import main
from demalib.data.files import claim_folder
from demalib.data.store import save_embedding
from demalib.embedding import Embedding


@pytest.mark.parametrize("more", [["--solver", "identical"], ["--lexicon", "train.txt"], []])
def test_align_then_evaluate(files, align, more, capsys):
    more = [str(files / part) if part.endswith(".txt") else part for part in more]
    assert align(*more) == 0
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


def test_errors_are_one_line_with_exit_code_2(files, align, capsys):
    (files / "bb.vec").write_text("<html>")
    assert align() == 2
    error = capsys.readouterr().err
    assert error.startswith("demalib align: ") and error.count("\n") == 1 and "web page" in error
    assert not (files / "out").exists()
    assert main(["evaluate", str(files / "none"), "--lexicon", "x"]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_piped_output_has_no_progress_bar(files):
    command = f"align --src {files}/aa.vec --tgt {files}/bb.vec --out {files}/out"
    command = [sys.executable, "-m", "demalib", *command.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())
    assert done.returncode == 0 and done.stderr == ""


def no_work(*_):
    pytest.fail("solved before it was clear that the result can be kept")


def test_a_folder_that_cannot_be_written_is_told_before_the_work(files, align, capsys, monkeypatch):
    monkeypatch.setattr("demalib.solvers.align", no_work)
    (files / "notes").write_text("mine")
    command = f"align --src {files}/aa.vec --tgt {files}/bb.vec --out {files}/notes/out"
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert "notes/out: cannot be written (" in error and "choose another folder" in error
    monkeypatch.setattr("demalib.data.files.tempfile.TemporaryFile", no_space)
    assert align() == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not (files / "out").exists()


def no_space(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_replaced_alignment_is_told(files, align, capsys):
    align()
    assert "(replaced" not in capsys.readouterr().out
    align("--seed", "1")
    assert f"{files}/out (replaced the alignment that was there)\n" in capsys.readouterr().out


def test_two_at_once_into_one_folder_do_not_both_claim_success(files, align, capsys):
    align()
    with claim_folder(files / "out"):
        assert align("--seed", "1") == 2
    assert "out: another process is writing here; wait for it" in capsys.readouterr().err
    main(["info", f"{files}/out"])
    assert "seed                 0\n" in capsys.readouterr().out
    assert align() == 0 and not list((files / "out").glob(".*"))


def test_two_models_of_one_language(files, capsys, rng):
    """The new model is the old one turned, and one word of it has another meaning now."""
    old, new, _ = planted(rng, n=400, d=20, shared=400)
    vectors = new.vectors.copy()
    vectors[[100, 200]] = vectors[[200, 100]]
    save_embedding(files / "wiki.en.vec", old)
    save_embedding(files / "cc.en.300.vec", Embedding(new.words, vectors))
    command = f"align --src {files}/wiki.en.vec --tgt {files}/cc.en.300.vec --out {files}/out"
    assert main(command.split()) == 2
    assert "both taken for the language 'en'" in capsys.readouterr().err
    assert main([*command.split(), "--same-language"]) == 0
    out = capsys.readouterr().out
    assert "wiki.en.vec is en1, cc.en.300.vec is en2" in out
    assert "hints: 400 identical, 0 numerals\n" in out
    (moved,) = [line for line in out.splitlines() if line.startswith("moved most: ")]
    assert {word.split()[0] for word in moved[12:].split(", ")[:2]} == {"both100", "both200"}
