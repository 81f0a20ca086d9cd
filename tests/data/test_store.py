import os
import subprocess
import sys
import time

import numpy as np
import pytest

from demalib.data import store
from demalib.data.files import cache_dir
from demalib.data.store import guess_lang, load_embedding, read_vectors, save_embedding
from demalib.embedding import Policy
from demalib.errors import DataError

TEXT = "6 2\nThe 1 2\nthe 3 4\n\u00a0 5 6\n42 7 8\nnew york 9 10\ncat 0.5 0.25\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "en.vec"
    path.write_text(TEXT)
    return path


def test_what_is_dropped_is_reported(path):
    emb = read_vectors(path)
    assert emb.words == ["the", "new_york", "cat"] and emb.lang == "en"
    np.testing.assert_array_equal(emb.vectors, np.array([[1, 2], [9, 10], [0.5, 0.25]], np.float32))
    assert emb.report == {
        "read": 6,
        "duplicates": 1,
        "blank": 1,
        "no_letter": 1,
        "phrases": 1,
        "kept": 3,
    }
    assert "3 of 6 words read" in emb.summary() and "1 blank" in emb.summary()


def test_max_vocab_stops_reading(path, monkeypatch):
    monkeypatch.setattr("demalib.data.text.BLOCK_BYTES", 16)
    path.write_text(TEXT.replace("6 2", "7 2") + "broken line that is never reached\n")
    assert read_vectors(path, Policy(max_vocab=2)).words == ["the", "new_york"]


def test_the_second_load_does_not_parse(path, monkeypatch):
    first = read_vectors(path)
    monkeypatch.setattr(store, "read_blocks", lambda path: pytest.fail("parsed again"))
    second = read_vectors(path)
    assert second.words == first.words and second.report == first.report
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_options_have_their_own_entry(path):
    read_vectors(path)
    assert read_vectors(path, Policy(case="keep", tokens="all")).words[:2] == ["The", "the"]


def test_a_changed_file_is_never_served_stale(path):
    old = path.stat()
    time.sleep(0.01)
    assert read_vectors(path).words[2] == "cat"
    path.write_text(TEXT.replace("cat", "dog"))
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))  # same size, same modification time
    assert read_vectors(path).words[2] == "dog"


def test_a_file_at_rest_is_noticed_too_when_it_changes(path, monkeypatch):
    real = time.time_ns
    monkeypatch.setattr(
        "demalib.data.files.time.time_ns", lambda: real() + 10**10
    )  # ten seconds on
    read_vectors(path)
    assert list((cache_dir() / "digests").iterdir())  # so the digest was remembered
    old = path.stat()
    path.write_text(TEXT.replace("cat", "dog"))
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert read_vectors(path).words[2] == "dog"


@pytest.mark.parametrize("name", ["vectors.f32", "words.txt", "meta.json"])
def test_a_damaged_entry_is_built_again(path, name):
    read_vectors(path)
    (entry,) = (cache_dir() / "vectors").iterdir()
    whole = (entry / name).read_bytes()
    (entry / name).write_bytes(whole[: len(whole) // 2])
    assert read_vectors(path).words == ["the", "new_york", "cat"]
    assert (entry / name).read_bytes() == whole


def test_a_cache_that_cannot_be_written_costs_only_a_warning(path, monkeypatch):
    (path.parent / "file").touch()
    monkeypatch.setenv("DEMALIB_CACHE", str(path.parent / "file"))
    with pytest.warns(UserWarning, match="cannot cache"):
        assert read_vectors(path).words == ["the", "new_york", "cat"]


def test_a_bad_file_leaves_nothing_in_the_cache(path):
    path.write_text(TEXT.replace("9 10", "9"))
    with pytest.raises(DataError, match=r"en.vec:6: 'york' is not a number"):
        read_vectors(path)
    assert list((cache_dir() / "vectors").iterdir()) == []


def test_nothing_left_after_cleaning(path):
    path.write_text("1 1\n42 1\n")
    with pytest.raises(DataError, match="none of .* words is left"):
        read_vectors(path)


def test_two_processes_build_one_entry(path):
    code = f"from demalib.data.store import read_vectors; print(read_vectors({str(path)!r}).words)"
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert {p.communicate()[0] for p in both} == {"['the', 'new_york', 'cat']\n"}
    assert len(list((cache_dir() / "vectors").iterdir())) == 1


def test_everything_survives_npz(path, tmp_path):
    emb = read_vectors(path).normalise()
    save_embedding(tmp_path / "x.npz", emb)
    got = load_embedding(tmp_path / "x.npz")
    assert (got.words, got.lang, got.report) == (emb.words, emb.lang, emb.report)
    np.testing.assert_array_equal(got.vectors, emb.vectors)
    np.testing.assert_array_equal(got.normalisation.means[0], emb.normalisation.means[0])
    assert got.normalisation.steps == ("unit", "center", "unit")


@pytest.mark.parametrize(
    "name, lang",
    [
        ("wiki.en.vec", "en"),
        ("wiki.ceb.vec", "ceb"),  # no code of two letters
        ("wiki.zh_yue.vec", "zh_yue"),
        ("wiki.multi.de.vec", "de"),  # MUSE's
        ("cc.en.300.vec", "en"),
        ("cc.de.300.bin", "de"),
        ("cc.fr.300.vec.gz", "fr"),
        ("en.aligned.npz", "en"),
        ("vectors-es.txt", "es"),  # what MUSE exports
        ("numberbatch-en-19.08.txt", "en"),
        ("fi_cbow_300d.vec", "fi"),
        ("GoogleNews-vectors-negative300.bin", "en"),
        ("glove.840B.300d.txt", "en"),
        ("crawl-300d-2M.vec", "en"),
        ("mine.300.vec", "mine"),  # as it was
        ("src.npz", "src"),
    ],
)
def test_the_language_is_guessed_from_the_name(name, lang):
    assert guess_lang(f"some/de.folder/{name}") == lang
