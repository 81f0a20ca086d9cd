import json

import pytest

from demalib.cli import main


def test_evaluate_as_a_table_with_a_reverse_lexicon(files, align, capsys):
    align()
    (files / "back.txt").write_text("tgt300 src300\ntgt301 wrong\n")
    command = f"evaluate {files}/out --lexicon {files}/test.txt --reverse {files}/back.txt"
    assert main(command.split()) == 0
    out = capsys.readouterr().out
    assert "P@1" in out and "copy P@1" in out and "50%" in out


def test_evaluate_reads_words_as_align_did(files, align, capsys):
    for name in ("aa.vec", "bb.vec", "test.txt"):
        text = (files / name).read_text().replace("src", "SRC").replace("tgt", "TGT")
        (files / name).write_text(text)
    align("--case", "keep")
    capsys.readouterr()
    assert main(["evaluate", str(files / "out"), "--lexicon", str(files / "test.txt")]) == 0
    assert "200" in capsys.readouterr().out


def test_vectors_that_another_program_aligned_are_judged_too(files, align, capsys):
    """Ours, exported, must give what the alignment itself gives."""
    align()
    main(["export", f"{files}/out", "--format", "vec", "--out", f"{files}/there"])
    two = f"--src {files}/there/aa.aligned.vec --tgt {files}/there/bb.aligned.vec"
    capsys.readouterr()
    results = []
    for what in (f"{files}/out", two):
        command = f"evaluate {what} --lexicon {files}/test.txt --json"
        assert main(command.split()) == 0
        results.append(json.loads(capsys.readouterr().out)["aa-bb"]["csls"])
    assert results[0] == results[1] and results[0]["p@1"] > 0.99
    assert main(f"translate {two} src200 -k 1 src201".split()) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == [
        "translation",
        "tgt200",
        "tgt201",
    ]
    command = f"export {two} --format dictionary --out {files}/there"
    assert main([*command.split(), "--langs", "x", "y"]) == 0
    ours = (files / "there" / "x-y.dictionary.tsv").read_text().splitlines()
    main(["export", f"{files}/out", "--format", "dictionary"])
    want = (files / "out" / "aa-bb.dictionary.tsv").read_text().splitlines()
    assert [line.split("\t")[:2] for line in ours] == [line.split("\t")[:2] for line in want]


@pytest.mark.parametrize(
    "command, told",
    [
        (
            "evaluate --lexicon test.txt",
            "name the folder that 'demalib align' wrote, or give --src",
        ),
        ("evaluate --src aa.vec --lexicon test.txt", "--src and --tgt go together"),
        ("export out --src aa.vec --tgt bb.vec --format vec", "not both"),
        ("export --src aa.vec --tgt bb.vec --format vec", "with --out"),
    ],
)
def test_a_folder_or_two_files(files, command, told, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert main(command.split()) == 2
    assert told in capsys.readouterr().err


def test_words_may_follow_an_option_and_unknown_options_are_refused(files, align, capsys):
    align()
    capsys.readouterr()
    assert main(["translate", f"{files}/out", "-k", "1", "src200", "src201"]) == 0
    assert "tgt201" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["translate", f"{files}/out", "src200", "--frobnicate"])
    assert "unrecognized arguments: --frobnicate" in capsys.readouterr().err
