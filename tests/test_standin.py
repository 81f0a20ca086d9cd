"""The rules of a GPU, without a GPU: who is on the device, who on the CPU, who brings them together."""

import pkgutil
import sys

import numpy as np
import pandas as pd
import pytest
import standin
import torch
from conftest import planted

import demalib
from demalib.alignment import load_alignment, save_alignment, translate
from demalib.baselines import muse, nonadv, selflearn, sinkhorn, wsprocrustes
from demalib.baselines.shared import Sizes
from demalib.config import Config
from demalib.evaluation import similarity
from demalib.evaluation.benchmark import Gold, follow_refinement, solve_and_judge
from demalib.explore import words
from demalib.export import export_alignment
from demalib.hints import Lexicon
from demalib.pair import make_pair, retrievers
from demalib.retrieval import Metric, k_occurrence
from demalib.solvers import SOLVERS, align
from demalib.teaching import released

SMALL = {
    muse: muse.Size(300, 8, 1, 3, 0.5),
    nonadv: nonadv.Size(200, 1, 1, 200, 1, 200, 1),
    selflearn: selflearn.Size(200, 1, 2),
    sinkhorn: sinkhorn.Size(200, 32, 2, 2, 5),
    wsprocrustes: wsprocrustes.Size(100, 2, 4),
}


@pytest.fixture(autouse=True)
def device(monkeypatch):
    for module in pkgutil.walk_packages(demalib.__path__, "demalib."):
        loaded = sys.modules.get(module.name)
        if loaded and hasattr(loaded, "make_generator"):
            monkeypatch.setattr(loaded, "make_generator", standin.make_generator)
        if loaded and hasattr(loaded, "get_device"):
            monkeypatch.setattr(loaded, "get_device", lambda: standin.DEVICE)
    for module, size in SMALL.items():
        monkeypatch.setattr(module, "SIZES", Sizes(size, size))
    monkeypatch.setattr(nonadv, "RESTARTS", 2)
    with standin.StandIn():
        yield


@pytest.fixture
def gold():
    forward = Lexicon([(f"src{i}", f"tgt{i}") for i in range(150, 300)], "test")
    return Gold(forward, forward.reverse())


def make(rng, solver="em"):
    src, tgt, _ = planted(rng, n=300, d=8, shared=60)
    train = Lexicon([(f"src{i}", f"tgt{i}") for i in range(60, 150)])
    pair = make_pair(src, tgt, train, normalisation=SOLVERS[solver].normalisation)
    config = Config("en-fr", solver).replace(steps=6, batch=32, validate_every=3)
    return pair, config


def test_the_stand_in_has_the_rules_of_a_gpu():
    here, there = torch.ones(3), torch.ones(3, device=standin.DEVICE)
    assert there.device == standin.DEVICE and here.device.type == "cpu"
    assert isinstance(there * 2, standin.Marked) and not isinstance(there.cpu(), standin.Marked)
    assert isinstance(here.to(there), standin.Marked) and isinstance(there[[0]], standin.Marked)
    assert float(there.sum()) == 3 and isinstance(there[torch.tensor([0])], standin.Marked)
    for mix in (lambda: here @ there, lambda: torch.cat([here, there]), lambda: here[there.long()]):
        with pytest.raises(RuntimeError, match="mixed"):
            mix()
    for leak in (lambda: there.numpy(), lambda: np.asarray(there), lambda: pd.DataFrame(there)):
        with pytest.raises(TypeError, match=r"use \.cpu\(\)"):
            leak()
    with pytest.raises(RuntimeError, match="generator"):
        torch.randn(3, generator=torch.Generator(), device=standin.DEVICE)


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver(rng, gold, name):
    pair, config = make(rng, name)
    assert isinstance(pair.x, standin.Marked)
    solved = solve_and_judge(pair, gold, config)
    assert not isinstance(solved.mapping.W_xy, standin.Marked)
    assert set(solved.judged) == {"aa-bb", "bb-aa"}


@pytest.mark.parametrize("selection", ["unsupervised", "supervised"])
def test_the_loop_picks_its_best_step(rng, selection):
    pair, config = make(rng, "gradient")
    align(pair, config.replace(selection=selection))


@pytest.mark.parametrize("ablate", ["density", "identical", "prior"])
@pytest.mark.parametrize("solver", ["em", "gradient"])
def test_ablations(rng, solver, ablate):
    pair, config = make(rng, solver)
    align(pair, config.replace(ablate=ablate))


def test_translate_save_and_export(rng, tmp_path):
    pair, config = make(rng)
    mapping = align(pair, config)
    assert len(translate(mapping, pair, ["src200", "src201"], k=3)) == 6
    save_alignment(tmp_path, mapping, pair)
    mapping, pair = load_alignment(tmp_path)
    for kind in ("vec", "word2vec", "npz", "dictionary"):
        export_alignment(mapping, pair, tmp_path, kind)
    assert mapping.transform(pair.src.vectors[:2]).shape == (2, 8)


def test_explore(rng):
    pair, config = make(rng)
    for direction in words.trace(pair, config):
        word = direction.src.words[200]
        assert len(words.translations(direction, word))
        words.hubs(direction), words.around(direction, word), words.clouds(direction)
        words.meeting(direction, torch.tensor([[200, 200], [201, 201]]))


def test_judging(rng, gold):
    pair, config = make(rng)
    mapping = align(pair, config)
    forward, _ = retrievers(mapping, pair)
    frame = similarity.graded_pairs(pair, gold.forward)
    similarity.cosines(frame, forward, pair.src, pair.tgt)
    similarity.correlate(frame, forward, pair.src, pair.tgt)
    assert k_occurrence(forward, Metric("csls")).sum() == 10 * len(pair.src)
    follow_refinement(pair, mapping.W_xy, config, 2, gold.forward)
    rows = torch.arange(5, device=pair.x.device)
    released.csls_d(pair.x, pair.y, rows)
