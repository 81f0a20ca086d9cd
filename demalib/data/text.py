"""The ``.vec`` text format of word vectors: a fast streaming reader and a writer."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from demalib.data.files import atomic_write
from demalib.errors import DataError
from demalib.progress import progress

BLOCK_BYTES = 1 << 22
MAX_DIM = 100_000  # a header with more dimensions is not one of word vectors
MAX_LINE = 1 << 24  # bytes; a file with a longer line has no word vectors either
EXACT_DIGITS = 9  # significant digits that reproduce every float32 number
NUMBERS_AT_ONCE = 40_000  # enough to keep threads busy, few enough to fit the cache


_JOIN = tuple(  # factor, shift and mask that join digits into pairs, fours and eights
    (np.uint64(factor), np.uint64(shift), np.uint64(mask))
    for factor, shift, mask in (
        (2561, 8, 0x00FF00FF00FF00FF),
        (6553601, 16, 0x0000FFFF0000FFFF),
        (42949672960001, 32, 0xFFFFFFFF),
    )
)


class Block(NamedTuple):
    """Some words of a file: ``words`` (n), ``vectors`` (n, d) float32, ``counts`` (n) or None."""

    words: list[str]
    vectors: np.ndarray
    counts: np.ndarray | None = None


def read_vec(path: str | Path) -> Iterator[Block]:
    """Read ``word number ... number`` lines, with or without a ``count dimension`` header.

    Fields are separated by single spaces or tabs, never by other Unicode white space, so a
    no-break space can be a word. A word may contain spaces: it is all that precedes the numbers.
    """
    path = Path(path)
    opened = gzip.open(path, "rb") if _is_gzip(path) else open(path, "rb")  # noqa: SIM115
    try:
        with opened as file:
            yield from parse_vec(file, path)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path}: the gzip data is cut off or damaged ({error}); download it again"
        ) from error


def _is_gzip(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def parse_vec(file: io.BufferedIOBase, path: Path) -> Iterator[Block]:
    """Read the ``.vec`` text of an open file; ``path`` is for messages."""
    first = file.readline(MAX_LINE)
    refuse_markup(first, path)
    count, dim = read_header(first, path)
    rest = b"" if count is not None else first
    at = 2 if count is not None else 1  # number of the next line
    seen = 0

    def blocks() -> Iterator[tuple[list[bytes], int, int, Path]]:
        nonlocal at
        lines = ([rest] if rest else []) + _some_lines(file)
        while lines:
            if len(lines[-1]) >= MAX_LINE:
                where = f"{path}:{at + len(lines) - 1}"
                raise DataError(f"{where}: the line is too long; is this a .vec file?")
            yield lines, dim, at, path
            at += len(lines)
            lines = _some_lines(file)

    for block in _parallel(_parse_lines, blocks()):
        seen += len(block.words)
        if count is not None and seen > count:
            raise DataError(
                f"{path}:{count + 2}: the header on line 1 promises {count:,} words, "
                "but more follow; correct the header"
            )
        yield block
    if count is not None and seen < count:
        raise DataError(
            f"{path}:{seen + 2}: the header on line 1 promises {count:,} words, but "
            f"the file ends after {seen:,}; download it again"
        )


def _some_lines(file: io.BufferedIOBase) -> list[bytes]:
    """Read the next lines, about ``BLOCK_BYTES``; the last may be cut off at ``MAX_LINE``."""
    data = file.read(BLOCK_BYTES)
    if data and not data.endswith(b"\n"):
        data += file.readline(MAX_LINE)
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def refuse_markup(first: bytes, path: Path) -> None:
    """Raise a DataError if a file begins like a web page, as failed downloads do."""
    start = first.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<error")):
        raise DataError(
            f"{path}:1: this is a web page (HTML or XML), not vectors: the download "
            "returned an error page; delete the file and download it again"
        )


def parse_header(first: bytes, path: Path) -> tuple[int, int] | None:
    """Parse a ``count dimension`` line; return None if it is something else."""
    fields = first.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    count, dim = (int(field[:18]) for field in fields)
    if not count or not 0 < dim <= MAX_DIM:
        raise DataError(
            f"{path}:1: the header says {count:,} words of {dim:,} dimensions; "
            "expected at least one of each"
        )
    return count, dim


def read_header(first: bytes, path: Path) -> tuple[int | None, int]:
    """Return the promised (count, dimension); count is None if line 1 is already a word."""
    if header := parse_header(first, path):
        return header
    dim = len(first.rstrip(b" \t\r\n").replace(b"\t", b" ").split(b" ")) - 1
    if not 0 < dim <= MAX_DIM:
        raise DataError(
            f"{path}:1: expected a 'count dimension' header or a word and its numbers, "
            f"found {show(first)}; is this a .vec file?"
        )
    return None, dim


def _parallel(parse: Callable[..., Block], jobs: Iterable[tuple]) -> Iterator[Block]:
    """Parse a few jobs at a time in threads, in order; the parser releases the GIL."""
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        pending: deque = deque()
        for job in jobs:
            pending.append(pool.submit(parse, *job))
            if len(pending) > 3:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _parse_lines(lines: list[bytes], dim: int, at: int, path: Path) -> Block:
    if sum(map(len, lines)) < len(lines) * 2 * dim:  # some line is too short: raise its error
        for i, raw in enumerate(lines):
            _parse_line(raw, dim, f"{path}:{at + i}")
    heads, tails = [], []
    for line in lines:
        head, _, tail = line.rstrip(b" \t\r\n").replace(b"\t", b" ").partition(b" ")
        heads.append(head)
        tails.append(tail)
    step = max(1, NUMBERS_AT_ONCE // dim)
    vectors = np.empty((len(lines), dim), dtype=np.float32)
    for lo in range(0, len(lines), step):
        group = slice(lo, lo + step)
        rows = _decimals(b"\n".join(tails[group]), len(tails[group]), dim)
        if rows is None:  # some line is unusual: parse them one by one, to name a bad one
            parsed = [
                _parse_line(raw, dim, f"{path}:{at + lo + i}") for i, raw in enumerate(lines[group])
            ]
            heads[group] = [head for head, _ in parsed]
            rows = np.array([row for _, row in parsed])
        vectors[group] = rows
    return Block([head.decode("utf-8", "replace") for head in heads], vectors)


def _decimals(text: bytes, n: int, dim: int) -> np.ndarray | None:
    """Parse numbers like ``-0.01234`` all at once; return None unless n lines have dim each.

    Up to eight digits after the point are eight bytes, that is one 64-bit integer per number:
    three multiplications join neighbouring digits, then pairs, then fours. Other notations
    (exponents, integers) are left to ``float``.
    """
    b = np.frombuffer(b" " * 8 + text + b"\n", dtype=np.uint8)
    sep = np.flatnonzero(b <= 32)[7:]  # sep[0] precedes the first number
    if (
        len(sep) != n * dim + 1
        or not (b[sep[dim::dim]] == 10).all()
        or np.count_nonzero(b == 10) != n
    ):
        return None
    start, end = sep[:-1] + 1, sep[1:]
    negative = b[start] == ord("-")
    point = np.minimum(start + negative + 1, len(b) - 1)
    digits = end - point - 1
    lead = b[point - 1] ^ 0x30
    usual = (b[point] == ord(".")) & (digits >= 1) & (digits <= 8) & (lead <= 9)
    windows = np.ndarray((len(b) - 7,), dtype="<u8", buffer=b, strides=(1,))
    v = windows[end - 8] ^ np.uint64(0x3030303030303030)
    v >>= (np.where(usual, 8 - digits, 0) * 8).astype(np.uint64)
    usual &= ((v + np.uint64(0x0606060606060606) | v) & np.uint64(0xF0F0F0F0F0F0F0F0)) == 0
    for factor, shift, mask in _JOIN:
        v *= factor
        v >>= shift
        v &= mask
    numbers = v * 1e-8
    numbers += lead
    np.negative(numbers, out=numbers, where=negative)
    try:
        for i in np.flatnonzero(~usual):
            numbers[i] = float(b[start[i] : end[i]].tobytes())
    except ValueError:
        return None
    with np.errstate(over="ignore"):  # too large for float32: infinite, and rejected below
        numbers = numbers.astype(np.float32)
    return numbers.reshape(n, dim) if np.isfinite(numbers).all() else None


def _parse_line(line: bytes, dim: int, where: str) -> tuple[bytes, np.ndarray]:
    """Parse one line slowly: return (word, numbers), or raise an error that says what is wrong."""
    fields = line.rstrip(b" \t\r\n").replace(b"\t", b" ").split(b" ")
    head, tail = b" ".join(fields[:-dim]), fields[-dim:]
    found = len(fields) - 1
    if found > dim and _is_number(fields[-dim - 1]):
        raise DataError(
            f"{where}: expected {dim} numbers after {show(fields[0])}, "
            f"found {found}; correct the line or the header"
        )
    if found < dim:
        raise DataError(
            f"{where}: expected {dim} numbers after {show(fields[0])}, found {found}; "
            "the line is cut off or the header is wrong"
        )
    for field in tail:
        if not _is_number(field):
            raise DataError(
                f"{where}: {show(field)} is not a number (word {show(head)}); correct the line"
            )
    row = np.array([float(field) for field in tail])
    if not np.isfinite(row).all() or np.abs(row).max() > np.finfo(np.float32).max:
        raise DataError(
            f"{where}: the vector of {show(head)} contains NaN or infinity; "
            "remove the line or train the vectors again"
        )
    return head, row


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def show(raw: bytes) -> str:
    """Decode, shorten and quote a field for an error message."""
    text = raw[:60].decode("utf-8", "replace").rstrip("\r\n")
    return repr(text + "..." if len(raw) > 60 else text)


def write_vec(path: str | Path, words: list[str], vectors: np.ndarray, digits: int = 6) -> None:
    """Write ``.vec`` text with a header and ``digits`` significant digits, atomically."""
    refuse_white_space(words, path)
    with atomic_write(path) as aside, open(aside, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n")
        line = " ".join([f"%.{digits}g"] * vectors.shape[1])
        pairs = zip(words, vectors, strict=True)
        for word, vector in progress(pairs, desc=Path(path).name, total=len(words), unit="word"):
            file.write(f"{word} {line % tuple(vector.tolist())}\n")


def refuse_white_space(words: list[str], path: str | Path) -> None:
    """Raise a DataError if a word would break a format that separates fields by spaces."""
    if bad := next((w for w in words if not w or any(c.isspace() for c in w)), None):
        raise DataError(
            f"{path}: the word {bad!r} contains white space, which .vec and .bin cannot store; "
            "use .npz, or read the vectors with the default cleaning"
        )
