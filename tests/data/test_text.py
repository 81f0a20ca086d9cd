import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demalib.data.text import _decimals, read_vec, write_vec
from demalib.errors import DataError


def read(path):
    blocks = list(read_vec(path))
    return [w for b in blocks for w in b.words], np.concatenate([b.vectors for b in blocks])


def write(tmp_path, text, name="a.vec"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


NUMBER = st.one_of(
    st.decimals(-9, 9, allow_nan=False, places=5).map(str),
    st.floats(-1e3, 1e3, width=32).map(lambda f: f"{f:.6g}"),
    st.integers(-99, 99).map(str),
    st.sampled_from(["0.12345678", "-0.5", ".5", "-.25", "+0.125", "1e-05", "-1.5E+2", "0", "7."]),
)


@given(st.lists(st.lists(NUMBER, min_size=3, max_size=3), min_size=1, max_size=40))
def test_decimals_are_what_float_says(rows):
    text = "\n".join(" ".join(row) for row in rows).encode()
    want = np.array([[float(field) for field in row] for row in rows]).astype(np.float32)
    np.testing.assert_array_equal(_decimals(text, len(rows), 3), want)


@given(st.binary(max_size=60), st.integers(1, 4), st.integers(1, 4))
def test_decimals_never_invent_numbers(text, n, dim):
    rows = _decimals(text, n, dim)
    if rows is not None:
        lines = text.split(b"\n")
        assert len(lines) == n
        assert rows.shape == (n, dim) and np.isfinite(rows).all()


def test_round_trip_keeps_words_and_six_digits(tmp_path, rng):
    words = ["the", "naïve", "日本", "слово", "a'b"]
    vectors = rng.standard_normal((5, 7)).astype(np.float32)
    write_vec(tmp_path / "a.vec", words, vectors)
    got_words, got = read(tmp_path / "a.vec")
    assert got_words == words
    np.testing.assert_allclose(got, vectors, rtol=1e-5)


def test_no_header_tabs_crlf_trailing_space_and_gzip(tmp_path):
    text = b"a\t0.5 -1\r\nb 2e-3 0.25 \n"
    plain = write(tmp_path, text)
    packed = write(tmp_path, gzip.compress(text), "b.vec.gz")
    for path in (plain, packed):
        words, got = read(path)
        assert words == ["a", "b"]
        np.testing.assert_array_equal(got, np.array([[0.5, -1], [0.002, 0.25]], np.float32))


def test_white_space_tokens_and_phrases_are_words(tmp_path):
    path = write(tmp_path, "4 2\n\u00a0 1 2\n\u2009x 3 4\nnew york 5 6\n\u2028 7 8\n")
    words, got = read(path)
    assert words == ["\u00a0", "\u2009x", "new york", "\u2028"]
    np.testing.assert_array_equal(got, np.arange(1, 9).reshape(4, 2))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<!DOCTYPE html><html>no</html>", ":1: this is a web page"),
        ('<?xml version="1.0" encoding="utf-8"?><Error/>', ":1: this is a web page"),
        ("3 2\na 1 2\nb 3 4\n", ":4: the header on line 1 promises 3 words"),
        ("1 2\na 1 2\nb 3 4\n", ":3: the header on line 1 promises 1 words"),
        ("2 3\na 1 2\nb 3 4\n", ":2: expected 3 numbers after 'a', found 2"),
        ("2 2\na 1 2\nb 3\n", ":3: expected 2 numbers after 'b', found 1"),
        ("2 2\na 1 2\nb 3 4 5\n", ":3: expected 2 numbers after 'b', found 3"),
        ("2 2\na 1 2\nb 3 nan\n", ":3: the vector of 'b' contains NaN"),
        ("2 2\na 1 2\nb 3 -inf\n", ":3: the vector of 'b' contains NaN"),
        ("2 2\na 1 2\nb 3 1e39\n", ":3: the vector of 'b' contains NaN"),
        ("2 2\na 1 2\nb 3 x\n", ":3: 'x' is not a number (word 'b')"),
        ("2 2\na 1 2\n\nb 1 2\n", ":3: expected 2 numbers after '', found 0"),
        ("0 300\n", ":1: the header says 0 words"),
        ("5 0\n", ":1: the header says 5 words of 0 dimensions"),
        ("1000000000000 999999999\nx 1\n", "dimensions; expected at least one"),
        ("word\n", ":1: expected a 'count dimension' header"),
    ],
)
def test_bad_text_is_named_by_file_and_line(tmp_path, text, says):
    path = write(tmp_path, text)
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value).startswith(str(path)) and says in str(error.value)


def test_the_line_is_right_in_later_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("demalib.data.text.BLOCK_BYTES", 64)
    lines = [f"w{i} {i} {i}" for i in range(200)]
    lines[150] = "w150 1"
    path = write(tmp_path, "200 2\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=":152: expected 2 numbers after 'w150', found 1"):
        read(path)


def test_a_promise_of_a_trillion_words_allocates_nothing(tmp_path):
    with pytest.raises(DataError, match="promises 1,000,000,000,000 words"):
        read(write(tmp_path, "1000000000000 2\na 1 2\n"))


@pytest.mark.parametrize("cut", [12, 200, -4])
def test_truncated_gzip(tmp_path, cut, rng):
    text = "\n".join(f"w{i} {a:.5f} {b:.5f}" for i, (a, b) in enumerate(rng.random((300, 2))))
    path = write(tmp_path, gzip.compress(text.encode())[:cut], "a.vec.gz")
    with pytest.raises(DataError, match="gzip data is cut off"):
        read(path)


def test_words_with_white_space_are_not_written(tmp_path):
    with pytest.raises(DataError, match="white space"):
        write_vec(tmp_path / "a.vec", ["a\u00a0b"], np.ones((1, 2)))
    assert list(tmp_path.glob("*.vec")) == []


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = write(tmp_path, "1 1\nold 1\n")
    with pytest.raises(ValueError):
        write_vec(path, ["a", "b"], np.ones((1, 1)))  # fewer vectors than words
    assert path.read_text() == "1 1\nold 1\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.vec"]
