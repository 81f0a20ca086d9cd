"""What every system of the tables promises, each on its own normalisation and settings."""

import pytest
import torch
from conftest import lexicon, planted, shaped_pair

from demalib.baselines import selflearn, wsprocrustes
from demalib.config import Config
from demalib.errors import DataError
from demalib.pair import make_pair, retrievers
from demalib.retrieval import METRICS, Metric
from demalib.solvers import SOLVERS

LEARNERS = [name for name, rival in SOLVERS.items() if rival.hint == "train"]
OURS = ("em", "gradient")
NAMES = [n for n, solver in SOLVERS.items() if solver.hint != "train" and n not in OURS]


def hits(mapping, pair, metric):
    """P@1 of the planted pairs, the worse of both directions."""
    out = []
    for found in retrievers(mapping, pair):
        rows = torch.arange(len(found.mapped))
        best = found.translate(rows, metric, 1)[1][:, 0]
        out.append(float(best.eq(rows).float().mean()))
    return min(out)


# ---------------------------------------------------------------- with a train lexicon


def learn(name, src, tgt, train=None, back=None):
    """A rival on its own normalisation and settings."""
    rival = SOLVERS[name]
    pair = make_pair(src, tgt, train, back, normalisation=rival.normalisation)
    return pair, rival.fit(pair, Config())


@pytest.mark.parametrize("name", LEARNERS)
def test_a_planted_rotation_is_found_both_ways(name, rng):
    src, tgt, _ = planted(rng, noise=0.1)
    pair, mapping = learn(name, src, tgt, lexicon())
    assert hits(mapping, pair, Metric("nn")) > 0.99
    assert hits(mapping, pair, SOLVERS[name].metric) > 0.99


@pytest.mark.parametrize("name", LEARNERS)
def test_same_input_same_map(name, rng):
    src, tgt, _ = planted(rng)
    _, first = learn(name, src, tgt, lexicon())
    _, again = learn(name, src, tgt, lexicon())
    assert torch.equal(first.W_xy, again.W_xy) and torch.equal(first.W_yx, again.W_yx)
    assert first.W_xy.dtype == torch.float32 and first.W_xy.shape == (16, 16)


@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if not s.seeded])
def test_a_seed_changes_nothing_where_it_is_said_not_to_matter(name, rng):
    src, tgt, _ = planted(rng)
    solver = SOLVERS[name]
    pair = make_pair(src, tgt, lexicon(), normalisation=solver.normalisation)
    first, other = (solver.fit(pair, Config(seed=seed)) for seed in (0, 1))
    assert torch.equal(first.W_xy, other.W_xy) and torch.equal(first.W_yx, other.W_yx)


@pytest.mark.parametrize("name", LEARNERS)
def test_each_direction_learns_from_its_own_lexicon(name, rng):
    src, tgt, _ = planted(rng)
    _, alone = learn(name, src, tgt, lexicon())
    _, mixed = learn(name, src, tgt, lexicon(), lexicon(shift=1).reverse())
    torch.testing.assert_close(mixed.W_xy, alone.W_xy)
    if name not in ("artetxe17", "procrustes-r"):  # these recover from a wrong lexicon, or drift
        back = [(m.W_yx if m.P_x is None else m.W_yx @ m.P_x.T) for m in (mixed, alone)]
        assert not torch.allclose(*back, atol=0.02)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "artetxe17"])
def test_a_missing_lexicon_is_said(name, rng):
    src, tgt, _ = planted(rng)
    with pytest.raises(DataError, match="learns from a dictionary"):
        learn(name, src, tgt)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_table_is_whole(name):
    rival = SOLVERS[name]
    assert (
        rival.paper
        and rival.metric.name in METRICS
        and set(rival.normalisation) <= {"unit", "center"}
    )


# ---------------------------------------------------------------- with less, or with nothing


def run(name, pair, **settings):
    return SOLVERS[name].fit(pair, Config(**settings))


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_turn_is_found_both_ways(name, rng):
    pair = shaped_pair(rng)
    mapping = run(name, pair)
    assert hits(mapping, pair, SOLVERS[name].metric) > 0.97
    assert mapping.W_xy.dtype == torch.float32 and mapping.W_xy.shape == (5, 5)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("muse", "sinkhorn")])
def test_any_turn_is_found_where_nothing_adversarial_is_trained(name, rng):
    pair = shaped_pair(rng, angle=3.0)
    assert hits(run(name, pair), pair, SOLVERS[name].metric) > 0.97


@pytest.mark.parametrize("name", [n for n in NAMES if n != "non-adv-r"])
def test_same_seed_same_map_without_a_lexicon(name, rng):
    pair = shaped_pair(rng, n=150)
    first, again = (run(name, pair, seed=3) for _ in range(2))
    assert torch.equal(first.W_xy, again.W_xy) and torch.equal(first.W_yx, again.W_yx)


@pytest.mark.parametrize("name", [n for n in NAMES if SOLVERS[n].hint == "none"])
def test_too_few_words_are_refused(name, rng):
    with pytest.raises(DataError, match=r"needs more than 5 words per side.*aa has 5"):
        run(name, shaped_pair(rng, n=5))


@pytest.mark.parametrize("name", [n for n in NAMES if SOLVERS[n].hint == "identical"])
def test_missing_identical_words_are_named(name, rng):
    with pytest.raises(DataError, match="share 0 words"):
        run(name, shaped_pair(rng, shared=0))


def test_sizes_of_the_paper_are_clamped_to_the_vocabulary(rng, monkeypatch):
    pair = shaped_pair(rng, n=150)
    for module, fewer in ((selflearn, {"patience": 2}), (wsprocrustes, {"steps": 20})):
        published = module.PUBLISHED._replace(**fewer)
        monkeypatch.setattr(module, "SIZES", module.SIZES._replace(published=published))
    for name in ("sl-unsup", "ws-procrustes"):
        assert hits(run(name, pair, recipe="paper"), pair, SOLVERS[name].metric) > 0.97
