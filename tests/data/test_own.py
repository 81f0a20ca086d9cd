import pytest

from demalib.data.lexicon import load_lexicon
from demalib.data.own import find_own_vectors, has_own_pair, own_vectors
from demalib.errors import DataError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("DEMALIB_DATA", str(folder))
    for name in ("wiki.de.vec", "sv.txt", "notes.md"):
        (folder / name).write_text("a 1\n")
    (folder / "de-sv.test.txt").write_text("haus hus\nbaum träd\n")
    (folder / "de-sv.train.tsv").write_text("hund\thund\n")
    return folder


def test_files_are_found_by_the_language_in_their_names(folder):
    assert {lang: path.name for lang, path in own_vectors().items()} == {
        "de": "wiki.de.vec",
        "sv": "sv.txt",
    }
    assert has_own_pair("de-sv") and has_own_pair("sv-de") and not has_own_pair("de-en")


def test_lexicons_serve_both_directions(folder):
    assert load_lexicon("de", "sv", "test", "own").pairs[1] == ("baum", "träd")
    assert load_lexicon("sv", "de", "test", "own").pairs[1] == ("träd", "baum")
    (folder / "sv-de.test.txt").write_text("hus haus\n")
    assert len(load_lexicon("sv", "de", "test", "own")) == 1
    assert len(load_lexicon("de", "sv", "train", "own")) == 1


def test_what_is_missing_is_named(folder, monkeypatch):
    with pytest.raises(DataError, match="no vectors of 'fi' .*it has sv, de; name a file"):
        find_own_vectors("fi")
    with pytest.raises(DataError, match="no lexicon de-fi.test.txt"):
        load_lexicon("de", "fi", "test", "own")
    (folder / "cc.de.300.vec").write_text("a 1\n")
    with pytest.raises(DataError, match="is of the language 'de' too; keep one"):
        own_vectors()
    monkeypatch.setenv("DEMALIB_DATA", "nowhere")
    with pytest.raises(DataError, match="DEMALIB_DATA=nowhere: no such folder"):
        own_vectors()
