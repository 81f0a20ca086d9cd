import dataclasses
from collections import Counter

import numpy as np
import pytest
import torch
from conftest import planted

from demalib import solvers
from demalib.config import Config
from demalib.errors import DataError
from demalib.hints import Lexicon
from demalib.normalisation import NORMALISATION
from demalib.pair import make_pair
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.solvers import SOLVERS, TABLED, align, get_solver, mixtures, seed_matters

QUICK = {"components": 200, "batch": 32, "steps": 20, "validate_every": 5}
LEXICON = Lexicon([(f"src{i}", f"tgt{i}") for i in range(150, 250)], "train")


@pytest.fixture
def pair(rng):
    src, tgt, _ = planted(rng, n=300, d=8, noise=0.05, shared=30)
    return make_pair(src, tgt, LEXICON)


def test_an_unknown_solver_lists_the_known_ones(pair):
    for ask in (lambda: get_solver("magic"), lambda: align(pair, Config(solver="magic"))):
        with pytest.raises(DataError, match="unknown solver 'magic'; use one of em, em.lexicon"):
            ask()
    with pytest.raises(DataError, match="unknown solver"):
        seed_matters(Config(solver="magic"))


def test_same_seed_same_map(pair):
    first, second = (align(pair, Config(seed=3)) for _ in range(2))
    assert torch.equal(first.W_xy, second.W_xy)


def test_without_settings_the_best_solver_without_a_lexicon_runs(pair):
    mapping = align(pair)
    assert (mapping.config.pair, mapping.config.solver) == ("aa-bb", "em")
    assert mapping.config.vectors == "files"


@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if s.watchable])
def test_whoever_watches_sees_every_round_and_changes_nothing(name, pair):
    seen, config = [], Config(solver=name).replace(**QUICK)

    def watch(at, W_xy, W_yx):
        seen.append((at, W_xy.clone(), W_yx.clone()))
        return {"seen": float(at)}

    watched, alone = align(pair, config, watch=watch), align(pair, config)
    assert torch.equal(watched.W_xy, alone.W_xy) and torch.equal(watched.W_yx, alone.W_yx)
    assert watched.history["seen"].tolist() == [at for at, *_ in seen]
    assert len(seen) == len(alone.history) > 1
    assert not torch.equal(seen[0][1], seen[-1][1]) and not torch.equal(seen[0][2], seen[-1][2])


@pytest.mark.parametrize("name", ["identical", "procrustes"])
def test_others_ignore_who_watches_and_where_to_go_on(name, pair, tmp_path):
    path, config = tmp_path / "c.safetensors", Config(solver=name).replace(**QUICK)
    assert not SOLVERS[name].watchable and not SOLVERS[name].resumes
    align(
        pair,
        config,
        watch=lambda *_: pytest.fail("it was called"),
        checkpoint=DiskCheckpoint(path),
    )
    assert not path.exists()


def test_a_checkpoint_of_the_gradient_loop_is_of_these_words_and_settings(pair, tmp_path):
    config = Config(solver="gradient").replace(**QUICK)
    first = align(pair, config, checkpoint=DiskCheckpoint(tmp_path / "c"))
    again = align(pair, config, checkpoint=DiskCheckpoint(tmp_path / "c"))
    assert torch.equal(first.W_xy, again.W_xy) and first.history.equals(again.history)
    words = dataclasses.replace(pair.src, vectors=np.roll(pair.src.vectors, 1) + 0.01)
    for other, settings in (
        (pair, config.replace(knn=3)),
        (pair, config.replace(rate=0.01)),
        (pair, config.replace(ablate="cycle")),
        (dataclasses.replace(pair, src=words), config),
        (dataclasses.replace(pair, identical=pair.identical[:9]), config),
    ):
        with pytest.raises(DataError, match="other settings or other vectors"):
            align(other, settings, checkpoint=DiskCheckpoint(tmp_path / "c"))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"solver": "identical", "dictionary": "both"}, "use one of s2t, t2s, union, mutual"),
        ({"solver": "gradient", "ablate": "everything"}, "everything"),
        ({"solver": "em", "ablate": "everything"}, "everything"),
        (
            {"solver": "gradient", "anneal": False, "rate": 1e30, "schedule": "decay"},
            "not finite at",
        ),
    ],
)
def test_what_the_core_refuses_is_a_data_error(settings, says, pair):
    with pytest.raises(DataError, match=says):
        align(pair, Config().replace(**QUICK, **settings))


