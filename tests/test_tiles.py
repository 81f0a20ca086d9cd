import pytest
import torch

from demalib import tiles
from demalib.retrieval import mean_top_cosine


@pytest.fixture
def spaces(gen):
    return (torch.randn(40, 6, generator=gen, dtype=torch.float64),
            torch.randn(50, 6, generator=gen, dtype=torch.float64))  # fmt: skip


def test_tiles_shrink_where_memory_is_short(monkeypatch):
    assert [part.stop for part in tiles.chunks(1000, 50)] == [1000]
    monkeypatch.setattr(tiles, "free_bytes", lambda: 16 * 50 * 400)
    assert [part.stop for part in tiles.chunks(1000, 50)] == [400, 800, 1000]
    monkeypatch.setattr(tiles, "free_bytes", lambda: 0)
    assert [part.stop for part in tiles.chunks(2, 50)] == [1, 2]


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
