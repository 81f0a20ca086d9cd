"""EM: density matching in rounds with closed forms, instead of gradient steps.

Eq. 10 is the log-likelihood of a mixture whose means are known and whose only unknown is the
map. Such a likelihood has an EM algorithm. Its E-step (:func:`demalib.matching.e_step`) asks which
target word each source word could be, and the other way round. The M-step is a Procrustes problem
while the map is kept orthogonal, where log|det W| = 0; :mod:`demalib.finish` may let go of that in
the end. The variance is annealed from wide to narrow by one rule for all pairs: the effective
number of candidates per word falls geometrically. Nothing is random. Pairs that are known, such as
a user's dictionary, keep a weight in every M-step, beside what the E-step says of their words.

There are two pairings. ``sum`` adds the posteriors of both directions: that is EM of Eq. 10, and at
one variance its likelihood never falls. ``agreement``, the default, multiplies them and takes a
power.

Note:
    Agreement is not EM of the paper's objective, and no likelihood is guaranteed to rise. It is
    alignment by agreement (Liang, Taskar and Klein 2006), where two models of opposite directions
    are trained to agree on the product of their posteriors. At beta 1/2 it is also one step of
    symmetric Sinkhorn scaling: every logit loses half of the log-sums of its row and its column.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from demalib.contrastive import KNOWN_WEIGHT, share_weight
from demalib.finish import Evidence
from demalib.flow import Watch
from demalib.matching import Matched, e_step, table_memory
from demalib.mixture import LOG2E, WordMixture
from demalib.procrustes import dictionary_cosine, orthogonal_factor
from demalib.progress import progress
from demalib.tiles import Partners, free_bytes, weigh_

HALVINGS = 12  # of the interval of the variance on a log scale: to 0.2 %
PROBES = 300  # words that stand for all when the variance is chosen
RECORDED = 1000  # most frequent words whose dictionary gives the criterion of every round
FIRST = ((100, 500.0), (1000, 100.0), (math.inf, 20.0))  # known words fewer than, candidates
PAIRINGS = ("agreement", "sum")  # how the posteriors of both directions become one weight
SHARE = 0.2  # evidence of all known pairs, relative to all others, at least


class Phase(NamedTuple):
    """Some rounds of EM: the effective candidates per word fall from ``first`` to ``last``."""

    words: int  # most frequent words per side that take part
    first: float
    last: float
    beta: float  # 1/2: geometric mean of both posteriors; 1: their product
    rounds: int


# Words beyond 20,000 change P@1 on train words by -0.3 to +0.5 points, none of it significant.
SCHEDULE = (
    Phase(6_000, 500.0, 3.0, 0.5, 12),  # anneal, on frequent words: most rounds are quick ones
    Phase(12_000, 3.0, 2.0, 1.0, 2),  # sharpen: only mutual candidates count
    Phase(20_000, 2.0, 2.0, 1.0, 1),  # take in rarer words
)


class Annealed(NamedTuple):
    """What the rounds of EM found."""

    W: Tensor  # (d, d), orthogonal
    evidence: Evidence  # of the last E-step, with the known pairs
    history: pd.DataFrame  # a row per round: sigma2, candidates, log_prob, criterion and more


def plan(known: int, schedule: Sequence[Phase] = SCHEDULE) -> tuple[Phase, ...]:
    """Adapt the schedule to the number of known source words: a good start need not be forgotten.

    The first candidates are 500 for fewer than 100 known words, 100 for fewer than 1,000, else 20;
    the number of rounds of the first phase falls with them, so that each round narrows as much.
    """
    first = schedule[0]
    widest = min(first.first, next(wide for most, wide in FIRST if known < most))
    if first.rounds < 2 or widest <= first.last:
        return tuple(schedule)
    steps = (first.rounds - 1) * math.log(widest / first.last) / math.log(first.first / first.last)
    return (first._replace(first=widest, rounds=round(steps) + 1), *schedule[1:])


def anneal(
    x: Tensor,
    y: Tensor,
    W: Tensor,
    known: Tensor | None = None,
    *,
    tau: float = 2.0,
    by_rank: bool = True,
    partners: Partners | None = None,
    knn: int = 10,
    watch: Watch | None = None,
    schedule: Sequence[Phase] = SCHEDULE,
    pairing: str = "agreement",
) -> Annealed:
    r"""Match two densities by EM from a given start.

    Each round chooses the variance, weighs all pairs (:func:`demalib.matching.e_step`) and solves
    :math:`W = \arg\max_{W \in O_d} \mathrm{tr}(W^T C)` with
    :math:`C = \sum_{ij} g_{ij} x_i^T y_j + \lambda \sum_{known} w_{ij} x_i^T y_j`, where the
    translations of a known word share its weight (:func:`demalib.contrastive.share_weight`).
    :math:`\lambda = \max(4, 0.2 \sum_{ij} g_{ij} / \sum w_{ij})`, so all known pairs together
    are at least a sixth of the evidence. In the evidence that is returned, :math:`\lambda = 4`.

    Args:
        x: Source words by rank, unit vectors, ``(n, d)``.
        y: Target words by rank, unit vectors, ``(m, d)``.
        W: The start, ``(d, d)``; see :func:`start_map`.
        known: Row numbers of known pairs, ``(K, 2)``.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.
        partners: Words that look alike, for a prior that can read; see :mod:`demalib.spelling`.
        knn: Neighbours k of the criterion that is recorded.
        watch: Called after every round with its number, W_xy and W_yx; what it returns goes into
            the history. It cannot influence the run.
        schedule: The phases.
        pairing: One of :data:`PAIRINGS`: ``agreement``, or ``sum``, which is EM of Eq. 10.
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"unknown pairing {pairing!r}; use one of {', '.join(PAIRINGS)}")
    known = torch.empty(0, 2, dtype=torch.long, device=x.device) if known is None else known
    certain = known_evidence(x, y, known)
    options: dict[str, Any] = {"tau": tau, "by_rank": by_rank, "partners": partners}
    history: list[dict[str, float]] = []
    wanted = min(max(phase.words for phase in schedule), max(len(x), len(y)))
    most, began = fitting_words(wanted, x.device), time.perf_counter()
    memory = table_memory(x, min(len(x), most), min(len(y), most))
    rounds = [(p, float(k)) for p in schedule for k in np.geomspace(p.first, p.last, p.rounds)]
    for phase, candidates in progress(rounds, desc="em", unit="round"):
        src, tgt = (side[: min(phase.words, most)] for side in (x, y))
        beta = phase.beta if pairing == "agreement" else None
        seen = look(src, tgt, W, candidates, beta, certain, memory=memory, **options)
        moved, W = W, orthogonal_factor(seen.cross)
        row = {
            "round": len(history) + 1,
            "words": len(src),
            "candidates": seen.candidates,
            "sigma2": seen.sigma2,
            "log_prob": seen.found.log_prob,
            "log_prob_back": seen.found.log_prob_back,
            "matched": float(seen.found.src_weight.mean()),
            "moved": float((W - moved).norm()),
            "criterion": dictionary_cosine(src[:RECORDED] @ W, tgt, RECORDED, knn),
            "seconds": time.perf_counter() - began,
        }
        if watch:
            paused = time.perf_counter()
            row |= watch(len(history) + 1, W, W.T)
            began += time.perf_counter() - paused
        history.append(row)
    return Annealed(W, seen.evidence, pd.DataFrame(history))


