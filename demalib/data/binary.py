"""Readers of all vector file formats: ``.vec``, word2vec and fastText ``.bin``, ``.npz``.

Every reader yields blocks of a few thousand words with their vectors, in file order. Readers do
not clean words; :func:`demalib.data.store.clean` does that for all formats.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from demalib.data.files import atomic_write, plain_name
from demalib.data.text import (
    BLOCK_BYTES,
    MAX_DIM,
    Block,
    parse_header,
    read_vec,
    refuse_markup,
    refuse_white_space,
    show,
)
from demalib.errors import DataError

FASTTEXT_MAGIC = 793712314
LONGEST_NGRAM, LONGEST_WORD = 100, 10_000  # letters, in a fastText model; 6 and 20 are usual
PICKLES = tuple(bytes((0x80, version)) for version in range(2, 6))  # how they begin
MOST_UNPACKED = 100, 1 << 26  # an .npz may unpack to 100 times its size, or to 64 MB


def read_blocks(path: str | Path) -> Iterator[Block]:
    """Read a vector file of any known format, block by block.

    Args:
        path: ``.vec``/``.txt`` (also ``.gz``), ``.bin`` (word2vec or fastText) or ``.npz``.

    Raises:
        DataError: The file is missing, empty, damaged or of an unknown format.
    """
    path = Path(path)
    check_file(path)
    with open(path, "rb") as file:
        start = file.read(4)
        if start[:2] in PICKLES:
            raise DataError(
                f"{path}: this is a Python pickle, such as gensim's save() writes, and is not opened: "
                "it could run any code; in gensim call save_word2vec_format('en.bin', binary=True)"
            )
    if path.suffix == ".npz":
        return read_npz(path)
    if start == b"PK\3\4":
        raise DataError(f"{path}: this is a zip archive; unpack it, and name the file inside it")
    if path.suffix == ".bin":
        return read_fasttext_bin(path) if is_fasttext(path) else read_word2vec_bin(path)
    return read_vec(path)


def is_fasttext(path: Path) -> bool:
    """Say whether a file begins like a fastText model."""
    with open(path, "rb") as file:
        return file.read(4) == struct.pack("<i", FASTTEXT_MAGIC)


def check_file(path: Path) -> None:
    """Raise a DataError unless the file exists and is not empty."""
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; give the path of a .vec, .bin or .npz file")
    if not path.is_file():
        raise DataError(f"{path}: no such file; give the path of a .vec, .bin or .npz file")
    if not path.stat().st_size:
        raise DataError(f"{path}: the file is empty; download or write it again")


def read_word2vec_bin(path: str | Path) -> Iterator[Block]:
    """Read word2vec's binary format: a header, then each word, a space and d float32 numbers."""
    with open(path, "rb") as file:
        yield from parse_word2vec(file, Path(path))


def parse_word2vec(file: IO[bytes], path: Path) -> Iterator[Block]:
    """Parse an open word2vec binary file; ``path`` is its name in error messages."""
    first = file.readline(1024)
    refuse_markup(first, path)
    header = parse_header(first, path)
    if header is None:
        raise DataError(
            f"{path}: expected a word2vec header 'count dimension', found "
            f"{show(first)}; is this a word2vec or fastText .bin file?"
        )
    count, dim = header
    buffer, at, seen = b"", 0, 0
    while seen < count:
        words, rows = [], []
        while seen < count:  # every complete word in the buffer
            space = buffer.find(b" ", at)
            end = space + 1 + 4 * dim
            if space < 0 or end > len(buffer):
                break
            words.append(buffer[at:space].lstrip(b"\n").decode("utf-8", "replace"))
            rows.append(buffer[space + 1 : end])
            at, seen = end, seen + 1
        if words:
            yield Block(words, _finite(b"".join(rows), words, dim, path))
        more = file.read(BLOCK_BYTES) if seen < count else b""
        if seen < count and (not more or len(buffer) - at > 2 * BLOCK_BYTES):
            raise DataError(
                f"{path}: the header promises {count:,} words, but the file ends or "
                f"is damaged at word {seen + 1:,}; download it again"
            )
        buffer, at = buffer[at:] + more, 0


def _finite(raw: bytes | np.ndarray, words: list[str], dim: int, path: Path) -> np.ndarray:
    vectors = np.frombuffer(raw, dtype="<f4").reshape(-1, dim)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        word = words[int(np.argmin(finite))]
        raise DataError(
            f"{path}: the vector of {word!r} contains NaN or infinity; "
            "is this a word2vec .bin file?"
        )
    return vectors


def write_word2vec_bin(path: str | Path, words: list[str], vectors: np.ndarray) -> None:
    """Write word2vec's binary format, which :func:`read_word2vec_bin` reads, atomically."""
    refuse_white_space(words, path)
    with atomic_write(path) as aside, open(aside, "wb") as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, np.asarray(vectors, dtype="<f4"), strict=True):
            file.write(word.encode("utf-8") + b" " + vector.tobytes() + b"\n")


def read_fasttext_bin(path: str | Path) -> Iterator[Block]:
    """Read a fastText model's words, vectors and counts through gensim (an optional extra)."""
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError as error:
        raise DataError(
            f"{path}: fastText .bin files need gensim; "
            "pip install 'demalib[fasttext]', or use the .vec file"
        ) from error
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            scan_fasttext(raw)
        model = load_facebook_vectors(str(path))
        words = list(model.index_to_key)
        counts = np.array([model.get_vecattr(word, "count") for word in words])
    except Exception as error:  # gensim can raise almost anything on damaged bytes
        raise DataError(
            f"{path}: gensim cannot read this fastText model ({error}); download it again"
        ) from error
    vectors = np.ascontiguousarray(model.vectors, dtype="<f4")
    yield Block(words, _finite(vectors, words, len(vectors[0]), Path(path)), counts)


