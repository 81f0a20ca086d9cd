"""Floret vectors: any word has one, the mean of rows that its n-grams are hashed to.

(spaCy stores such a table instead of one row for each word.)
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgpack
import numpy as np

from demalib.data.binary import check_array
from demalib.data.text import Block
from demalib.errors import DataError

AT_ONCE = 1_000  # words of a block
MOST = 1 << 26  # bytes of a word list


@dataclass(frozen=True)
class Floret:
    """A hashed table of n-gram vectors; see the settings of spaCy's ``vectors.cfg``."""

    table: np.ndarray  # (rows, d)
    shortest: int  # letters of an n-gram
    longest: int
    hashes: int  # rows of each n-gram, 1 to 4
    seed: int
    begin: str  # put before and after a word
    end: str

    @classmethod
    def of(cls, archive: zipfile.ZipFile) -> Floret:
        """Read the table of a spaCy model in a wheel."""
        name = next(n for n in archive.namelist() if n.endswith("vocab/vectors.cfg"))
        cfg = json.loads(archive.read(name))
        if cfg["mode"] != "floret" or not 0 < cfg["minn"] <= cfg["maxn"] < 100:
            raise ValueError("its vectors are not a floret table")
        raw = archive.read(name.removesuffix(".cfg"))
        check_array(io.BytesIO(raw), len(raw))
        table = np.load(io.BytesIO(raw), allow_pickle=False).astype(np.float32, copy=False)
        names = ("minn", "maxn", "hash_count", "hash_seed", "bow", "eow")
        return cls(table, *(cfg[name] for name in names))

    def vectors_of(self, words: Sequence[str]) -> np.ndarray:
        """Make the vectors of any words, (n, d) float32; an empty word has zeros."""
        out = np.zeros((len(words), self.table.shape[1]), dtype=np.float32)
        full = [i for i, word in enumerate(words) if word]
        for lo in range(0, len(full), AT_ONCE):
            some = full[lo : lo + AT_ONCE]
            grams = [self._grams(words[i]) for i in some]
            rows = self._rows([gram for part in grams for gram in part])  # (g, hashes)
            starts = np.cumsum([0, *map(len, grams)])[:-1]
            sums = np.add.reduceat(self.table[rows].sum(axis=1), starts)
            out[some] = sums / (self.hashes * np.array([*map(len, grams)]))[:, None]
        return out

    def _grams(self, word: str) -> list[bytes]:
        """List the padded word and its n-grams."""
        word = self.begin + word + self.end
        sizes = range(self.shortest, self.longest + 1)
        grams = [word, *(word[i : i + n] for n in sizes for i in range(len(word) - n + 1))]
        return [gram.encode("utf-8") for gram in grams]

    def _rows(self, grams: list[bytes]) -> np.ndarray:
        """Find the rows of n-grams in the table, (g, hashes)."""
        halves = murmur3(grams, self.seed)[:, :, None] >> np.array([0, 32], dtype=np.uint64)
        parts = (halves & np.uint64(0xFFFFFFFF)).reshape(len(grams), 4)
        return (parts[:, : self.hashes] % np.uint64(len(self.table))).astype(np.int64)


def murmur3(texts: Sequence[bytes], seed: int) -> np.ndarray:
    """Compute MurmurHash3, 128 bits for 64-bit machines, of n texts: (n, 2) uint64."""
    lengths = np.array([len(text) for text in texts], dtype=np.uint64)
    blocks = int(lengths.max(initial=0)) // 16 + 1
    padded = b"".join(text.ljust(16 * blocks, b"\0") for text in texts)
    numbers = np.frombuffer(padded, dtype="<u8").reshape(len(texts), blocks, 2)
    h1 = h2 = np.full(len(texts), seed, dtype=np.uint64)
    with np.errstate(over="ignore"):  # all of it is modulo 2^64
        for i in range(blocks):
            k1, k2 = _mix(numbers[:, i, 0], 31), _mix(numbers[:, i, 1], 33)
            last, whole = lengths // 16 == i, lengths // 16 > i
            g1 = (_turn(h1 ^ k1, 27) + h2) * _u(5) + _u(0x52DCE729)
            g2 = (_turn(h2 ^ k2, 31) + g1) * _u(5) + _u(0x38495AB5)
            h1 = np.where(whole, g1, np.where(last, h1 ^ k1, h1))
            h2 = np.where(whole, g2, np.where(last, h2 ^ k2, h2))
        h1, h2 = h1 ^ lengths, h2 ^ lengths
        h1 = h1 + h2
        h2 = h2 + h1
        h1, h2 = _scatter(h1), _scatter(h2)
        h1 = h1 + h2
        return np.stack([h1, h2 + h1], axis=1)


_u = np.uint64
_FACTORS = {31: 0x87C37B91114253D5, 33: 0x4CF5AD432745937F}


def _turn(x: np.ndarray, by: int) -> np.ndarray:
    return x << _u(by) | x >> _u(64 - by)


def _mix(k: np.ndarray, by: int) -> np.ndarray:
    """Multiply by one factor, turn, multiply by the other."""
    return _turn(k * _u(_FACTORS[by]), by) * _u(_FACTORS[64 - by])


def _scatter(k: np.ndarray) -> np.ndarray:
    k = (k ^ k >> _u(33)) * _u(0xFF51AFD7ED558CCD)
    k = (k ^ k >> _u(33)) * _u(0xC4CEB9FE1A85EC53)
    return k ^ k >> _u(33)


def read_floret(archive: zipfile.ZipFile, path: Path, wordfreq: zipfile.ZipFile) -> Iterator[Block]:
    """Read the Finnish vectors of the words of wordfreq's list, most frequent first."""
    floret, words = Floret.of(archive), word_list(wordfreq, "fi")
    for lo in range(0, len(words), AT_ONCE):
        some = words[lo : lo + AT_ONCE]
        yield Block(some, floret.vectors_of(some))


def word_list(archive: zipfile.ZipFile, lang: str) -> list[str]:
    """Read a language's large word list in the wheel of wordfreq: groups of equal frequency."""
    with gzip.open(archive.open(f"wordfreq/data/large_{lang}.msgpack.gz")) as file:
        head, *groups = msgpack.unpackb(file.read(MOST))
    if head != {"format": "cB", "version": 1}:
        raise ValueError("its word list has another format")
    return [word for group in groups for word in group]


@dataclass(frozen=True)
class FloretWheel:
    """The sub-words of a floret table inside a wheel; opened when they are needed."""

    path: Path

    def vectors_of(self, words: Sequence[str]) -> np.ndarray:
        """Make the vectors of any words, (n, d) float32.

        Raises:
            DataError: The wheel is gone or damaged.
        """
        try:
            with zipfile.ZipFile(self.path) as archive:
                return Floret.of(archive).vectors_of(words)
        except Exception as error:  # a damaged archive can raise almost anything
            raise DataError(
                f"{self.path}: its sub-words cannot be read ({error}); run 'demalib fetch fi'"
            ) from error