@pytest.mark.parametrize(
    "name", [n for n, s in SOLVERS.items() if s.hint == "identical" and not n.startswith("em")]
)
def test_the_error_without_identical_words_says_what_to_do(name, rng):
    src, tgt, _ = planted(rng, n=100, d=8, shared=0)
    with pytest.raises(DataError, match="share 0 words .*--lexicon"):
        align(make_pair(src, tgt), Config(solver=name))


def test_without_its_hint_density_matching_needs_no_identical_word(rng):
    src, tgt, _ = planted(rng, n=100, d=8, shared=0)
    for name in ("em", "gradient"):
        config = Config(solver=name, ablate="identical").replace(**QUICK)
        assert torch.isfinite(align(make_pair(src, tgt), config).W_xy).all()


def test_a_supervised_selection_needs_a_lexicon_and_picks_by_it(pair):
    config = Config(solver="gradient").replace(**QUICK, selection="supervised")
    history = align(pair, config).history
    assert history[["criterion_xy", "criterion_yx"]].stack().between(0, 1).all()
    with pytest.raises(DataError, match="needs a train lexicon; use 'unsupervised' or 'last'"):
        align(dataclasses.replace(pair, train=None), config)


def test_the_unsupervised_selection_is_the_criterion_of_both_maps(pair):
    config = Config(solver="gradient", max_rank=150).replace(**QUICK, selection="unsupervised")

    def watch(step, W_xy, W_yx):
        return {
            "xy": solvers.dictionary_cosine(pair.x @ W_xy, pair.y, 150, 10),
            "yx": solvers.dictionary_cosine(pair.y @ W_yx, pair.x, 150, 10),
        }

    history = align(pair, config, watch=watch).history
    for name in ("xy", "yx"):
        np.testing.assert_allclose(history[f"criterion_{name}"], history[name])


def test_mixtures_are_of_the_most_frequent_words_with_the_settings_of_their_side(pair):
    counts = np.arange(300, 0, -1)
    pair = dataclasses.replace(pair, src=dataclasses.replace(pair.src, counts=counts))
    config = Config(sigma2_src=0.1, sigma2_tgt=0.2, tau=3.0).replace(
        components=50, noise_src=0.3, noise_tgt=0.4
    )
    src, tgt = mixtures(pair, config)
    assert torch.equal(src.centers, pair.x[:50]) and torch.equal(tgt.centers, pair.y[:50])
    assert (src.sigma2, src.noise, tgt.sigma2, tgt.noise) == (0.1, 0.3, 0.2, 0.4)
    assert src.tau == tgt.tau == 3.0
    torch.testing.assert_close(src.weights, torch.from_numpy(counts[:50] / counts[:50].sum()))


def test_the_seed_matters_where_the_map_depends_on_it(pair):
    assert not seed_matters(Config(solver="em")) and seed_matters(Config(solver="gradient"))
    assert seed_matters(Config(solver="em", ablate="identical"))
    for settings in ({"solver": "gradient"}, {"solver": "em", "ablate": "identical"}):
        first, other = (align(pair, Config(seed=s, **settings).replace(**QUICK)) for s in (0, 1))
        assert not torch.equal(first.W_xy, other.W_xy)


def test_every_system_of_the_tables_is_there_and_says_what_it_learns_from():
    assert {solver.hint for solver in SOLVERS.values()} == {"none", "identical", "train"}
    rows = Counter(SOLVERS[name].row for name in TABLED)
    assert all(rows) and {row for row, n in rows.items() if n > 1} == {"CSLS (w/o R)"}
    assert set(SOLVERS) - set(TABLED) == {
        *("em+lexicon", "vecmap", "vecmap-semi", "vecmap-identical", "c1")
    }
    for solver in SOLVERS.values():
        assert solver.paper and set(solver.normalisation) <= set(NORMALISATION)
        assert solver.sizes is None or type(solver.sizes.laptop) is type(solver.sizes.published)