class FastTextModel(NamedTuple):
    """What is where in a fastText ``.bin`` file."""

    words: int  # vectors of words come first, then those of n-grams
    bucket: int
    dim: int
    shortest: int  # letters of an n-gram
    longest: int
    matrix: int  # offset of the vectors
    rows: dict[bytes, int]  # of the words that were looked for


def scan_fasttext(raw: mmap.mmap, wanted: Collection[bytes] = ()) -> FastTextModel:
    """Read the header of a fastText model and the rows of some words.

    gensim trusts the header: it reads forever if a word does not end, and allocates memory for
    vectors that do not follow.

    Raises:
        ValueError: The file does not contain what its header promises.
    """
    _, _, dim, *_, bucket, shortest, longest, _, _ = struct.unpack_from("<14id", raw)
    n, words, labels, _, pruned = struct.unpack_from("<3i2q", raw, 64)
    if n != words or labels or pruned > 0 or n < 1 or bucket < 0 or not 0 < dim <= MAX_DIM:
        raise ValueError("it is not a plain model of word vectors, or its header is damaged")
    if not (0 <= shortest <= LONGEST_NGRAM and 0 <= longest <= LONGEST_NGRAM):
        raise ValueError(f"its header says n-grams of {shortest} to {longest} letters")
    at, found = 92, {}
    for number in range(n):
        end = raw.find(b"\0", at, at + LONGEST_WORD)
        if end < 0:
            raise ValueError(f"word {number + 1:,} of {n:,} does not end")
        if wanted and (word := raw[at:end]) in wanted:
            found[word] = number
        at = end + 10  # skip its count and its type
    quantised, rows, columns = struct.unpack_from("<B2q", raw, at)
    fits = (rows, columns) == (n + bucket, dim) and 4 * rows * dim <= len(raw) - at - 17
    if quantised or not fits:
        raise ValueError(f"{n:,} words and {bucket:,} n-grams do not match {rows:,} vectors")
    return FastTextModel(n, bucket, dim, shortest, longest, at + 17, found)


def write_npz(path: str | Path, words: list[str], vectors: np.ndarray, **extra: Any) -> None:
    """Write words, vectors and other arrays or JSON data to one ``.npz`` file, atomically."""
    arrays: dict[str, Any] = {
        "vectors": np.asarray(vectors, dtype=np.float32),
        "words": _pack("\n".join(words)),
    }
    for name, value in extra.items():
        if value is not None:
            is_array = isinstance(value, np.ndarray)
            arrays[name] = value if is_array else _pack(json.dumps(value, ensure_ascii=False))
    with atomic_write(path) as aside, open(aside, "wb") as file:
        np.savez(file, **arrays)


def load_npz(path: str | Path) -> dict[str, Any]:
    """Read what :func:`write_npz` wrote, without pickle."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            for member in archive.infolist():
                with archive.open(member) as file:
                    check_array(file, member.file_size)
        times, at_least = MOST_UNPACKED
        if unpacked > max(at_least, times * Path(path).stat().st_size):
            raise ValueError(f"it unpacks to {unpacked:,} bytes")
        with np.load(path, allow_pickle=False) as data:
            out = {name: data[name] for name in data.files}
        packed = out["words"].dtype == np.uint8  # as write_npz does; an export has text
        words = bytes(out["words"]).decode("utf-8").split("\n") if packed else out["words"].tolist()
        out["words"] = words
        for name, value in out.items():
            if isinstance(value, np.ndarray) and value.dtype == np.uint8:
                out[name] = json.loads(bytes(value))
        fits = _npz_fits(**out)
    except Exception as error:  # a damaged archive can raise almost anything
        raise DataError(
            f"{path}: not a valid .npz file of word vectors ({error}); write it again"
        ) from error
    if not fits:
        raise DataError(f"{path}: words and vectors do not match; write it again")
    return out


def check_array(file: IO[bytes], size: int) -> None:
    """Raise a ValueError if a ``.npy`` file of ``size`` bytes is too small for its header.

    numpy would allocate the promised memory before it reads the numbers.
    """
    header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(file)]
    shape, _, dtype = header(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} does not fit in its {size:,} bytes")


def _npz_fits(words, vectors, counts=None, lang="", report=None, steps=(), **others) -> bool:
    """Check whether the parts of an ``.npz`` file are what :func:`write_npz` writes."""
    report = {} if report is None else report
    texts = [lang, *steps, *report]
    return (
        vectors.ndim == 2
        and all(isinstance(word, str) for word in words)
        and len(words) == len(vectors) > 0
        and vectors.shape[1] > 0
        and vectors.dtype.kind == "f"
        and np.isfinite(vectors).all()
        and (counts is None or (counts.shape == (len(words),) and counts.dtype.kind in "iu"))
        and isinstance(steps, list | tuple)
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(number, int) for number in report.values())
        and (not lang or plain_name(lang) == lang)
    )


def read_npz(path: str | Path) -> Iterator[Block]:
    """Read an ``.npz`` file as one block."""
    data = load_npz(path)
    yield Block(data["words"], data["vectors"].astype(np.float32), data.get("counts"))


def _pack(text: str) -> np.ndarray:
    """Encode text as an array of UTF-8 bytes, which loads without pickle."""
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
