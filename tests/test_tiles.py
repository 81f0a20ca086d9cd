import pytest
import torch

from demalib import tiles
from demalib.retrieval import mean_top_cosine

CPU = torch.device("cpu")


@pytest.fixture
def spaces(gen):
    return [torch.randn(n, 6, generator=gen, dtype=torch.float64) for n in (40, 50)]


def test_tiles_shrink_where_memory_is_short(monkeypatch):
    assert [part.stop for part in tiles.chunks(1000, 50, CPU)] == [1000]
    monkeypatch.setattr(tiles, "free_bytes", lambda _: 16 * 50 * 400)
    assert [part.stop for part in tiles.chunks(1000, 50, CPU)] == [400, 800, 1000]
    monkeypatch.setattr(tiles, "free_bytes", lambda _: 0)
    assert [part.stop for part in tiles.chunks(2, 50, CPU)] == [1, 2]


def test_products_are_made_in_one_tile(spaces, monkeypatch):
    monkeypatch.setattr(tiles, "CHUNK_NUMBERS", 1)
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 7)  # and five at the end
    mapped, targets = spaces
    made = [(part, tile, tile.clone()) for part, tile in tiles.iter_products(*spaces)]
    assert [len(tile) for _, tile, _ in made] == [7, 7, 7, 7, 7, 5]
    assert len({tile.data_ptr() for _, tile, _ in made}) == 1
    for part, _, products in made:
        torch.testing.assert_close(products, mapped[part] @ targets.T)


def test_some_rows_in_any_order(spaces, monkeypatch):
    monkeypatch.setattr(tiles, "CHUNK_NUMBERS", 1)
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 2)
    mapped, targets = spaces
    rows = torch.tensor([7, 3, 3, 39, 0])
    made = [tile.clone() for _, tile in tiles.iter_products(mapped, targets, rows)]
    assert [len(tile) for tile in made] == [2, 2, 1]
    torch.testing.assert_close(torch.cat(made), mapped[rows] @ targets.T)


def test_vectors_that_are_being_trained_can_be_judged(spaces):
    mapped, targets = spaces
    want = mean_top_cosine(mapped, targets)
    torch.testing.assert_close(mean_top_cosine(mapped.clone().requires_grad_(), targets), want)


def test_a_negligible_weight_is_zero_and_no_weight_is_subnormal():
    bits = torch.tensor([0.0, -1.0, -62.0, -64.0, -64.5, -126.5, -140.0, -1e4, -torch.inf])
    weights = tiles.weigh_(bits.clone())
    torch.testing.assert_close(weights[:3], bits[:3].exp2(), rtol=1e-6, atol=0)
    assert not weights[3:].any()


def test_log_sums_are_exact_far_below_zero():
    parts = torch.tensor([[-500.0, -501.0], [-1e4, -3.0]])
    want = torch.logsumexp(parts.double() * 0.6931471805599453, 1) / 0.6931471805599453
    torch.testing.assert_close(tiles.log2_sum(parts, 1).double(), want, rtol=1e-6, atol=1e-6)
