import pytest
import torch
from conftest import lexicon, planted
from torch.nn.functional import normalize

from demalib.baselines import artetxe17
from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import make_pair
from demalib.procrustes import procrustes


def hits(mapped, targets):
    """The part of the planted pairs that are nearest neighbours."""
    cosine = normalize(mapped, dim=1) @ normalize(targets, dim=1).T
    return float(cosine.argmax(dim=1).eq(torch.arange(len(mapped))).float().mean())


def test_artetxe17_needs_few_pairs(rng):
    src, tgt, _ = planted(rng, n=800, d=20, noise=0.05, shared=15)
    pair = make_pair(src, tgt, lexicon(200, 215))
    seed = procrustes(pair.x[pair.train[:, 0]], pair.y[pair.train[:, 1]])
    assert hits(pair.x @ seed, pair.y) < 0.9
    assert hits(pair.x @ artetxe17.fit(pair, Config()).W_xy, pair.y) > 0.99
    pair = make_pair(src, tgt)  # identical words serve as well
    assert hits(pair.x @ artetxe17.fit(pair, Config()).W_xy, pair.y) > 0.99


def test_artetxe17_says_that_it_has_no_seed(rng):
    src, tgt, _ = planted(rng, shared=0)
    with pytest.raises(DataError, match="share 0 words"):
        artetxe17.fit(make_pair(src, tgt), Config())


def test_the_nearest_target_has_the_largest_product_and_lengths_count(gen):
    mapped, targets = torch.randn(9, 4, generator=gen), torch.randn(7, 4, generator=gen)
    values, rows = artetxe17.nearest(mapped, targets)
    table = mapped @ targets.T
    torch.testing.assert_close(values, table.amax(dim=1))
    assert rows.tolist() == table.argmax(dim=1).tolist()
