import numpy as np
import pytest
import torch
from conftest import planted

from demalib.config import Config, preset
from demalib.files import DataError
from demalib.mapping import Mapping, make_pair
from demalib.pipeline import align


@pytest.fixture
def fitted(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt)
    return src, pair, align(pair, Config(refinements=2))


def test_round_trip(fitted, tmp_path):
    src, _, mapping = fitted
    mapping.save(tmp_path / "m.safetensors")
    again = Mapping.load(tmp_path / "m.safetensors")
    torch.testing.assert_close(again.W_xy, mapping.W_xy, rtol=0, atol=0)
    torch.testing.assert_close(again.W_yx, mapping.W_yx, rtol=0, atol=0)
    assert again.info == mapping.info
    np.testing.assert_array_equal(again.transform(src.vectors), mapping.transform(src.vectors))
    assert [path.name for path in tmp_path.glob("*safe*")] == ["m.safetensors"]


def test_transform_maps_raw_words_as_training_did(fitted):
    src, pair, mapping = fitted
    want = torch.nn.functional.normalize(pair.x @ mapping.W_xy, dim=1).numpy()
    np.testing.assert_allclose(mapping.transform(src.vectors), want, atol=1e-5)
    np.testing.assert_allclose(mapping.transform(src.vectors[3]), want[3:4], atol=1e-5)


def test_transform_refuses_another_dimension(fitted):
    with pytest.raises(DataError, match="16 dimensions, the vectors 5"):
        fitted[2].transform(np.ones((1, 5)))


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"<html>", lambda raw: b""]
)
def test_a_damaged_file_is_said(fitted, tmp_path, damage):
    path = tmp_path / "m.safetensors"
    fitted[2].save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="not a whole mapping"):
        Mapping.load(path)


def test_same_seed_same_map(rng):
    src, tgt, _ = planted(rng)
    pair = make_pair(src, tgt)
    first, second = (align(pair, Config(seed=3)) for _ in range(2))
    assert torch.equal(first.W_xy, second.W_xy)


def test_unknown_names_list_the_known_ones(rng):
    with pytest.raises(DataError, match="unknown pair 'en-xx'; .*en-fr, en-ja.*en-es"):
        preset("en-xx")
    assert preset("ja-en").vectors == "registry" and preset("tr-en").vectors == "muse"
    src, tgt, _ = planted(rng)
    with pytest.raises(DataError, match="unknown solver 'magic'; use one of"):
        align(make_pair(src, tgt), Config(solver="magic"))


def test_a_space_that_both_directions_share_is_kept(rng, tmp_path):
    src, tgt, _ = planted(rng)
    pair, P, Q = make_pair(src, tgt), torch.eye(16), 2 * torch.eye(16)
    Mapping.of(P, Q, pair, Config(), C_y=Q, C_x=P).save(tmp_path / "m.safetensors")
    again = Mapping.load(tmp_path / "m.safetensors")
    for name, want in (("W_xy", P), ("W_yx", Q), ("C_y", Q), ("C_x", P)):
        torch.testing.assert_close(getattr(again, name), want)
