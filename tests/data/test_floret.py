import zipfile

import numpy as np
import pytest
from chaos.samples import VECTORS, WORDS, floret, zipped

from demalib.alignment import translate
from demalib.config import preset
from demalib.data.floret import Floret, FloretWheel, murmur3, read_floret
from demalib.data.registry import load_vectors
from demalib.data.wheels import read_wheel
from demalib.embedding import Embedding, Policy
from demalib.errors import DataError
from demalib.evaluation.benchmark import load_pair
from demalib.pair import make_pair
from demalib.solvers import align


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.whl").write_bytes(zipped(floret()))
    return tmp_path / "a.whl"


def test_the_hash_is_murmurs():
    """Values of the reference implementation, 128 bits for 64-bit machines."""
    fox = b"The quick brown fox jumps over the lazy dog"
    got = murmur3([b"", b"hello", fox], 0).tolist()
    assert got[0] == [0, 0]
    assert got[1] == [0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19]
    assert got[2] == [0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347]


def test_the_hash_of_a_text_does_not_depend_on_the_others(rng):
    texts = [rng.bytes(n) for n in range(70)]
    alone = np.concatenate([murmur3([text], 5) for text in texts])
    np.testing.assert_array_equal(murmur3(texts, 5), alone)
    assert len(np.unique(alone)) == 140


def test_a_vector_is_the_mean_of_the_rows_of_its_ngrams(path):
    made = Floret.of(zipfile.ZipFile(path)).vectors_of(["ab", "", "ä"])
    rows = []
    for gram in ("<ab>", "<a", "ab", "b>", "<ab", "ab>"):
        low = int(murmur3([gram.encode()], 7)[0, 0])
        rows += [(low & 0xFFFFFFFF) % len(VECTORS), (low >> 32) % len(VECTORS)]
    np.testing.assert_allclose(made[0], VECTORS[rows].mean(axis=0), rtol=1e-5)
    assert not made[1].any() and made[2].any()


def test_the_words_of_the_list_come_in_its_order(path):
    (block,) = read_wheel(path, read_floret, path)
    assert block.words == WORDS
    np.testing.assert_array_equal(block.vectors, FloretWheel(path).vectors_of(WORDS))


def test_unseen_words_are_normalised_and_padded_as_the_others_were(path, rng):
    table = FloretWheel(path)
    words = [f"w{i}" for i in range(50)]
    narrow = Embedding(words, table.vectors_of(words), "fi", subwords=table)
    wide = Embedding(["a", "b", "c"], rng.standard_normal((3, 6)).astype("f4"), "en")
    src = make_pair(narrow, wide).src
    more = src.extend(["w3", "koira", ""])
    assert more.words == [*words, "koira"] and more.dim == 6
    raw = table.vectors_of(["koira", "w3"])
    np.testing.assert_allclose(more.vectors[50:], src.normalisation.apply(raw[:1]), rtol=1e-5)
    np.testing.assert_allclose(more.vectors[3], src.normalisation.apply(raw[1:])[0], rtol=1e-5)


def test_a_table_that_is_gone_or_damaged_is_told(path):
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="a.whl: its sub-words cannot be read"):
        FloretWheel(path).vectors_of(["a"])
    parts = floret() | {"model/vocab/vectors.cfg": b'{"mode": "default"}'}
    path.write_bytes(zipped(parts))
    with pytest.raises(DataError, match="not a floret table"):
        FloretWheel(path).vectors_of(["a"])


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("word", "right"),
    [
        (
            "jalkapallojoukkueellammekin",
            {"football", "soccer", "team", "teams"},
        ),  # one of thousands of forms
        ("kissoillannekaan", {"cat", "cats"}),  # the README's
    ],
)
def test_a_finnish_word_outside_every_list_is_translated(real_cache, word, right):
    config = preset("en-fi", solver="procrustes", max_vocab=8000)
    pair = load_pair(config)
    assert not pair.tgt.knows(word) and not load_vectors("fi", Policy(max_vocab=50_000)).knows(word)
    table = translate(align(pair, config), pair, word, k=5, reverse=True)
    assert right & set(table["translation"])
    assert table["rank"].isna().all()
