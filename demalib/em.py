"""Annealed EM: the paper's objective solved in rounds instead of gradient steps.

Eq. 10 is the log-likelihood of a mixture whose means are known and whose only unknown is the
map. Such a likelihood has an EM algorithm. The E-step asks which target word each source word
could be, and the other way round. The M-step is a Procrustes problem while the map is kept
orthogonal, where log|det W| = 0; only the last one lets go of that. The variance is annealed
from wide to narrow by one rule for all pairs: the effective number of candidates per word falls
geometrically. Nothing is random, and nothing but the identical words is known.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag
from tqdm import tqdm

from demalib.config import Config
from demalib.device import free_bytes, seeded
from demalib.files import DataError
from demalib.flow import random_orthogonal
from demalib.mapping import Mapping, Pair, Watch
from demalib.refine import dictionary_cosine, orthogonal_factor, procrustes
from demalib.retrieval import log_ranks
from demalib.tiles import Clusters

PROBES = 300  # words that stand for all when the variance is chosen
NEAR, GROUPS = 32, 8  # words kept, and groups of words searched, where near words are enough
PLAIN = 20_000  # words per side up to which all pairs of them are looked at
ROWS = 256  # rows of the table that are made at once: more would leave the cache
RECORDED = 3000  # most frequent words whose dictionary gives the criterion of every round
NOISE, SIGMA2 = 0.003, 0.01  # variances of samples and components in the last M-step


class Phase(NamedTuple):
    """Some rounds of EM: the effective candidates per word fall from ``first`` to ``last``."""

    words: int  # most frequent words per side that take part
    first: float
    last: float
    beta: float  # 1/2: geometric mean of both responsibilities; 1: their product
    rounds: int


SCHEDULE = (
    Phase(6_000, 500.0, 3.0, 0.5, 12),  # anneal, on frequent words: most rounds are quick ones
    Phase(12_000, 3.0, 2.0, 1.0, 2),  # sharpen: only mutual candidates count
    Phase(20_000, 2.0, 2.0, 1.0, 2),  # take in rarer words
)


class Expected(NamedTuple):
    """What the E-step hands to the M-step, with pair weights g_ij."""

    cross: Tensor  # (d, d), sum_ij g_ij x_i^T y_j
    src_weight: Tensor  # (n,), sum_j g_ij
    tgt_weight: Tensor  # (m,), sum_i g_ij
    likelihood: float  # mean log-density of the mapped source words, up to a constant
    omitted: float = 0.0  # mean share of the sums over words that was left out


def rank_penalty(rows: Tensor, columns: Tensor, tau: float) -> Tensor:
    r"""The rank prior :math:`-|\log i - \log j| / \tau` of row numbers, ``(n, m)`` (Section 3.3).

    ``tau`` 0 stands for the naive prior, which ignores ranks.
    """
    if not tau:
        return torch.zeros(1, 1)
    return (log_ranks(rows)[:, None] - log_ranks(columns)).abs_().div_(-tau)


def choose_sigma2(mapped: Tensor, y: Tensor, tau: float, wanted: float) -> float:
    """The variance at which words have so many effective candidates, by bisection.

    Args:
        mapped: Mapped source words, unit vectors, ``(n, d)``; some of them stand for all.
        y: Target words, unit vectors, ``(m, d)``.
        tau: Temperature of the rank prior.
        wanted: Effective candidates: exp of the mean entropy of the responsibilities.
    """
    rows = probes(len(mapped))
    cosine, prior = mapped[rows] @ y.T, rank_penalty(rows, torch.arange(len(y)), tau)
    low, high = 1e-4, 1.0
    for _ in range(16):
        middle = math.sqrt(low * high)
        log_r = (cosine / middle + prior).log_softmax(dim=1)
        entropy = float(-(log_r.exp() * log_r).sum(dim=1).mean())
        low, high = (low, middle) if entropy > math.log(wanted) else (middle, high)
    return math.sqrt(low * high)


def expect(x: Tensor, y: Tensor, W: Tensor, sigma2: float, tau: float, beta: float) -> Expected:
    r"""E-step in both directions: how much each source word is each target word.

    With the responsibilities p(j|i) of target word j for source word i (Eq. 9) and p(i|j) the
    other way round, a pair weighs :math:`g_{ij} = (p(j|i)\,p(i|j))^\beta`, so a hub, which many
    words lie close to, has to share what it gets.

    Args:
        x: Source words, unit vectors, ``(n, d)``.
        y: Target words, unit vectors, ``(m, d)``.
        W: The orthogonal map, ``(d, d)``.
        sigma2: Variance of the components of both sides.
        tau: Temperature of the rank prior.
        beta: Exponent of the product.

    Note:
        One (n, m) table is kept, ``exp(logit - its row's maximum)``: a single exponential serves
        both directions, because all else is a factor of the row or of the column. The factors
        span up to 140 nats in float32; beyond that (a variance below 0.005) they are clamped.
    """
    n, m = len(x), len(y)
    mapped, index, columns = x @ W / sigma2, torch.arange(n), torch.arange(m)
    table, top, rows = x.new_empty(n, m), x.new_empty(n), x.new_empty(n)
    for lo in range(0, n, ROWS):
        part = slice(lo, min(lo + ROWS, n))
        logits = torch.mm(mapped[part], y.T, out=table[part])
        logits += rank_penalty(index[part], columns, tau)
        top[part] = logits.amax(dim=1)
        rows[part] = logits.sub_(top[part, None]).exp_().sum(dim=1)
    log_rows = top + rows.log()  # (n,), log sum_j exp logit_ij
    log_cols = (table.T @ (top - top.max() + 60).exp()).log() + top.max() - 60  # (m,), over i
    a, b = beta * (2 * top - log_rows), -beta * log_cols  # log g = 2 beta log table + a + b
    a, b = a - a.mean(), b + a.mean()
    a, b = (side.clamp(-80, 80).exp() for side in (a, torch.where(b < torch.inf, b, -torch.inf)))
    if beta != 0.5:
        table.pow_(2 * beta)
    expected = (table @ (b[:, None] * y)) * a[:, None]  # (n, d), sum_j g_ij y_j
    likelihood = float(log_rows.mean()) - 1 / sigma2
    return Expected(x.T @ expected, (table @ b) * a, (table.T @ a) * b, likelihood)


def expect_near(
    x: Tensor, y: Tensor, W: Tensor, sigma2: float, tau: float, beta: float
) -> Expected:
    r"""The E-step of :func:`expect` over near words only, in time that grows like n + m.

    A sum over the words of the other side runs over the :data:`NEAR` ones with the largest cosines
    in the nearest groups. Where that leaves out the share :math:`\varepsilon_i` of source word
    i's sum and :math:`\varepsilon_j` of target word j's, a pair that is kept weighs at least what
    it should and at most :math:`((1-\varepsilon_i)(1-\varepsilon_j))^{-\beta}` times as much;
    and what row i loses weighs at most :math:`\varepsilon_i` for :math:`\beta = 1`. The mean
    share over :data:`PROBES` words of either side is measured and returned as ``omitted``.

    Args:
        x: Source words, unit vectors, ``(n, d)``.
        y: Target words, unit vectors, ``(m, d)``.
        W: The orthogonal map, ``(d, d)``.
        sigma2: Variance of the components of both sides; so narrow that near words are enough.
        tau: Temperature of the rank prior.
        beta: Exponent of the product.
    """
    mapped = x @ W
    forward, columns, log_rows, lost = near_logits(mapped, y, sigma2, tau)
    _, _, log_cols, lost_back = near_logits(y, mapped, sigma2, tau)
    log_share = (forward - log_rows[:, None]) + (forward - log_cols[columns]).clamp_(max=0)
    weight = log_share.mul_(beta).exp_()  # (n, NEAR), g_ij
    expected = embedding_bag(columns, y, per_sample_weights=weight, mode="sum")
    tgt_weight = y.new_zeros(len(y)).index_add_(0, columns.flatten(), weight.flatten())
    likelihood, lost = float(log_rows.mean()) - 1 / sigma2, (lost + lost_back) / 2
    return Expected(x.T @ expected, weight.sum(dim=1), tgt_weight, likelihood, lost)


def near_logits(
    points: Tensor, words: Tensor, sigma2: float, tau: float
) -> tuple[Tensor, Tensor, Tensor, float]:
    """Logits of the near words of each point, for :func:`expect_near`.

    Returns:
        The logits and the row numbers of the words, each ``(n, NEAR)``; the logarithm of the
        sum of their exponentials, ``(n,)``; and the mean share of the sum over all words that
        it lacks, measured on some points.
    """
    index = torch.arange(len(points))
    cosine, rows = Clusters(words).near(points, min(NEAR, len(words)), GROUPS)
    logits = cosine.div_(sigma2) + rank_penalty(index, rows, tau)
    log_sums, some = logits.logsumexp(dim=1), probes(len(points))
    whole = points[some] @ words.T / sigma2 + rank_penalty(some, torch.arange(len(words)), tau)
    lost = 1 - (log_sums[some] - whole.logsumexp(dim=1)).exp()
    return logits, rows, log_sums, float(lost.mean())


def probes(n: int) -> Tensor:
    """Row numbers of some of n words, evenly over the ranks, that stand for all."""
    return torch.linspace(0, n - 1, min(PROBES, n)).long()


def free_step(x: Tensor, weight: Tensor, cross: Tensor) -> Tensor:
    r"""The exact M-step without the orthogonality constraint: Eq. 10 in closed form.

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
    A = x.T @ (weight[:, None] * x) + n * NOISE * torch.eye(x.shape[1]).to(x)
    values, vectors = torch.linalg.eigh(A)
    whiten = vectors @ (values.rsqrt()[:, None] * vectors.T)
    u, c, vt = torch.linalg.svd(whiten @ cross)
    return whiten @ (u * ((c + (c * c + 4 * n * SIGMA2).sqrt()) / 2)) @ vt


def start_map(x: Tensor, y: Tensor) -> Tensor:
    r"""Where EM begins: what the identical words say, and no more, ``(d, d)``.

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


def fitting(words: int) -> int:
    """So many words, or fewer if a table of all pairs of them would not fit into memory twice."""
    plain = min(words, PLAIN)
    room = math.isqrt(free_bytes() // 8)  # (n, n) numbers of 4 bytes, and as much again
    if plain <= room:
        return words
    warnings.warn(f"em: {plain:,} words a side need {8e-9 * plain**2:.1f} GB of memory; there is "
                  f"room for {room:,}, which are used", stacklevel=3)  # fmt: skip
    return room


def fit_em(pair: Pair, config: Config, watch: Watch | None = None) -> Mapping:
    """Density matching by annealed EM; identical words give the start, and join the last step.

    Args:
        pair: The two spaces and their identical words.
        config: ``tau``; ``ablate`` may be ``density`` (the start alone), ``identical`` (a random
            start), ``prior`` (no rank prior).
        watch: Called after every round with its number, W_xy and W_yx; what it returns goes into
            the history. It cannot influence the run.

    Returns:
        The maps, with a history of sigma2, candidates, likelihood and criterion by round.

    Note:
        An orthogonal map and its transpose are tied, so there is no cycle loss to ablate.
    """
    if config.ablate not in ("", "density", "identical", "prior"):
        raise DataError(
            f"solver 'em' has no part {config.ablate!r} to ablate; use density, identical or prior"
        )
    tau, (v_x, v_y) = 0.0 if config.ablate == "prior" else config.tau, pair.hint(config)
    if config.ablate == "identical":
        W = random_orthogonal(pair.src.dim, seeded(config.seed))
    else:
        pair.require_identical()
        if config.ablate == "density":
            return Mapping.orthogonal(procrustes(v_x, v_y), pair, config)
        W = start_map(v_x, v_y)
    plan = [(p, float(k)) for p in SCHEDULE for k in np.geomspace(p.first, p.last, p.rounds)]
    history, began = [], time.perf_counter()
    for phase, candidates in tqdm(plan, desc="em", unit="round", disable=None):
        words = fitting(phase.words)
        x, y = pair.x[:words], pair.y[:words]
        candidates = min(candidates, len(y) / 4)
        sigma2 = choose_sigma2(x @ W, y, tau, candidates)
        step = expect_near if len(x) > PLAIN else expect
        found = step(x, y, W, sigma2, tau, phase.beta)
        moved, W = W, orthogonal_factor(found.cross)
        row = {"round": len(history) + 1, "words": len(x), "candidates": candidates,
               "sigma2": sigma2, "likelihood": found.likelihood,
               "omitted": found.omitted, "matched": float(found.src_weight.mean()), "moved": float((W - moved).norm()),
               "criterion": dictionary_cosine(x @ W, y, RECORDED, config.knn),
               "seconds": time.perf_counter() - began}  # fmt: skip
        if watch:
            paused = time.perf_counter()
            row |= watch(row["round"], W, W.T)
            began += time.perf_counter() - paused
        history.append(row)
    sigma2 = choose_sigma2(x @ W, y, tau, candidates)
    found = step(x, y, W, sigma2, tau, phase.beta)
    cross, once = found.cross + v_x.T @ v_y, v_x.new_ones(len(v_x))  # L_sup: identical words, once
    W_xy = free_step(torch.cat([x, v_x]), torch.cat([found.src_weight, once]), cross)
    W_yx = free_step(torch.cat([y, v_y]), torch.cat([found.tgt_weight, once]), cross.T)
    return Mapping.of(W_xy, W_yx, pair, config, pd.DataFrame(history))
