import pytest
import torch
from conftest import planted

from demalib import em
from demalib.config import Config
from demalib.device import free_bytes, on_device, pick, seeded
from demalib.files import DataError
from demalib.mapping import make_pair


def test_the_device_is_the_one_that_is_named(monkeypatch):
    monkeypatch.setenv("DEMALIB_DEVICE", "cpu")
    assert pick() == torch.device("cpu")
    monkeypatch.setenv("DEMALIB_DEVICE", "nonsense")
    with pytest.raises(DataError, match="DEMALIB_DEVICE=nonsense: no such device here"):
        pick()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_said_in_one_line(monkeypatch):
    monkeypatch.setenv("DEMALIB_DEVICE", "cuda:3")
    with pytest.raises(DataError) as error:
        pick()
    assert "cuda:3" in str(error.value) and "\n" not in str(error.value)


def test_tensors_are_made_where_the_device_is(monkeypatch):
    monkeypatch.setenv("DEMALIB_DEVICE", "meta")  # a device of shapes without numbers
    made = on_device(lambda: [torch.arange(3), torch.zeros(2), torch.eye(2)])()
    assert {tensor.device.type for tensor in made} == {"meta"}
    assert torch.arange(3).device.type == "cpu"


def test_same_seed_same_numbers():
    first, again = (torch.rand(5, generator=seeded(7)) for _ in range(2))
    assert torch.equal(first, again)


def test_em_takes_fewer_words_where_memory_is_short(rng, monkeypatch):
    assert free_bytes() > 1_000_000
    src, tgt, q = planted(rng, n=600, noise=0.05)
    pair = make_pair(src, tgt)
    monkeypatch.setattr(em, "free_bytes", lambda: 8 * 300**2)
    with pytest.warns(UserWarning, match="room for 300, which are used"):
        mapping = em.fit_em(pair, Config())
    assert set(mapping.history["words"]) == {300}
    torch.testing.assert_close(em.orthogonal_factor(mapping.W_xy), q.float(), atol=0.05, rtol=0)
