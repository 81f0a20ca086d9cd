import pytest

from demalib.config import REGISTRY_PAIRS
from demalib.data.lexicon import BUNDLED, load_lexicon, read_lexicon
from demalib.data.registry import find_muse
from demalib.embedding import Policy
from demalib.errors import DataError


def lexicon(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    return read_lexicon(tmp_path / "a.txt")


def test_reader_reports_what_it_met(tmp_path):
    lex = lexicon(
        tmp_path, "Cat chat\ncat chat\n\nnew york\tnew york\nthree word line\ndog chien\n"
    )
    assert lex.pairs == [("cat", "chat"), ("new_york", "new_york"), ("dog", "chien")]
    assert lex.report == {
        "lines": 6,
        "pairs": 3,
        "blank": 1,
        "malformed": 1,
        "phrases": 2,
        "duplicates": 1,
        "first_malformed_line": 5,
    }
    assert lex.gold == {"cat": {"chat"}, "new_york": {"new_york"}, "dog": {"chien"}}


def test_case_can_be_kept(tmp_path):
    (tmp_path / "a.txt").write_text("Haus House\n")
    assert read_lexicon(tmp_path / "a.txt", Policy(case="keep")).pairs == [("Haus", "House")]


def test_not_a_lexicon(tmp_path):
    with pytest.raises(DataError, match="none of 1 lines is a 'query translation' pair"):
        lexicon(tmp_path, "hello\n")
    with pytest.raises(DataError, match="no such lexicon"):
        read_lexicon(tmp_path / "none.txt")


@pytest.mark.parametrize("pair", (*REGISTRY_PAIRS, "de-fr"))
def test_bundled_lexicons_do_not_leak(pair):
    src, tgt = pair.split("-")
    train = load_lexicon(src, tgt, "train")
    test, back = load_lexicon(src, tgt, "test"), load_lexicon(tgt, src, "test")
    assert set(train.pairs).isdisjoint(test.pairs)
    assert set(train.pairs).isdisjoint(back.reverse().pairs)
    assert train.gold.keys().isdisjoint(test.gold)
    assert train.reverse().gold.keys().isdisjoint(back.gold)
    assert min(len(test.gold), len(back.gold)) >= 700 and len(train) >= 1500
    assert load_lexicon(tgt, src, "train").pairs == train.reverse().pairs


def test_bundled_files_are_small_and_licensed():
    size = sum(path.stat().st_size for path in BUNDLED.iterdir() if path.name.endswith(".tsv"))
    assert size < 3_200_000
    assert "ShareAlike" in (BUNDLED / "LICENSES.md").read_text()


def test_muse_lexicons_come_from_a_folder(tmp_path, monkeypatch):
    (tmp_path / "crosslingual").mkdir()
    (tmp_path / "crosslingual/en-fr.5000-6500.txt").write_text("cat chat\n")
    monkeypatch.setenv("DEMALIB_MUSE", str(tmp_path))
    assert load_lexicon("en", "fr", "test", "muse").pairs == [("cat", "chat")]
    assert len(load_lexicon("en", "fr", "test")) > 1000  # the bundled one, as before
    with pytest.raises(DataError, match="no de-fr.5000-6500.txt in this MUSE folder; it has en-fr"):
        load_lexicon("de", "fr", "test", "muse")
    with pytest.raises(DataError, match="no bundled lexicon for en-xx; use lexicons 'muse'"):
        load_lexicon("en", "xx", "test")
    with pytest.raises(DataError, match="unknown lexicons 'wiktionary'"):
        load_lexicon("en", "fr", "test", "wiktionary")


@pytest.mark.parametrize("inside", ["", "crosslingual", "crosslingual/dictionaries", "wordsim"])
def test_a_file_of_muse_is_found_wherever_its_layouts_have_it(inside, tmp_path, monkeypatch):
    assert find_muse("file.txt") is None  # no folder is named
    monkeypatch.setenv("DEMALIB_MUSE", str(tmp_path))
    assert find_muse("file.txt") is None
    (tmp_path / inside).mkdir(parents=True, exist_ok=True)
    (tmp_path / inside / "file.txt").touch()
    assert find_muse("file.txt") == tmp_path / inside / "file.txt"
