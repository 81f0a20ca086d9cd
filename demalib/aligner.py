"""One aligner for whatever is known: nothing, the spelling, a few pairs, thousands.

Hints that need no dictionary say where EM starts; pairs of a dictionary clamp it. A quick trial
without some of the hints chooses the last step and says whether the alignment worked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from demalib import em, trial
from demalib.baselines.shared import train_rows
from demalib.config import Config
from demalib.device import make_generator
from demalib.finish import LAST, Finished, finish
from demalib.flow import Watch, random_orthogonal
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes
from demalib.shapes import climb

ABLATIONS = ("density", "identical", "prior")
LEXICON = 50  # a lexicon with at least this many query words is tested; a smaller one is not
TENTH, FOURTH = 10, 4  # the test holds out every tenth query of the lexicon, or every fourth hint
FEWEST = 10  # hints; from fewer EM starts as if there were none


class Fit(NamedTuple):
    """One fit: the maps, the rounds, and what is known about it."""

    maps: Finished
    history: pd.DataFrame
    facts: dict[str, Any]


def fit(pair: Pair, config: Config, watch: Watch | None = None) -> Mapping:
    """Align a pair by agreement EM with all that is known about it.

    Args:
        pair: Two spaces; its train lexicon, if there is one, is believed.
        config: ``hints``, ``last``, ``tau``, ``knn`` and ``ablate``: ``density`` (Procrustes on
            the identical words alone), ``identical`` (no hint and a random start) or ``prior``
            (no rank prior). An orthogonal map and its transpose are tied, so there is no cycle
            loss to leave out.
        watch: See :func:`demalib.em.anneal`.

    Returns:
        The mapping; its ``info`` has the number of hints by kind, the last step and the verdict.
        Where each direction has a train lexicon of its own, each has a fit of its own.
    """
    if config.ablate not in ("", *ABLATIONS):
        raise ValueError(
            f"solver 'em' has no part {config.ablate!r} to ablate; use {', '.join(ABLATIONS)}"
        )
    if config.last not in ("auto", *LAST):
        raise ValueError(f"unknown last {config.last!r}; use auto or one of {', '.join(LAST)}")
    if config.ablate == "density":
        return Mapping.orthogonal(procrustes(*pair.hint(config)), pair, config)
    forward = fit_one(pair, config, watch)
    W_xy, W_yx, P_y, P_x = forward.maps
    if pair.train is not None and pair.train_back is not None and not _same_pairs(pair):
        backward = fit_one(pair.swap(), config)
        W_yx, P_x = backward.maps.W_xy, backward.maps.P_y
    mapping = Mapping.of(W_xy, W_yx, pair, config, forward.history, P_y=P_y, P_x=P_x)
    mapping.info.update(forward.facts)
    return mapping


def fit_with_lexicon(pair: Pair, config: Config, watch: Watch | None = None) -> Mapping:
    """Align a pair as :func:`fit` does; refuse one without a train lexicon."""
    train_rows(pair, "em+lexicon")
    return fit(pair, config, watch)


def fit_one(pair: Pair, config: Config, watch: Watch | None = None) -> Fit:
    """Fit both directions at once, clamped to the source side's lexicon if there is one."""
    x, y = pair.x, pair.y
    hints, known = pair.hints(config), np.empty((0, 2), dtype=np.int64)
    if pair.train is not None and config.ablate != "identical":
        known = np.unique(pair.train, axis=0)
    options: dict[str, Any] = {
        "tau": config.tau,
        "by_rank": config.ablate != "prior",
        "knn": config.knn,
    }

    def run(soft: np.ndarray, certain: np.ndarray, schedule: Any, watch: Any = None) -> em.Annealed:
        """Start from the soft hints and the certain ones, and anneal with the latter clamped."""
        weight = torch.from_numpy(hints.weight[soft]).to(x)[:, None]
        rows = torch.from_numpy(np.concatenate([hints.rows[soft], certain])).to(x.device)
        a = torch.cat([x[rows[: len(weight), 0]] * weight, x[rows[len(weight) :, 0]]])
        W = em.start_map(a.T @ y[rows[:, 1]])
        clamped = torch.from_numpy(certain).to(x.device)
        plan = em.plan(len(np.unique(certain[:, 0])), schedule)
        return em.anneal(x, y, W, clamped, watch=watch, schedule=plan, **options)

    steps = LAST if config.last == "auto" else (config.last,)
    last, held_out, found = steps[0], "", {}
    if len(hints.rows) + len(known) >= FEWEST:
        held_out, out, some, rest = _held_out(hints.rows, known)
        if len(out):
            quick = run(some, rest, trial.QUICK)
            clamped = torch.from_numpy(rest[(rest < trial.WORDS).all(axis=1)]).to(x.device)
            for step in steps:
                maps = finish(step, x[: trial.WORDS], y[: trial.WORDS], quick.evidence, clamped)
                found[step] = trial.positions(maps, x, y, out)
            last = trial.choose_last(found)
        annealed = run(np.ones(len(hints.rows), dtype=bool), known, em.SCHEDULE, watch)
    else:
        annealed = em.anneal(x, y, _start_without_hints(pair, config), watch=watch, **options)
    maps = finish(last, x, y, annealed.evidence, torch.from_numpy(known).to(x.device))
    places, agreement = found.get(last, np.empty(0)), None
    if len(places) < trial.FEWEST:
        by_rank = config.ablate != "prior"
        agreement = trial.agree(x, y, annealed.evidence.cross, config.tau, by_rank)
    verdict = trial.give_verdict(maps, x, y, held_out, places, agreement)
    counts = hints.counts | ({"lexicon": len(known)} if pair.train is not None else {})
    tried = {step: float((places <= 1).mean()) for step, places in found.items()}
    facts = {"hints": counts, "last": last, "tried": tried, "verdict": verdict.to_dict()}
    return Fit(maps, annealed.history, facts)


def _held_out(
    rows: np.ndarray, known: np.ndarray
) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    """Choose what is held out.

    Returns:
        Its kind; its rows, ``(h, 2)``; which of the soft hints share no word with it, ``(K,)``
        bool; and the known pairs that share none, ``(k, 2)``.
    """
    if len(np.unique(known[:, 0])) >= LEXICON:
        held, kind = known[trial.hold_out(known, TENTH)], "pairs of the lexicon"
    else:
        held, kind = rows[trial.hold_out(rows, FOURTH)], "words of like spelling"
    soft, certain = (
        ~(np.isin(pairs[:, 0], held[:, 0]) | np.isin(pairs[:, 1], held[:, 1]))
        for pairs in (rows, known)
    )
    return kind, held, soft, known[certain]


def _start_without_hints(pair: Pair, config: Config) -> Tensor:
    """Find a start from the shapes of the two spaces alone, ``(d, d)``; random if ablated."""
    if config.ablate == "identical":
        generator = make_generator(config.seed, pair.x.device)
        return random_orthogonal(pair.src.dim, generator).to(pair.x)
    return climb(pair.x, pair.y, config.tau, config.ablate != "prior")


def _same_pairs(pair: Pair) -> bool:
    """Say whether both directions have the same lexicon, one the reverse of the other."""
    assert pair.train is not None and pair.train_back is not None
    back = np.unique(pair.train_back[:, ::-1], axis=0)
    return np.array_equal(np.unique(pair.train, axis=0), back)
