import argparse

import pytest

from demalib.cli import main, parser
from demalib.cli.common import named_files, show_langs
from demalib.config import literal
from demalib.errors import DataError


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "demalib align --src en.vec --tgt de.vec" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, value",
    [("1", 1), ("1e-3", 0.001), ("true", True), ("False", False), ("en-fr", "en-fr"), ("", "")],
)
def test_parameters_are_parsed_as_papermill_does(text, value):
    assert literal(text) == value and type(literal(text)) is type(value)


def langs(specs, langs=None):
    return [(str(path), lang) for path, lang, _ in named_files(specs, langs)]


def test_files_are_named_by_a_guess_by_hand_or_all_at_once(tmp_path):
    assert langs(["wiki.en.vec", "cc.de.300.vec"]) == [
        ("wiki.en.vec", "en"),
        ("cc.de.300.vec", "de"),
    ]
    assert langs(["x=wiki.en.vec", "a/cc.de.300.vec"])[0] == ("wiki.en.vec", "x")
    three = ["wiki.en.vec", "wiki.de.vec", "wiki.fr.vec"]
    assert [lang for _, lang in langs(three, ["a", "b", "c"])] == ["a", "b", "c"]
    odd = tmp_path / "a=b.vec"  # a file that is there is a file
    odd.write_text("1 1")
    assert langs([str(odd)]) == [(str(odd), "a=b")]


def test_names_that_cannot_be_are_refused():
    with pytest.raises(DataError, match="--langs names 1 languages for 2 files"):
        named_files(["a.vec", "b.vec"], ["a"])
    with pytest.raises(DataError, match="both taken for the language 'en'; .*--langs en1 en2"):
        named_files(["wiki.en.vec", "cc.en.300.vec"])
    with pytest.raises(DataError, match="cannot name a file"):
        named_files(["..=a.vec", "b.vec"])


def test_a_guess_is_shown_with_how_to_change_it():
    shown = show_langs(named_files(["wiki.en.vec", "cc.de.300.vec"]))
    assert shown.startswith("languages: wiki.en.vec is en, cc.de.300.vec is de (guessed")
    assert "--langs" not in show_langs(named_files(["en=a.vec", "de=b.vec"]))


def test_every_option_says_what_it_is_for():
    (commands,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    without = {
        name: [option.dest for option in command._actions if not option.help]
        for name, command in commands.choices.items()
    }
    assert {name: found for name, found in without.items() if found} == {}


@pytest.mark.parametrize(
    "command, told",
    [
        (
            "align --src wiki.en.zip --tgt b.vec --out o",
            "wiki.en.zip: this is a zip archive; unpack",
        ),
        ("align --src . --tgt b.vec --out o --langs a b", ".: this is a folder; give the path"),
        (
            "translate cat dog",
            "cat: no such folder; first comes the one that 'demalib align' wrote",
        ),
        ("translate cat", "cat: no such folder"),
        ("info nowhere", "nowhere: no such folder"),
        ("evaluate nowhere --lexicon a.txt", "nowhere: no such folder"),
        ("export nowhere --format vec", "nowhere: no such folder"),
        ("run b.vec", "not a notebook; give an .ipynb file"),
        ("run b.ipynb", "b.ipynb: cannot be read as a notebook"),
    ],
)
def test_slips_of_a_new_user_are_told_in_one_line(command, told, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wiki.en.zip").write_bytes(b"PK\3\4" + bytes(100))
    for name in ("b.vec", "b.ipynb"):
        (tmp_path / name).write_text("b 1 2\n")
    assert main(command.split()) == 2
    err = capsys.readouterr().err
    assert told in err and err.count("\n") == 1


def test_the_version(capsys):
    import demalib

    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"demalib {demalib.__version__}\n"


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert "examples:" in out and "align" in out and err == ""
