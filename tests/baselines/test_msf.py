import pytest
import torch
from conftest import lexicon, planted

from demalib.baselines import msf
from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import make_pair


def test_msf_needs_as_many_words_as_dimensions(rng):
    src, tgt, _ = planted(rng)
    with pytest.raises(DataError, match="msf needs 16 different words .* aa-bb lexicon, it has 15"):
        msf.fit(make_pair(src, tgt, lexicon(200, 215)), Config())


def test_msf_is_its_steps_one_by_one(gen):
    a, b = torch.randn(2, 60, 5, generator=gen, dtype=torch.float64)
    b = b + a
    (white_x, colour_x), (white_y, colour_y) = msf.whitening(a), msf.whitening(b)
    torch.testing.assert_close(white_x @ a.T @ a @ white_x, torch.eye(5, dtype=a.dtype))
    u, s, vt = torch.linalg.svd(white_x @ a.T @ b @ white_y)
    x, y = a @ white_x @ u, b @ white_y @ vt.T  # S1, S2
    y = y * s  # S3
    x, y = x @ u.T @ colour_x @ u, y @ vt @ colour_y @ vt.T  # S4
    P_x, P_y = msf.projections(a, b)
    torch.testing.assert_close(a @ P_x, x)
    torch.testing.assert_close(b @ P_y, y)
    assert msf.projections(a, b, keep=0.6)[1].shape == (5, 3)  # S5
