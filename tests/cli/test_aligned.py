import io
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


def test_words_that_it_was_trained_on_are_judged_apart(files, align, capsys):
    align("--lexicon", f"{files}/train.txt")  # src100 to src199
    lines = [f"src{i} tgt{i}\n" for i in range(140, 300)]
    lines[-1] = "src299 tgt298\n"  # one wrong among the others
    (files / "mixed.txt").write_text("".join(lines))
    capsys.readouterr()
    assert main(["evaluate", f"{files}/out", "--lexicon", f"{files}/mixed.txt"]) == 0
    out = capsys.readouterr().out
    assert "aa-bb: 60 of 160 queries are words of the lexicon it was trained on" in out
    assert "99.0" in out.split("without them:")[1].split("bb-aa:")[0]
    main(["evaluate", f"{files}/out", "--lexicon", f"{files}/mixed.txt", "--json"])
    figures = json.loads(capsys.readouterr().out)["aa-bb"]["csls"]
    assert figures["queries"] == 160 and figures["untrained"]["queries"] == 100
    assert figures["untrained"]["p@1"] == 0.99 < figures["p@1"]
    assert main(["evaluate", f"{files}/out", "--lexicon", f"{files}/train.txt"]) == 0
    out = capsys.readouterr().out
    assert "bb-aa: 100 of 100 queries are words of the lexicon" in out
    assert "no other is left to judge" in out
    assert main(["evaluate", f"{files}/out", "--lexicon", f"{files}/test.txt"]) == 0
    assert "trained on" not in capsys.readouterr().out


def test_a_later_alignment_forgets_what_an_earlier_one_was_trained_on(files, align, capsys):
    align("--lexicon", f"{files}/train.txt")
    align()
    capsys.readouterr()
    assert main(["evaluate", f"{files}/out", "--lexicon", f"{files}/train.txt"]) == 0
    assert "trained on" not in capsys.readouterr().out


def test_figures_of_too_few_queries_come_with_a_caution(files, align, capsys):
    align()
    capsys.readouterr()
    some = [f"src{i} tgt{i}\n" for i in range(200, 240)]
    (files / "few.txt").write_text("".join(some) + "".join(f"x{i} y{i}\n" for i in range(400)))
    assert main(["evaluate", f"{files}/out", "--lexicon", f"{files}/few.txt"]) == 0
    assert "aa-bb: only 40 queries, 9% of the lexicon's, are in both" in capsys.readouterr().out
    main(["evaluate", f"{files}/out", "--lexicon", f"{files}/few.txt", "--json"])
    out, err = capsys.readouterr()
    assert json.loads(out) and "only 40 queries" in err


def test_info_names_the_lexicon_and_the_hints(files, align, capsys):
    with open(files / "train.txt", "a") as file:
        file.write("nowhere nirgends\n")
    align("--lexicon", f"{files}/train.txt")
    assert "lexicon: train.txt, 100 of 101 pairs in both vocabularies\n" in capsys.readouterr().out
    assert main(["info", f"{files}/out"]) == 0
    lines = capsys.readouterr().out.splitlines()
    facts = dict(line.split("  ", 1) for line in lines)
    assert facts["lexicon"].strip() == "train.txt, 100 of 101 pairs in both vocabularies"
    assert facts["hints"].strip() == "40 identical, 0 numerals, 0 cognates, 100 lexicon"


def test_translations_for_programs(files, align, capsys):
    align()
    capsys.readouterr()
    command = ["translate", f"{files}/out", "src200", "src201", "-k", "2"]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 4 and rows[2]["word"] == "src201" and rows[2]["translation"] == "tgt201"
    assert rows[0]["rank"] == 201 and rows[0]["score"] > rows[1]["score"]
    assert main([*command, "--tsv"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == list(rows[0]) and [line[2] for line in lines[1::2]] == ["tgt200", "tgt201"]


def test_words_come_from_a_file_or_standard_input(files, align, capsys, monkeypatch):
    align()
    (files / "words.txt").write_text("src200\n\n src201 \n")
    capsys.readouterr()
    outputs = []
    for more in (["src200", "src201"], ["--words", f"{files}/words.txt"], ["--words", "-"], []):
        monkeypatch.setattr("sys.stdin", io.StringIO("src200\nsrc201\n"))
        assert main(["translate", f"{files}/out", "--tsv", *more]) == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1 and "tgt201" in outputs[0]
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["translate", f"{files}/out"]) == 2
    assert "name a word, or a file with --words" in capsys.readouterr().err
