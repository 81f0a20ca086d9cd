import numpy as np
import pytest
from chaos.samples import VECTORS, WORDS, navec, samples, spacy, zipped

from demalib.data import wheels
from demalib.errors import DataError

HOSTILE = [b"\x8c\x02os\x8c\x06system\x93"]  # what stands for os.system in a pickle

READERS = {
    "GoogleNews": wheels.read_google_news,
    "spaCy": wheels.read_spacy,
    "navec": wheels.read_navec,
    "GloVe": wheels.read_glove,
    "Turkish": wheels.read_turkish,
    "Chinese": wheels.read_chinese,
}


@pytest.fixture
def wheel(tmp_path):
    """A function that writes a small wheel and reads it back: its words, vectors and counts."""

    def read(name, parts=None):
        sample, path = samples()[name], tmp_path / "a.whl"
        path.write_bytes(sample.join(parts or sample.parts))
        blocks = list(wheels.read_wheel(path, READERS[name]))
        assert {p.name for p in tmp_path.iterdir()} <= {"a.whl", "cache"}  # nothing is unpacked
        return (
            [word for block in blocks for word in block.words],
            np.concatenate([block.vectors for block in blocks]),
            blocks[0].counts,
        )

    return read


def test_murmur_hash_of_spacy_strings():
    assert wheels.murmur_hash(b"coffee") == 3197928453018144401  # spaCy's documentation
    assert wheels.murmur_hash(b"") == wheels.murmur_hash(b"", 1) != wheels.murmur_hash(b"", 2)


@pytest.mark.parametrize("length", range(18))
def test_murmur_hash_takes_in_every_byte(length):
    data = bytes(range(1, length + 1))
    changed = {data[:i] + b"\0" + data[i + 1 :] for i in range(length)} | {data, data + b"\0"}
    assert len({wheels.murmur_hash(each) for each in changed}) == len(changed) == length + 2


def test_words_of_a_word2vec_wheel_have_their_vectors(wheel):
    words, vectors, _ = wheel("GoogleNews")
    assert words == [word.replace(" ", "_") for word in WORDS]
    np.testing.assert_array_equal(vectors, VECTORS)


def test_strings_of_a_spacy_wheel_are_found_by_their_hashes_in_the_order_of_the_rows(wheel):
    parts = spacy()
    parts["model/vocab/strings.json"] = b'["\\u65e5\\u672c", "no vector", "the"]'
    words, vectors, _ = wheel("spaCy", parts)
    assert words == ["the", "日本"]
    np.testing.assert_array_equal(vectors, VECTORS[[0, 2]])


@pytest.mark.parametrize("name", ["GloVe", "Turkish", "Chinese"])
def test_words_of_other_wheels_have_their_vectors(wheel, name):
    words, vectors, _ = wheel(name)
    assert [word.replace(" ", "_") for word in words] == [w.replace(" ", "_") for w in WORDS]
    np.testing.assert_allclose(vectors, VECTORS, atol=1e-5)


@pytest.mark.parametrize("name", ["Turkish", "Chinese"])
def test_a_hostile_pickle_in_a_wheel_is_refused(wheel, name, tmp_path):
    parts, hostile = dict(samples()[name].parts), HOSTILE[0].replace(b"PATH", b"/tmp/xy")
    (key,) = (key for key in parts if key.endswith("pickle"))
    place = parts[key].index(b"(X") if name == "Chinese" else parts[key].index(b"(h")
    parts[key] = parts[key][: place + 1] + hostile + parts[key][place + 1 :]
    with pytest.raises(DataError, match="a.whl: cannot be read .* instruction STACK_GLOBAL"):
        wheel(name, parts)


def test_a_navec_wheel_is_decoded_and_sorted_by_count(wheel):
    parts = navec()
    n = len(WORDS)
    counts = np.array([3, 9, 9, 1, 7, 2], "<u4")
    parts["vocab.bin"] = parts["vocab.bin"][:4] + counts.tobytes() + parts["vocab.bin"][4 + 4 * n :]
    words, vectors, kept = wheel("navec", parts)
    order = [1, 2, 4, 0, 5, 3]  # of equal counts the first
    assert words == [WORDS[i] for i in order] and kept.tolist() == counts[order].tolist()
    books = np.resize(VECTORS, (2, 8, 2))
    index = np.arange(2 * n).reshape(n, 2) % 8
    want = [np.concatenate([books[0, i], books[1, j]]) for i, j in index[order]]
    np.testing.assert_array_equal(vectors, want)


def test_a_wheel_without_the_vectors_is_refused(tmp_path):
    path = tmp_path / "a.whl"
    path.write_bytes(zipped({"other": b"x"}))
    for read in READERS.values():
        with pytest.raises(DataError, match=r"a\.whl: cannot be read .*; delete it"):
            list(wheels.read_wheel(path, read))
