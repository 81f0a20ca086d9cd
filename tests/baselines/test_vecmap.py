import pytest
import torch
from conftest import lexicon, planted

from demalib.baselines import vecmap
from demalib.baselines.msf import whitening
from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import make_pair, retrievers
from demalib.retrieval import Metric
from demalib.solvers import SOLVERS


def test_vecmap_is_the_published_formula(rng):
    src, tgt, _ = planted(rng, noise=0.3)
    pair = make_pair(src, tgt, lexicon(200, 300))
    mapping = vecmap.fit(pair, Config())
    a, b = (side[200:300].double() for side in (pair.x, pair.y))
    (white_x, colour_x), (white_y, colour_y) = whitening(a), whitening(b)
    u, s, vt = torch.linalg.svd(white_x @ a.T @ b @ white_y)
    x = pair.x.double() @ white_x @ u * s.sqrt() @ u.T @ colour_x @ u
    y = pair.y.double() @ white_y @ vt.T * s.sqrt() @ vt @ colour_y @ vt.T
    ours = (pair.x @ mapping.W_xy) @ (pair.y @ mapping.P_y).T
    torch.testing.assert_close(ours.double(), x @ y.T, rtol=1e-3, atol=1e-3)


def test_vecmap_needs_as_many_words_as_dimensions(rng):
    src, tgt, _ = planted(rng)
    with pytest.raises(DataError, match="vecmap needs 16 different words"):
        vecmap.fit(make_pair(src, tgt, lexicon(200, 215)), Config())


def test_a_small_seed_grows_by_self_learning(rng):
    src, tgt, _ = planted(rng, noise=0.1)
    few = make_pair(src, tgt, lexicon(200, 214))  # fewer words than dimensions
    found = vecmap.fit_semi(few, Config())
    for retriever in retrievers(found, few):
        rows = torch.arange(len(retriever.mapped))
        best = retriever.translate(rows, Metric("csls"), 1)[1][:, 0]
        assert best.eq(rows).float().mean() > 0.95


def test_the_identical_variant_is_the_row_of_the_tables():
    assert SOLVERS["vecmap-identical"].fit is SOLVERS["sl-unsup-id"].fit
