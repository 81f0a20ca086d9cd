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

from demalib import em
from demalib.baselines import selflearn
from demalib.baselines.shared import train_rows
from demalib.config import Config
from demalib.device import make_generator
from demalib.finish import LAST, Finished, finish
from demalib.flow import Watch, random_orthogonal
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes
from demalib.trial import QUICK, WORDS, choose_last, give_verdict, hold_out, positions

ABLATIONS = ("density", "identical", "prior")
LEXICON = 50  # query words; of a lexicon with so many a part is held out, else of the soft hints
TENTH, FOURTH = 10, 4  # every tenth query of a lexicon is held out, every fourth soft hint
FEWEST = 10  # hints; from fewer EM starts as if there were none
ONCE_MORE = (em.Phase(6_000, 100.0, 3.0, 0.5, 8), em.Phase(12_000, 2.0, 2.0, 1.0, 1))


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
        W = em.start_map(a, y[rows[:, 1]])
        clamped = torch.from_numpy(certain).to(x.device)
        plan = em.plan(len(np.unique(certain[:, 0])), schedule)
        return em.anneal(x, y, W, clamped, watch=watch, schedule=plan, **options)

    last, held_out, found = config.last, "", {}
    soft = np.ones(len(hints.rows), dtype=bool)
    if len(hints.rows) + len(known) >= FEWEST:
        held_out, out, some, rest = _held_out(hints.rows, known)
        if len(out):
            quick = run(some, rest, QUICK)
            clamped = torch.from_numpy(rest[(rest < WORDS).all(axis=1)]).to(x.device)
            for step in LAST if last == "auto" else (last,):
                maps = finish(step, x[:WORDS], y[:WORDS], quick.evidence, clamped)
                found[step] = positions(maps, x, y, out)
        last = choose_last(found) if found else LAST[0] if last == "auto" else last
        annealed = run(soft, known, em.SCHEDULE, watch)
    else:
        last = LAST[0] if last == "auto" else last
        W = _start_without_hints(pair, config, options)
        annealed = em.anneal(x, y, W, watch=watch, **options)
    maps = finish(last, x, y, annealed.evidence, torch.from_numpy(known).to(x.device))
    verdict = give_verdict(maps, x, y, held_out, found.get(last, np.empty(0)))
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
        held, kind = known[hold_out(known, TENTH)], "pairs of the lexicon"
    else:
        held, kind = rows[hold_out(rows, FOURTH)], "words of like spelling"
    soft, certain = (
        ~(np.isin(pairs[:, 0], held[:, 0]) | np.isin(pairs[:, 1], held[:, 1]))
        for pairs in (rows, known)
    )
    return kind, held, soft, known[certain]


def _start_without_hints(pair: Pair, config: Config, options: dict[str, Any]) -> Tensor:
    """Find a start from the shapes of the two spaces alone, ``(d, d)``; random if ablated."""
    if config.ablate == "identical":
        return random_orthogonal(pair.src.dim, make_generator(config.seed, pair.x.device)).to(
            pair.x
        )
    found = selflearn.self_learn(pair, selflearn.start_dictionary(pair, config.knn), config)
    W = procrustes(pair.x[found[:, 0]], pair.y[found[:, 1]])
    return em.anneal(pair.x, pair.y, W, schedule=ONCE_MORE, **options).W


def _same_pairs(pair: Pair) -> bool:
    """Say whether both directions have the same lexicon, one the reverse of the other."""
    assert pair.train is not None and pair.train_back is not None
    back = np.unique(pair.train_back[:, ::-1], axis=0)
    return np.array_equal(np.unique(pair.train, axis=0), back)
