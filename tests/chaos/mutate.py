"""Damage to files: one seeded mutator for all formats."""

import random
import re
import struct

WHOLE = (0, 1, -1, 2**15, 2**31 - 1, -(2**31), 2**32, 10**12, 2**63 - 1, -(2**63))
TEXT = (
    *(b"nan", b"-inf", b"1e999", b"1e-999", b"\0", b"\xff\xfe", b"\xef\xbb\xbf"),
    *(b"\xed\xa0\x80", b"\xc2\xa0", b"\xe2\x80\xa8", b"\r\n", b"\n\n", b"\t", b"  "),
    *(b"'", b'"', b"\\ud800", b"{}", b"[" * 3000, b"null", b"../../x", b"<html>"),
    *(b"\x1f\x8b", b"PK\x03\x04"),
)


def flip(data: bytearray, rng: random.Random) -> None:
    """Turn a few bits."""
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def truncate(data: bytearray, rng: random.Random) -> None:
    """Cut the end off."""
    del data[rng.randrange(len(data)) :]


def delete(data: bytearray, rng: random.Random) -> None:
    """Cut something out."""
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 2, 4, 8, 64, 1000))]


def insert(data: bytearray, rng: random.Random) -> None:
    """Put random bytes, or a text that some format minds, anywhere."""
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice((rng.randbytes(rng.choice((1, 4, 100))), rng.choice(TEXT)))


def repeat(data: bytearray, rng: random.Random) -> None:
    """Say something twice, or many times."""
    at, n = rng.randrange(len(data)), rng.choice((1, 4, 30, 10**6))
    data[at:at] = bytes(data[at : at + n]) * rng.choice((1, 1, 2, 20))


def number(data: bytearray, rng: random.Random) -> None:
    """Replace a decimal number by another one, possibly huge, or by something else."""
    found = list(re.finditer(rb"-?\d[\d.]*", data[:100_000]))
    if found:
        at = rng.choice(found[:3] + found)  # headers come first
        new = str(rng.choice(WHOLE)).encode()
        data[at.start() : at.end()] = rng.choice((new, rng.choice(TEXT), b"9" * 30))


def integer(data: bytearray, rng: random.Random) -> None:
    """Overwrite a binary number: an integer of two, four or eight bytes, or NaN, or infinity."""
    value = rng.choice(WHOLE)
    code, mask = rng.choice((("<H", 2**16 - 1), ("<I", 2**32 - 1), ("<Q", 2**64 - 1)))
    new = struct.pack(code, value & mask)
    if rng.random() < 0.25:
        new = struct.pack("<f", rng.choice((float("nan"), float("inf"), 3e38)))
    at = rng.choice((rng.randrange(len(data)), 4 * rng.randrange(1 + len(data) // 4)))
    data[at : at + len(new)] = new


def swap(data: bytearray, rng: random.Random) -> None:
    """Exchange two stretches."""
    n = rng.choice((1, 8, 100))
    a, b = sorted(rng.randrange(len(data)) for _ in range(2))
    data[a : a + n], data[b : b + n] = data[b : b + n], data[a : a + n]


def encode(data: bytearray, rng: random.Random) -> None:
    """Write the text in another encoding."""
    text = data.decode("utf-8", "replace")
    data[:] = text.encode(rng.choice(("utf-16", "latin-1", "utf-7", "cp500")), "replace")


KINDS = (flip, truncate, delete, insert, repeat, number, number, integer, integer, swap, encode)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The same with one to three kinds of damage."""
    out = bytearray(data)
    for kind in rng.choices(KINDS, k=rng.choice((1, 1, 2, 3))):
        if out:
            kind(out, rng)
    return bytes(out)
