"""No solver makes subnormal numbers, which some CPUs handle a hundred times more slowly."""

import pytest
import torch
from conftest import planted
from subnormal import CountSubnormals
from torch.nn.functional import normalize

from demalib.baselines.sinkhorn import transport
from demalib.config import Config
from demalib.em import choose_sigma2
from demalib.flow import random_orthogonal
from demalib.hints import Lexicon
from demalib.matching import e_step
from demalib.mixture import WordMixture
from demalib.pair import make_pair
from demalib.retrieval import Metric, Retriever
from demalib.solvers import SOLVERS, align


@pytest.fixture
def far(gen):
    """Words that are far apart under a random map: most weights are negligible."""
    x, y = normalize(torch.randn(2, 400, 50, generator=gen), dim=-1)
    return x, y, random_orthogonal(50, gen)


def test_the_counter_counts():
    tiny = torch.tensor([1e-40, 1.0, 0.0])
    with CountSubnormals() as seen:
        tiny.add(0.0)
        torch.mm(torch.full((1, 2), 1e-20), torch.full((2, 1), 1e-20))
    assert seen.count == 5 and set(seen.where) == {"add", "mm"}


@pytest.mark.parametrize("sigma2", [0.001, 0.003, 0.01, 0.1])
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_the_e_step(far, sigma2, beta):
    x, y, W = far
    with CountSubnormals() as seen:
        e_step(WordMixture(x, sigma2), WordMixture(y, sigma2), W, beta)
    assert seen.count == 0, seen.where


@pytest.mark.parametrize("sigma2", [0.001, 0.003, 0.01, 0.1])
@pytest.mark.parametrize("tile", [None, (100, 30)])
def test_the_log_density_and_its_gradient(far, sigma2, tile):
    x, y, W = far
    W.requires_grad_()
    with CountSubnormals() as seen:
        WordMixture(y, sigma2).log_prob(x @ W, torch.arange(1, 401), tile=tile).mean().backward()
        WordMixture(y, sigma2).posterior(x @ W, entropy=True, tile=tile)
    assert seen.count == 0, seen.where


def test_the_choice_of_the_variance(far):
    x, y, W = far
    with CountSubnormals() as seen:
        choose_sigma2(x, y, W, 1.1)
    assert seen.count == 0, seen.where


@pytest.mark.parametrize("name", ["nn", "isf", "csls", "csls-d"])
def test_retrieval(far, name):
    x, y, W = far
    with CountSubnormals() as seen:
        Retriever(x @ W, y).translate(torch.arange(400), Metric(name, beta=60.0))
    assert seen.count == 0, seen.where


@pytest.mark.parametrize("sharpness", [10.0, 20.0, 300.0])
def test_transport(far, sharpness):
    x, y, W = far
    cost = (1 - x @ W @ y.T).requires_grad_()
    with CountSubnormals() as seen:
        (transport(cost, sharpness, 20) * cost).sum().backward()
    assert seen.count == 0, seen.where


QUICK = [name for name, solver in SOLVERS.items() if not solver.sizes]


@pytest.mark.parametrize(
    ("name", "ablate"),
    [*((name, "") for name in QUICK), ("em", "identical"), ("gradient", "identical")],
)
def test_whole_solves(rng, name, ablate):
    src, tgt, _ = planted(rng, n=300, d=12, noise=0.3)
    train = Lexicon([(f"both{i}", f"both{i}") for i in range(100)])
    pair = make_pair(src, tgt, train, normalisation=SOLVERS[name].normalisation)
    config = Config(solver=name, ablate=ablate).replace(steps=5, batch=64)
    with CountSubnormals() as seen:
        align(pair, config)
    assert seen.count == 0, seen.where
