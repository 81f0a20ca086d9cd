import numpy as np
import pytest
from conftest import planted

from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.normalisation import Normalisation


def test_normalisation_is_unit_and_nearly_centred(rng):
    emb = Embedding([f"w{i}" for i in range(500)], rng.random((500, 6)).astype(np.float32))
    done = emb.normalise()
    np.testing.assert_allclose(np.linalg.norm(done.vectors, axis=1), 1, rtol=1e-5)
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(done.normalisation.means[0], unit.mean(axis=0), rtol=1e-4)


def test_new_words_get_the_mean_of_the_training_words(rng):
    src, _, _ = planted(rng)
    done = src.normalise()
    np.testing.assert_allclose(done.normalisation.apply(src.vectors), done.vectors, atol=1e-6)
    one = done.normalisation.apply(src.vectors[7:8])  # alone, it must not be its own mean
    np.testing.assert_allclose(one[0], done.vectors[7], atol=1e-6)


def test_normalising_twice_remembers_both(rng):
    src, _, _ = planted(rng)
    once = src.normalise(("unit", "center", "unit", "center", "unit"))
    twice = src.normalise(("unit", "center", "unit")).normalise(("center", "unit"))
    np.testing.assert_allclose(once.vectors, twice.vectors, atol=1e-6)
    assert twice.normalisation.steps == once.normalisation.steps
    np.testing.assert_allclose(twice.normalisation.apply(src.vectors), once.vectors, atol=1e-6)


def test_zero_vectors_stay_finite():
    emb = Embedding(["a", "b"], np.zeros((2, 3), np.float32))
    assert np.isfinite(emb.normalise().vectors).all()


@pytest.mark.parametrize("step", ["whiten", "pad", "pad0", "pad-1", "pad1.5", "pad²"])
def test_an_unknown_step_is_refused(step):
    with pytest.raises(DataError, match=f"unknown step '{step}'"):
        Normalisation((step,)).apply(np.ones((1, 2)))


def test_padding_appends_zeros_and_is_remembered(rng):
    src, _, _ = planted(rng)
    wide = src.normalise().pad(20)
    assert wide.normalisation.steps[-1] == "pad4" and wide.normalisation.raw_dim(20) == 16
    np.testing.assert_array_equal(wide.vectors[:, :16], src.normalise().vectors)
    assert not wide.vectors[:, 16:].any()
    np.testing.assert_allclose(wide.normalisation.apply(src.vectors), wide.vectors, atol=1e-6)
    assert wide.pad(20) is wide and wide.pad(8) is wide
