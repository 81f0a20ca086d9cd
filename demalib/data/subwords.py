"""Vectors of words that no vocabulary has, from the sub-words of a fastText model.

The model stays on disk: a word costs a scan of its vocabulary and a few rows of its matrix.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from demalib.data.binary import FastTextModel, is_fasttext, scan_fasttext
from demalib.data.floret import FloretWheel
from demalib.embedding import Subwords
from demalib.errors import DataError

FNV_START, FNV_FACTOR = 2166136261, 16777619  # of the hash FNV-1a, 32 bits


@dataclass(frozen=True)
class FastTextBin:
    """The sub-words of a fastText ``.bin`` model; a :class:`demalib.embedding.Subwords`."""

    path: Path

    def vectors_of(self, words: Sequence[str]) -> np.ndarray:
        """Make the vectors of any words, as fastText does, (n, d) float32.

        A vector is the mean over the word's n-grams, and the word itself if the model knows it. A
        word without any n-gram has zeros.

        Raises:
            DataError: The model is gone or damaged.
        """
        if not self.path.is_file():
            raise DataError(
                f"{self.path}: the fastText model, whose sub-words make vectors of unseen words, is "
                "gone; put it back, or ask for words of the vocabulary"
            )
        names = [word.encode("utf-8") for word in words]
        try:
            with (
                open(self.path, "rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw,
            ):
                model = scan_fasttext(raw, set(names))
                return np.stack([_mean(raw, model, word) for word in names])
        except Exception as error:  # damaged bytes can raise almost anything
            raise DataError(
                f"{self.path}: not a valid fastText model ({error}); download it again"
            ) from error


def _mean(raw: mmap.mmap, model: FastTextModel, word: bytes) -> np.ndarray:
    """Average the rows of a word, (d,)."""
    rows = [model.rows[word]] if word in model.rows else []
    if model.bucket:
        grams = ngrams(word.decode("utf-8"), model.shortest, model.longest)
        rows += [model.words + fnv(gram) % model.bucket for gram in grams]
    out, width = np.zeros(model.dim), 4 * model.dim
    for row in rows:
        out += np.frombuffer(raw[model.matrix + row * width :][:width], dtype="<f4")
    return (out / max(1, len(rows))).astype(np.float32)


def ngrams(word: str, shortest: int, longest: int) -> Iterator[bytes]:
    """Yield all n-grams of a word between its marks ``<`` and ``>``; a mark alone is none.

    Example:
        >>> list(ngrams("tä", 3, 4))[-1].decode(), len(list(ngrams("tä", 3, 4)))
        ('tä>', 3)
    """
    text = f"<{word}>"
    for start in range(len(text)):
        for end in range(start + max(1, shortest), min(start + longest, len(text)) + 1):
            if end - start > 1 or 0 < start < len(text) - 1:
                yield text[start:end].encode("utf-8")


def fnv(gram: bytes) -> int:
    """Hash bytes as fastText does: FNV-1a, in which bytes from 128 on are negative."""
    value = FNV_START
    for byte in gram:
        value = (value ^ (byte | (0xFFFFFF00 if byte > 127 else 0))) * FNV_FACTOR % 2**32
    return value


def open_subwords(path: str | Path) -> Subwords | None:
    """Return what makes vectors of unseen words from a file; None if it has no sub-words."""
    path = Path(path)
    if path.suffix == ".whl":
        return FloretWheel(path.resolve())
    known = path.suffix == ".bin" and (not path.is_file() or is_fasttext(path))
    return FastTextBin(path.resolve()) if known else None
