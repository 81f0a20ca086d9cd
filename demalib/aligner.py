"""One aligner for whatever is known: nothing, the spelling, a few pairs, thousands.

Hints that need no dictionary say where EM starts; pairs of a dictionary keep a weight in every
round. A quick trial without some of the hints chooses the last step and says whether it worked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from demalib import em, spelling, trial
from demalib.baselines.shared import train_rows
from demalib.config import Config
from demalib.contrastive import share_weight
from demalib.device import make_generator
from demalib.finish import LAST, Evidence, Finished, finish
from demalib.flow import Watch, random_orthogonal
from demalib.hints import Hints
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes
from demalib.shapes import climb

ABLATIONS = ("density", "identical", "prior")
LEXICON = 50  # a lexicon with at least this many query words is tested; a smaller one is not
TENTH, FOURTH = 10, 4  # the test holds out every tenth query of the lexicon, or every fourth hint
FEWEST = 10  # words with a hint or a known pair; with fewer EM starts from the shapes of the spaces
NOTHING = np.empty((0, 2), dtype=np.int64)  # no pair


class Fit(NamedTuple):
    """One fit: the maps, the rounds, and what is known about it."""

    maps: Finished
    history: pd.DataFrame
    facts: dict[str, Any]


def fit(pair: Pair, config: Config, watch: Watch | None = None) -> Mapping:
    """Align a pair by EM with all that is known about it; ``config.pairing`` says which EM.

    Args:
        pair: Two spaces; its train lexicon, if there is one, is believed.
        config: ``hints``, ``reads``, ``last``, ``tau``, ``knn`` and ``ablate``: ``density`` (Procrustes on
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
    """Fit both directions at once, with the source side's lexicon if there is one."""
    x, y, known = pair.x, pair.y, known_pairs(pair, config)
    annealed, last, held_out, found = solve(pair, config, em.SCHEDULE, watch)
    maps = finish(last, x, y, annealed.evidence, torch.from_numpy(known).to(x.device))
    places, agreement = found.get(last, np.empty(0)), None
    if len(places) < trial.FEWEST:
        by_rank = config.ablate != "prior"
        agreement = trial.agree(x, y, annealed.evidence.cross, config.tau, by_rank)
    verdict = trial.give_verdict(maps, x, y, held_out, places, agreement)
    counts = pair.hints(config).counts
    counts |= {"lexicon": len(known)} if pair.train is not None else {}
    tried = {step: float((places <= 1).mean()) for step, places in found.items()}
    facts = {"hints": counts, "last": last, "tried": tried, "verdict": verdict.to_dict()}
    return Fit(maps, annealed.history, facts)


class Solution(NamedTuple):
    """What EM found, and what the trial before it said."""

    annealed: em.Annealed
    last: str  # the last step that the trial chose
    held_out: str  # the kind of hints that were held out of it
    found: dict[str, np.ndarray]  # positions of these under each last step, see trial.positions


def solve(
    pair: Pair,
    config: Config,
    schedule: Sequence[em.Phase] = em.SCHEDULE,
    watch: Watch | None = None,
) -> Solution:
    """Anneal from all that is known; a quick trial first says which hints and which last step.

    Args:
        pair: Two spaces and the hints between them.
        config: As for :func:`fit`.
        schedule: The phases of EM.
        watch: See :func:`demalib.em.anneal`.
    """
    x, y, hints, known = pair.x, pair.y, pair.hints(config), known_pairs(pair, config)
    by_rank = config.ablate != "prior"
    options: dict[str, Any] = {"tau": config.tau, "by_rank": by_rank, "knn": config.knn}
    options["pairing"] = config.pairing

    def run(
        some: Hints, certain: np.ndarray, phases: Any, watch: Any = None, out: Any = NOTHING
    ) -> em.Annealed:
        sure = torch.from_numpy(certain).to(x.device)
        W = start_from(x, y, some, sure)
        phases = em.plan(len(np.unique(certain[:, 0])), phases)
        if not config.reads or len(phases) < 2:
            return em.anneal(x, y, W, sure, schedule=phases, watch=watch, **options)
        wide = em.anneal(x, y, W, sure, schedule=phases[:1], watch=watch, **options)
        alike = pair.alike.allowed()
        unused = torch.from_numpy(trial.apart(alike.rows.cpu().numpy(), out)).to(x.device)
        partners = spelling.partners_of(x @ wide.W, y, alike.only(unused), config.tau)
        done, spent = len(wide.history), wide.history["seconds"].iloc[-1]
        later = watch and (lambda at, W, back: watch(done + at, W, back))
        options_now = options | {"partners": partners, "schedule": phases[1:], "watch": later}
        narrow = em.anneal(x, y, wide.W, sure, **options_now)
        rest = narrow.history
        rest = rest.assign(round=rest["round"] + done, seconds=rest["seconds"] + spent)
        return narrow._replace(history=pd.concat([wide.history, rest], ignore_index=True))

    steps = LAST if config.last == "auto" else (config.last,)
    if len(np.unique(np.concatenate([hints.rows, known])[:, 0])) < FEWEST:
        W = _start_without_hints(pair, config)
        few = torch.from_numpy(known).to(x.device)
        annealed = em.anneal(x, y, W, few, schedule=schedule, watch=watch, **options)
        return Solution(annealed, steps[0], "", {})
    held_out, out, soft, rest = _held_out(hints.rows, known)
    last, found = steps[0], {}
    if len(out):
        quick = run(hints.only(soft), rest, trial.QUICK, out=out)
        sure = torch.from_numpy(rest[(rest < trial.WORDS).all(axis=1)]).to(x.device)
        for step in steps:
            maps = finish(step, x[: trial.WORDS], y[: trial.WORDS], quick.evidence, sure)
            found[step] = trial.positions(maps, x, y, out)
        last = trial.choose_last(found)
        hints = hints.only(trial.confirmed(quick.W, x, y, hints.rows))
    return Solution(run(hints, known, schedule, watch), last, held_out, found)


def known_pairs(pair: Pair, config: Config) -> np.ndarray:
    """Return the row numbers of the train lexicon's pairs, each once, ``(K, 2)``; K may be 0."""
    if pair.train is None or config.ablate == "identical":
        return NOTHING
    return np.unique(pair.train, axis=0)


def start_from(x: Tensor, y: Tensor, hints: Hints, known: Tensor) -> Tensor:
    """Build the map that EM starts from, ``(d, d)``; see :func:`demalib.em.start_map`.

    Args:
        x: Source words, ``(N, d)``.
        y: Target words, ``(M, d)``.
        hints: Pairs that may be translations.
        known: Row numbers of pairs that are, ``(K, 2)``.
    """
    rows = torch.cat([torch.from_numpy(hints.rows).to(known), known])
    weight = torch.cat([torch.from_numpy(hints.weight).to(x), share_weight(known).to(x)])
    return em.start_map(Evidence.of_pairs(x[rows[:, 0]], y[rows[:, 1]], weight).cross)


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
    return kind, held, trial.apart(rows, held), known[trial.apart(known, held)]


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
