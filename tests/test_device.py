import pytest
import torch

from demalib.device import get_device, make_generator
from demalib.errors import DataError


def test_the_device_is_the_one_that_is_named(monkeypatch):
    monkeypatch.setenv("DEMALIB_DEVICE", "cpu")
    assert get_device() == torch.device("cpu")
    monkeypatch.setenv("DEMALIB_DEVICE", "nonsense")
    with pytest.raises(DataError, match="DEMALIB_DEVICE=nonsense: no such device here"):
        get_device()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_said_in_one_line(monkeypatch):
    monkeypatch.setenv("DEMALIB_DEVICE", "cuda:3")
    with pytest.raises(DataError) as error:
        get_device()
    assert "cuda:3" in str(error.value) and "\n" not in str(error.value)


def test_same_seed_same_numbers():
    first, again = (torch.rand(5, generator=make_generator(7, get_device())) for _ in range(2))
    assert torch.equal(first, again)