class Seen(NamedTuple):
    """What one E-step says about two languages."""

    found: Matched
    certain: Evidence  # of the known pairs, each word counted once
    words: tuple[Tensor, Tensor]
    candidates: float
    sigma2: float

    @property
    def cross(self) -> Tensor:
        """What the M-step needs, ``(d, d)``: known pairs are at least a sixth of it."""
        free = float(self.found.src_weight.sum())
        weight = max(KNOWN_WEIGHT, SHARE * free / max(1.0, self.certain.weight))
        return self.found.cross + weight * self.certain.cross

    @property
    def evidence(self) -> Evidence:
        """What the last step needs."""
        return Evidence.of_words(*self.words, self.found) + self.certain.times(KNOWN_WEIGHT)


def look(
    src: Tensor,
    tgt: Tensor,
    W: Tensor,
    candidates: float,
    beta: float | None,
    certain: Evidence,
    *,
    tau: float = 2.0,
    by_rank: bool = True,
    partners: Partners | None = None,
    memory: Tensor | None = None,
) -> Seen:
    """Choose the variance and weigh all pairs of words: the first half of a round.

    Args:
        src: Source words that take part, ``(n, d)``.
        tgt: Target words that take part, ``(m, d)``.
        W: The map, ``(d, d)``.
        candidates: Effective candidates of a word; at most a fourth of all.
        beta: See :func:`demalib.matching.e_step`.
        certain: What :func:`known_evidence` made of the known pairs.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.
        partners: As for :func:`anneal`.
        memory: What :func:`demalib.matching.table_memory` made.
    """
    candidates = min(candidates, len(tgt) / 4)
    sigma2 = choose_sigma2(src, tgt, W, candidates, tau, by_rank)
    src_mix, tgt_mix = (WordMixture(side, sigma2, tau=tau) for side in (src, tgt))
    words = partners and partners.of(slice(len(src)))
    found = e_step(src_mix, tgt_mix, W, beta, by_rank, memory, partners=words)
    return Seen(found, certain, (src, tgt), candidates, sigma2)


