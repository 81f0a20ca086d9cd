import numpy as np
import pytest
import torch
from conftest import planted

from demalib.config import Config
from demalib.data.tensors import load_mapping, read_tensors, save_mapping, write_tensors
from demalib.errors import DataError
from demalib.pair import Mapping, make_pair
from demalib.solvers import align


@pytest.fixture
def fitted(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt)
    return src, pair, align(pair, Config(refinements=2))


def test_round_trip(fitted, tmp_path):
    src, _, mapping = fitted
    save_mapping(tmp_path / "m.safetensors", mapping)
    again = load_mapping(tmp_path / "m.safetensors")
    torch.testing.assert_close(again.W_xy, mapping.W_xy, rtol=0, atol=0)
    torch.testing.assert_close(again.W_yx, mapping.W_yx, rtol=0, atol=0)
    assert again.info == mapping.info
    np.testing.assert_array_equal(again.transform(src.vectors), mapping.transform(src.vectors))
    assert [path.name for path in tmp_path.glob("*safe*")] == ["m.safetensors"]


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"<html>", lambda raw: b""]
)
def test_a_damaged_file_is_said(fitted, tmp_path, damage):
    path = tmp_path / "m.safetensors"
    save_mapping(path, fitted[2])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="not a valid mapping"):
        load_mapping(path)


def test_a_space_that_both_directions_share_is_kept(rng, tmp_path):
    src, tgt, _ = planted(rng)
    pair, P, Q = make_pair(src, tgt), torch.eye(16), 2 * torch.eye(16)
    mapping = Mapping.of(P, Q, pair, Config(), P_y=Q, P_x=P)
    save_mapping(tmp_path / "m.safetensors", mapping)
    again = load_mapping(tmp_path / "m.safetensors")
    for name, want in (("W_xy", P), ("W_yx", Q), ("P_y", Q), ("P_x", P)):
        torch.testing.assert_close(getattr(again, name), want)


def test_tensors_and_texts_come_back_bit_for_bit(tmp_path, gen):
    tensors = {"a": torch.randn(3, 4, generator=gen), "b": torch.arange(5), "c": torch.zeros(())}
    write_tensors(tmp_path / "t.safetensors", tensors, {"facts": "日本"})
    again, texts = read_tensors(tmp_path / "t.safetensors")
    assert texts == {"facts": "日本"} and again.keys() == tensors.keys()
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
    (tmp_path / "t.safetensors").write_bytes(b"")  # no view of the file is left
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "t.safetensors"
    write_tensors(path, {"a": torch.ones(2)}, {})
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_tensors(path, {"a": torch.zeros(2)}, {"facts": 1})
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"t.safetensors"}


@pytest.mark.parametrize("name", ["W_xy", "W_yx", "P_y", "P_x"])
def test_a_map_of_another_dimension_is_refused(name, fitted, tmp_path):
    save_mapping(tmp_path / "m.safetensors", fitted[2])
    tensors, texts = read_tensors(tmp_path / "m.safetensors")
    write_tensors(tmp_path / "m.safetensors", tensors | {name: torch.eye(15)}, texts)
    with pytest.raises(DataError, match="not of (one|the) dimension"):
        load_mapping(tmp_path / "m.safetensors")


def test_a_missing_file_says_what_writes_one(tmp_path):
    with pytest.raises(DataError, match=r"none\.safetensors: no such mapping; 'demalib align'"):
        load_mapping(tmp_path / "none.safetensors")
