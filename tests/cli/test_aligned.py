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
