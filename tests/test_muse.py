"""Figures on real vectors and MUSE's official test words, beside those known to be reachable."""

import pytest

from demalib import align, load_gold, load_pair, preset
from demalib.evaluation.benchmark import evaluate, summarise

# CSLS P@1 in percent, source to target and back: the prototype's figures
KNOWN = {
    ("en-fr", "procrustes"): (77.6, 72.0),
    ("en-ja", "procrustes"): (55.0, 48.0),
    ("en-ru", "procrustes"): (44.5, 45.0),
    ("en-fr", "identical"): (76.5, 70.7),
    ("en-ja", "identical"): (0.9, 0.2),
    ("en-ru", "identical"): (17.8, 20.9),
}


# ... and what density matching has to reach without a dictionary
WANTED = {"en-fr": (78.5, 74), "en-ja": (56, 50), "en-ru": (39, 41.5)}


def figures(pair, solver, muse):
    config = preset(pair, solver=solver, lexicons="muse")
    spaces, gold = load_pair(config), load_gold(config)
    mapping = align(spaces, config)
    results = summarise(evaluate(mapping, spaces, gold, config, ("csls",)), gold)
    got = [100 * by_metric["csls"]["p@1"] for by_metric in results.values()]
    print(pair, solver, [round(p, 1) for p in got])
    return got


def others_are_long(quick, keys):
    """Mark all but the quick ones: the rest takes minutes and runs with ``make bench``."""
    return [key if key in quick else pytest.param(*key, marks=pytest.mark.long) for key in keys]


@pytest.mark.heavy
@pytest.mark.parametrize(("pair",), others_are_long({("en-ja",)}, [(pair,) for pair in WANTED]))
def test_em_needs_no_dictionary(real_cache, muse, pair):
    forward, backward = figures(pair, "em", muse)
    assert forward >= WANTED[pair][0] and backward >= WANTED[pair][1]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("pair", "solver"), others_are_long({("en-fr", "procrustes"), ("en-fr", "identical")}, KNOWN)
)
def test_known_figures(real_cache, muse, pair, solver):
    got = figures(pair, solver, muse)
    assert got == pytest.approx(KNOWN[pair, solver], abs=1 if solver == "procrustes" else 2)
