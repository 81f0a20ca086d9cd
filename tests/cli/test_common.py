import pytest

from demalib.cli import main
from demalib.cli.common import literal, named_files, show_langs
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


def test_the_version(capsys):
    import demalib

    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"demalib {demalib.__version__}\n"
