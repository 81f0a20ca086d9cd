"""Agreement EM: density matching in rounds with closed forms, instead of gradient steps.

Eq. 10 is the log-likelihood of a mixture whose means are known and whose only unknown is the
map. Such a likelihood has an EM algorithm. Here the E-step (:func:`demalib.matching.e_step`) asks
which target word each source word could be, and the other way round, and weighs a pair by the
product of both answers to a power. The M-step is a Procrustes problem while the map is kept
orthogonal, where log|det W| = 0; only the last one lets go of that. The variance is annealed
from wide to narrow by one rule for all pairs: the effective number of candidates per word falls
geometrically. Nothing is random, and nothing but the identical words is known.

Note:
    EM of Eq. 10 itself would add the posteriors of both directions where this multiplies them.
    The product is alignment by agreement (Liang, Taskar and Klein 2006); no likelihood is
    guaranteed to rise. At beta 1/2 it is one step of symmetric Sinkhorn scaling.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from demalib.flow import Maps, Watch, random_orthogonal
from demalib.matching import Matched, e_step, table_memory
from demalib.mixture import LOG2E, WordMixture
from demalib.procrustes import dictionary_cosine, orthogonal_factor, procrustes
from demalib.tiles import free_bytes, weigh_

ABLATIONS = ("density", "identical", "prior")
HALVINGS = 12  # of the interval of the variance on a log scale: to 0.2 %
PROBES = 300  # words that stand for all when the variance is chosen
RECORDED = 2000  # most frequent words whose dictionary gives the criterion of every round
NOISE, SIGMA2 = 0.003, 0.01  # variances of samples and components in the last M-step


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
    Phase(20_000, 2.0, 2.0, 1.0, 2),  # take in rarer words
)


def fit_em(
    x: Tensor,
    y: Tensor,
    v_x: Tensor,
    v_y: Tensor,
    *,
    tau: float = 2.0,
    ablate: str = "",
    generator: torch.Generator | None = None,
    knn: int = 10,
    watch: Watch | None = None,
    schedule: Sequence[Phase] = SCHEDULE,
) -> Maps:
    """Match two densities by agreement EM; identical words give the start, and join the last step.

    Args:
        x: Source words by rank, unit vectors, ``(n, d)``.
        y: Target words by rank, unit vectors, ``(m, d)``.
        v_x: Source vectors of the identical words, ``(K, d)``.
        v_y: Target vectors of the same words, ``(K, d)``.
        tau: Temperature of the rank prior.
        ablate: ``density`` (the start alone), ``identical`` (a random start) or ``prior`` (no
            rank prior). An orthogonal map and its transpose are tied, so there is no cycle loss.
        generator: Source of the random start; unused otherwise.
        knn: Neighbours k of the criterion that is recorded.
        watch: Called after every round with its number, W_xy and W_yx; what it returns goes into
            the history. It cannot influence the run.
        schedule: The phases.

    Returns:
        The maps, with a history of sigma2, candidates, log_prob and criterion by round.
    """
    if ablate not in ("", *ABLATIONS):
        raise ValueError(
            f"solver 'em' has no part {ablate!r} to ablate; use {', '.join(ABLATIONS)}"
        )
    if ablate == "density":
        W = procrustes(v_x, v_y)
        return Maps(W, W.T, pd.DataFrame())
    if ablate == "identical":
        W = random_orthogonal(x.shape[1], generator).to(x)
        v_x, v_y = v_x[:0], v_y[:0]
    else:
        W = start_map(v_x, v_y)
    history: list[dict[str, float]] = []
    by_rank, began = ablate != "prior", time.perf_counter()
    wanted = min(max(phase.words for phase in schedule), max(len(x), len(y)))
    most = fitting_words(wanted, x.device)
    memory = table_memory(x, min(len(x), most), min(len(y), most))
    plan = [(p, float(k)) for p in schedule for k in np.geomspace(p.first, p.last, p.rounds)]
    for phase, candidates in tqdm(plan, desc="em", unit="round", disable=None):
        src, tgt = (side[: min(phase.words, most)] for side in (x, y))
        candidates = min(candidates, len(tgt) / 4)
        found, sigma2 = _expect(src, tgt, W, candidates, phase.beta, tau, by_rank, memory)
        moved, W = W, orthogonal_factor(found.cross)
        row = {
            "round": len(history) + 1,
            "words": len(src),
            "candidates": candidates,
            "sigma2": sigma2,
            "log_prob": found.log_prob,
            "matched": float(found.src_weight.mean()),
            "moved": float((W - moved).norm()),
            "criterion": dictionary_cosine(src[:RECORDED] @ W, tgt, RECORDED, knn),
            "seconds": time.perf_counter() - began,
        }
        if watch:
            paused = time.perf_counter()
            row |= watch(len(history) + 1, W, W.T)
            began += time.perf_counter() - paused
        history.append(row)
    cross, once = found.cross + v_x.T @ v_y, v_x.new_ones(len(v_x))  # L_sup: identical words, once
    W_xy = unconstrained_m_step(torch.cat([src, v_x]), torch.cat([found.src_weight, once]), cross)
    W_yx = unconstrained_m_step(torch.cat([tgt, v_y]), torch.cat([found.tgt_weight, once]), cross.T)
    return Maps(W_xy, W_yx, pd.DataFrame(history))


def _expect(
    x: Tensor,
    y: Tensor,
    W: Tensor,
    candidates: float,
    beta: float,
    tau: float,
    by_rank: bool,
    memory: Tensor,
) -> tuple[Matched, float]:
    """Choose the variance and do the E-step; return both."""
    sigma2 = choose_sigma2(x, y, W, candidates, tau, by_rank)
    src, tgt = (WordMixture(side, sigma2, tau=tau) for side in (x, y))
    return e_step(src, tgt, W, beta, by_rank, memory), sigma2


def start_map(x: Tensor, y: Tensor) -> Tensor:
    r"""Build the map that EM starts from, ``(d, d)``, from the identical words alone.

    With :math:`x^T y = U S V^T` it is :math:`U S^{1/2} V^T`. A few words fix the map in a few
    directions only; Procrustes would fill the others with an arbitrary rotation, whose luck
    decides whether distant pairs are ever found. Here they count for nothing until the first
    M-step, and well attested directions count for more.

    Args:
        x: Source vectors of the identical words, ``(K, d)``.
        y: Target vectors of the same words, ``(K, d)``.
    """
    u, s, vt = torch.linalg.svd(x.T @ y)
    return (u * s.sqrt()) @ vt


def choose_sigma2(
    x: Tensor, y: Tensor, W: Tensor, candidates: float, tau: float = 2.0, by_rank: bool = True
) -> float:
    """Find the variance at which a word has a given number of effective candidates, by bisection.

    Args:
        x: Source words, unit vectors, ``(n, d)``; some of them stand for all.
        y: Target words, unit vectors, ``(m, d)``.
        W: The map, ``(d, d)``.
        candidates: Effective candidates: exp of the mean entropy of the posteriors.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.
    """
    n = len(x)
    rows = torch.linspace(0, n - 1, min(PROBES, n), device=x.device).long()
    cosine, prior = (x[rows] @ W @ y.T).mul_(LOG2E), x.new_zeros(1, 1)
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


def unconstrained_m_step(x: Tensor, weight: Tensor, cross: Tensor) -> Tensor:
    r"""Solve the M-step without the orthogonality constraint: Eq. 10 in closed form.

    Maximises :math:`-\sum_{ij} g_{ij} \|x_i W - y_j\|^2 / 2\sigma^2 + n \log|\det W|`, where x
    carries noise of variance :math:`\sigma_x^2` (Eq. 4). With
    :math:`A = \sum_i g_i (x_i^T x_i + \sigma_x^2 I)`, :math:`A^{-1/2} C = U c V^T` and
    :math:`n = \sum_i g_i` it is
    :math:`W = A^{-1/2} U \mathrm{diag}((c + \sqrt{c^2 + 4 n \sigma^2}) / 2) V^T`.

    Args:
        x: Source words, ``(n, d)``.
        weight: Their weights g_i, ``(n,)``.
        cross: C, ``(d, d)``.

    Returns:
        The map W, ``(d, d)``.
    """
    n = weight.sum()
    eye = torch.eye(x.shape[1], device=x.device, dtype=x.dtype)
    A = x.T @ (weight[:, None] * x) + n * NOISE * eye
    values, vectors = torch.linalg.eigh(A)
    whiten = vectors @ (values.rsqrt()[:, None] * vectors.T)
    u, c, vt = torch.linalg.svd(whiten @ cross)
    return whiten @ (u * ((c + (c * c + 4 * n * SIGMA2).sqrt()) / 2)) @ vt


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
