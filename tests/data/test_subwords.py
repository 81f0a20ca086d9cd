import numpy as np
import pytest

from demalib.data.store import read_vectors
from demalib.data.subwords import FastTextBin, fnv, open_subwords
from demalib.embedding import Policy
from demalib.errors import DataError

WORDS = ["one", "Zürich", "zürich", "日本語", "two"]


@pytest.fixture(scope="module", params=[(3, 6, 50), (1, 3, 1000), (2, 2, 7)])
def model(request, tmp_path_factory):
    from gensim.models.fasttext import FastText, save_facebook_model

    shortest, longest, bucket = request.param
    text = [[word] * (9 - i) for i, word in enumerate(WORDS)] * 10
    options = {"min_n": shortest, "max_n": longest, "bucket": bucket, "min_count": 1}
    model = FastText(text, vector_size=8, epochs=2, workers=1, seed=1, **options)
    path = tmp_path_factory.mktemp("model") / "cc.de.8.bin"
    save_facebook_model(model, str(path))
    return model.wv, path


def test_vectors_of_any_word_are_those_of_fasttext(model):
    vectors, path = model
    words = ["ones", "Zürichsee", "日本", "x", "a b", *WORDS]
    want = np.stack([vectors[word] for word in words])
    np.testing.assert_allclose(FastTextBin(path).vectors_of(words), want, rtol=1e-4, atol=1e-7)


def test_a_vocabulary_is_extended_by_what_its_sub_words_make(model):
    vectors, path = model
    plain = read_vectors(path, Policy(max_vocab=2))
    side = plain.normalise()
    more = side.extend(["One", "two", "new  word", "two"])  # the first is known
    assert more.words == [*side.words, "two", "new_word"]
    assert more.counts.tolist() == [*side.counts, 0, 0]
    want = side.normalisation.apply(np.stack([vectors["two"], vectors["new_word"]]))
    np.testing.assert_allclose(more.vectors[2:], want, atol=1e-6)
    np.testing.assert_array_equal(more.vectors[:2], side.vectors)
    assert side.extend(["one"]) is side


def test_hashes_are_those_of_fasttext():
    inner = pytest.importorskip("gensim.models.fasttext_inner")
    for gram in ("<on", "ü>", "日本語"):
        assert inner.ft_hash_bytes(gram.encode()) == fnv(gram.encode())


def test_a_model_without_sub_words_makes_nothing(tmp_path):
    from gensim.models.fasttext import FastText, save_facebook_model

    model = FastText([["one", "two"]] * 9, vector_size=4, min_count=1, max_n=0, bucket=5, epochs=1)
    save_facebook_model(model, str(tmp_path / "a.bin"))
    side = read_vectors(tmp_path / "a.bin")
    assert not side.subwords.vectors_of(["three"]).any()
    assert side.extend(["three"]).words == side.words


def test_what_is_wrong_with_a_model_is_told(model, tmp_path):
    _, path = model
    with pytest.raises(DataError, match="gone.bin: the fastText model, .* is gone; put it back"):
        FastTextBin(tmp_path / "gone.bin").vectors_of(["x"])
    (tmp_path / "cut.bin").write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match="cut.bin: not a valid fastText model"):
        FastTextBin(tmp_path / "cut.bin").vectors_of(["x"])
    side = read_vectors(path)
    with pytest.raises(DataError, match="8 dimensions, those of de 2; is it the file"):
        from dataclasses import replace

        replace(side, vectors=side.vectors[:, :2]).extend(["unseen"])


def test_only_fasttext_models_have_sub_words(model, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"1 1\na \0\0\0\0")
    (tmp_path / "a.vec").write_text("a 1")
    assert open_subwords(tmp_path / "a.bin") is None and open_subwords(tmp_path / "a.vec") is None
    assert read_vectors(model[1]).subwords == FastTextBin(model[1])