def known_evidence(x: Tensor, y: Tensor, known: Tensor) -> Evidence:
    """Sum up known pairs, ``(K, 2)``; the translations of a word share its weight."""
    return Evidence.of_pairs(x[known[:, 0]], y[known[:, 1]], share_weight(known))


def start_map(cross: Tensor) -> Tensor:
    r"""Build the map that EM starts from, ``(d, d)``, from hints alone.

    With :math:`C = U S V^T` it is :math:`U S^{1/2} V^T`. A few words fix the map in a few
    directions only; Procrustes would fill the others with an arbitrary rotation, whose luck
    decides whether distant pairs are ever found. Here they count for nothing until the first
    M-step, and well attested directions count for more.

    Args:
        cross: :math:`C = \sum w\,x^T y` over all hints, w their weights, ``(d, d)``.
    """
    u, s, vt = torch.linalg.svd(cross)
    return (u * s.sqrt()) @ vt


def choose_sigma2(
    x: Tensor,
    y: Tensor,
    W: Tensor | None,
    candidates: float,
    tau: float = 2.0,
    by_rank: bool = True,
) -> float:
    """Find the variance at which a word has a given number of effective candidates, by bisection.

    Args:
        x: Source words, unit vectors, ``(n, d)``; some of them stand for all.
        y: Target words, unit vectors, ``(m, d)``.
        W: The map, ``(d, d)``; None maps nothing.
        candidates: Effective candidates: exp of the mean entropy of the posteriors.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.
    """
    n = len(x)
    rows = torch.linspace(0, n - 1, min(PROBES, n), device=x.device).long()
    mapped = x[rows] if W is None else x[rows] @ W
    cosine, prior = (mapped @ y.T).mul_(LOG2E), x.new_zeros(1, 1)
    if by_rank:
        prior = WordMixture(y, 1.0, tau=tau).log_prior(rows + 1).mul_(LOG2E)
    low, high, (bits, weight) = 1e-4, 1.0, cosine.new_empty(2, *cosine.shape)
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        torch.add(prior, cosine, alpha=1 / middle, out=bits)
        bits -= bits.amax(dim=1, keepdim=True)
        weigh_(weight.copy_(bits))  # p(j|i) times its row's sum
        total = weight.sum(dim=1)
        entropy = float((total.log2() - weight.mul_(bits).sum(dim=1) / total).mean())
        low, high = (low, middle) if entropy > math.log2(candidates) else (middle, high)
    return math.sqrt(low * high)


def fitting_words(words: int, device: torch.device) -> int:
    """Cap the vocabulary so that a half-precision table of all pairs takes half the free memory."""
    room = math.isqrt(free_bytes(device) // 4)
    if words <= room:
        return words
    warnings.warn(
        f"em: {words:,} words a side need {2e-9 * words**2:.1f} GB of memory; there is "
        f"room for {room:,}, which are used",
        stacklevel=3,
    )
    return room
