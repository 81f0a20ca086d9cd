import numpy as np
import pytest

from demalib.data.binary import load_npz, read_blocks, write_npz
from demalib.errors import DataError

gensim = pytest.importorskip("gensim", reason="gensim is an optional extra")


def joined(path):
    blocks = list(read_blocks(path))
    return [w for b in blocks for w in b.words], np.concatenate([b.vectors for b in blocks])


@pytest.fixture
def word2vec(tmp_path, rng):
    words, vectors = [f"wörd{i}" for i in range(3000)], rng.random((3000, 5)).astype(np.float32)
    keyed = gensim.models.KeyedVectors(5)
    keyed.add_vectors(words, vectors)
    keyed.save_word2vec_format(tmp_path / "a.bin", binary=True)
    return tmp_path / "a.bin", words, vectors


def test_word2vec_bin_as_gensim_writes_it(word2vec):
    path, words, vectors = word2vec
    got_words, got = joined(path)
    assert got_words == words
    np.testing.assert_array_equal(got, vectors)


def test_word2vec_bin_with_line_ends(tmp_path):
    row = np.array([1, 2], "<f4").tobytes()
    (tmp_path / "a.bin").write_bytes(b"2 2\na " + row + b"\nb " + row + b"\n")
    assert joined(tmp_path / "a.bin")[0] == ["a", "b"]


def test_word2vec_bin_cut_off(word2vec):
    path, *_ = word2vec
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"ends or is damaged at word 3,000"):
        joined(path)


def test_word2vec_bin_with_nan(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"1 2\na " + np.array([1, np.nan], "<f4").tobytes())
    with pytest.raises(DataError, match="'a' contains NaN"):
        joined(tmp_path / "a.bin")


def test_fasttext_bin_through_gensim(tmp_path):
    from gensim.models.fasttext import FastText, save_facebook_model

    text = [["one", "two", "two", "three", "three", "three"]] * 20
    model = FastText(text, vector_size=8, min_count=1, epochs=1, workers=1, seed=1, bucket=50)
    save_facebook_model(model, str(tmp_path / "a.bin"))
    (block,) = read_blocks(tmp_path / "a.bin")
    assert block.words == ["three", "two", "one"]
    assert block.counts.tolist() == [60, 40, 20]
    np.testing.assert_allclose(block.vectors[1], model.wv["two"], rtol=1e-5)
    (tmp_path / "b.bin").write_bytes((tmp_path / "a.bin").read_bytes()[:300])
    with pytest.raises(DataError, match="gensim cannot read"):
        joined(tmp_path / "b.bin")


def test_npz_round_trip_and_no_pickle(tmp_path, rng):
    vectors = rng.random((2, 3)).astype(np.float32)
    write_npz(tmp_path / "a.npz", ["x", "日本"], vectors, counts=np.array([5, 1]), steps=["unit"])
    data = load_npz(tmp_path / "a.npz")
    assert data["words"] == ["x", "日本"] and data["steps"] == ["unit"]
    np.testing.assert_array_equal(data["vectors"], vectors)
    np.savez(tmp_path / "b.npz", vectors=vectors, words=np.array(["x", "y"], dtype=object))
    with pytest.raises(DataError, match="not a valid .npz"):
        load_npz(tmp_path / "b.npz")


@pytest.mark.parametrize("name", ["a.vec", "a.bin", "a.npz"])
def test_missing_and_empty_files(tmp_path, name):
    with pytest.raises(DataError, match="no such file"):
        joined(tmp_path / name)
    (tmp_path / name).touch()
    with pytest.raises(DataError, match="is empty"):
        joined(tmp_path / name)


@pytest.mark.parametrize("name", ["a.bin", "a.npz"])
def test_a_web_page_is_no_vector_file(tmp_path, name):
    (tmp_path / name).write_text("<html><body>404</body></html>")
    with pytest.raises(DataError, match=name):
        joined(tmp_path / name)


@pytest.mark.parametrize("name", ["en.model", "en.bin", "en.kv", "en.vec"])
def test_a_pickle_is_not_opened_and_the_remedy_is_told(tmp_path, name):
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2, dtype=np.float32))
    vectors.save(str(tmp_path / name))
    with pytest.raises(DataError, match=f"{name}: this is a Python pickle.*save_word2vec_format"):
        joined(tmp_path / name)
