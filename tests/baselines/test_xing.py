import torch
from conftest import lexicon, planted

from demalib.baselines import xing
from demalib.config import Config
from demalib.pair import make_pair
from demalib.procrustes import orthogonal_factor


def test_xing_rests_where_the_paper_s_steps_rest(rng):
    src, tgt, _ = planted(rng, noise=0.5)
    pair = make_pair(src, tgt, lexicon(), normalisation=("unit",))
    W = xing.fit(pair, Config()).W_xy
    gradient = pair.x[pair.train[:, 0]].T @ pair.y[pair.train[:, 1]]
    torch.testing.assert_close(orthogonal_factor(W + 0.1 * gradient), W, atol=1e-5, rtol=0)
