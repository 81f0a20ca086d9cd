"""Readers of vector files of every format: ``.vec``, word2vec and fastText ``.bin``, ``.npz``.

Every reader is a generator of :class:`Block`: a few thousand words with their vectors, in the
order of the file. Nothing is cleaned here; :mod:`demalib.vectors` does that, once for all.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from demalib.files import DataError, write_aside
from demalib.vec import (
    BLOCK_BYTES,
    Block,
    read_header,
    read_vec,
    refuse_markup,
    refuse_white_space,
    show,
)

FASTTEXT_MAGIC = 793712314


def read_blocks(path: str | Path) -> Iterator[Block]:
    """Read a vector file of any known format, block by block.

    Args:
        path: ``.vec``/``.txt`` (also ``.gz``), ``.bin`` (word2vec or fastText) or ``.npz``.

    Raises:
        DataError: The file is missing, empty, broken or of no known format.
    """
    path = Path(path)
    check_file(path)
    if path.suffix == ".npz":
        return read_npz(path)
    if path.suffix == ".bin":
        with open(path, "rb") as file:
            is_fasttext = file.read(4) == struct.pack("<i", FASTTEXT_MAGIC)
        return read_fasttext_bin(path) if is_fasttext else read_word2vec_bin(path)
    return read_vec(path)


def check_file(path: Path) -> None:
    """Raise a DataError unless there is a file with something in it."""
    if not path.is_file():
        raise DataError(f"{path}: no such file; give the path of a .vec, .bin or .npz file")
    if not path.stat().st_size:
        raise DataError(f"{path}: the file is empty; download or write it again")


def read_word2vec_bin(path: str | Path) -> Iterator[Block]:
    """Read word2vec's binary format: a header, then each word, a space and d float32 numbers."""
    with open(path, "rb") as file:
        yield from parse_word2vec(file, Path(path))


def parse_word2vec(file: BinaryIO, path: Path) -> Iterator[Block]:
    """Parse an open word2vec binary file; ``path`` is its name in error messages."""
    first = file.readline(1024)
    refuse_markup(first, path)
    fields = first.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        raise DataError(
            f"{path}: expected a word2vec header 'count dimension', found "
            f"{show(first)}; is this a word2vec or fastText .bin file?"
        )
    count, dim = read_header(first, path)
    buffer, at, seen = b"", 0, 0
    while seen < count:
        words, rows = [], []
        while seen < count:  # every word that is whole in the buffer
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
                f"{path}: the header promises {count:,} words, but the file ends in "
                f"or is broken at word {seen + 1:,}; download it again"
            )
        buffer, at = buffer[at:] + more, 0


def _finite(raw: bytes, words: list[str], dim: int, path: Path) -> np.ndarray:
    vectors = np.frombuffer(raw, dtype="<f4").reshape(-1, dim)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        word = words[int(np.argmin(finite))]
        raise DataError(
            f"{path}: the vector of {word!r} holds NaN or infinity; is this a word2vec .bin file?"
        )
    return vectors


def write_word2vec_bin(path: str | Path, words: list[str], vectors: np.ndarray) -> None:
    """Write word2vec's binary format, as :func:`read_word2vec_bin` reads it, whole."""
    refuse_white_space(words, path)
    with write_aside(path) as aside, open(aside, "wb") as file:
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
        model = load_facebook_vectors(str(path))
    except Exception as error:  # gensim raises whatever the broken bytes led it to
        raise DataError(
            f"{path}: gensim cannot read this fastText model ({error}); download it again"
        ) from error
    counts = np.array([model.get_vecattr(word, "count") for word in model.index_to_key])
    yield Block(list(model.index_to_key), np.asarray(model.vectors, dtype=np.float32), counts)


def write_npz(path: str | Path, words: list[str], vectors: np.ndarray, **extra: Any) -> None:
    """Write words and vectors (and other arrays, or JSON data) to one ``.npz`` file, whole."""
    arrays = {"vectors": np.asarray(vectors, dtype=np.float32), "words": _pack("\n".join(words))}
    for name, value in extra.items():
        if value is not None:
            packed = isinstance(value, np.ndarray)
            arrays[name] = value if packed else _pack(json.dumps(value, ensure_ascii=False))
    with write_aside(path) as aside, open(aside, "wb") as file:
        np.savez(file, **arrays)


def load_npz(path: str | Path) -> dict[str, Any]:
    """Read what :func:`write_npz` wrote; never unpickles."""
    try:
        with np.load(path, allow_pickle=False) as data:
            out = {name: data[name] for name in data.files}
        out["words"] = bytes(out["words"]).decode("utf-8").split("\n")
        whole = len(out["words"]) == len(out["vectors"]) and out["vectors"].ndim == 2
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path}: not a whole .npz file of word vectors ({error}); write it again"
        ) from error
    if not whole or not np.isfinite(out["vectors"]).all():
        raise DataError(f"{path}: words and vectors do not fit together; write it again")
    for name, value in out.items():
        if isinstance(value, np.ndarray) and value.dtype == np.uint8:
            out[name] = json.loads(bytes(value))
    return out


def read_npz(path: str | Path) -> Iterator[Block]:
    """Read an ``.npz`` file as one block."""
    data = load_npz(path)
    yield Block(data["words"], data["vectors"].astype(np.float32), data.get("counts"))


def _pack(text: str) -> np.ndarray:
    """Text as an array of UTF-8 bytes: compact, and safe to load without pickle."""
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
