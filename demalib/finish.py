"""The last step of EM: from the weights of all pairs to the maps that are used.

While EM anneals, the map is kept orthogonal. What comes last may let go of that: four steps, all
from the same evidence. None wins on every pair of languages, so :mod:`demalib.trial` chooses by
hints that were held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from demalib.matching import Matched
from demalib.procrustes import induce_dictionary, orthogonal_factor

LAST = ("contrastive", "symmetric", "free", "orthogonal")
NOISE, SIGMA2 = 0.003, 0.01  # variances of samples and components in the free step
NEGLIGIBLE = 1e-6  # a direction of less variance, relative to the largest, is left out
POOL, PARTS = 12_000, 2  # contrastive: words that pairs are told from, in turns of every second
TEMPERATURE = 0.06  # contrastive: the variance of the mixtures whose posteriors rise
STEPS, BATCH, RATE = 20, 512, 1e-3  # contrastive: Adam's steps, pairs in each, its rate
FOUND = 10_000  # contrastive: most frequent words whose mutual best pairs join the known ones
KNOWN_WEIGHT = 4.0  # a known word counts as much as this many that EM is sure of


@dataclass(frozen=True)
class Evidence:
    r"""Weighted pairs of vectors, summed up: all that a closed form needs.

    Attributes:
        cross: :math:`C = \sum_{ij} g_{ij} x_i^T y_j`, ``(d, d)``.
        src: :math:`\sum_{ij} g_{ij} x_i^T x_i`, ``(d, d)``.
        tgt: :math:`\sum_{ij} g_{ij} y_j^T y_j`, ``(d, d)``.
        weight: :math:`\sum_{ij} g_{ij}`.
    """

    cross: Tensor
    src: Tensor
    tgt: Tensor
    weight: float

    @classmethod
    def of_pairs(cls, a: Tensor, b: Tensor, weight: Tensor | None = None) -> Evidence:
        """Sum up pairs of vectors, ``(K, d)`` on either side; their weights, ``(K,)``, or 1."""
        weight = a.new_ones(len(a)) if weight is None else weight.to(a)
        w = weight[:, None]
        return cls(a.T @ (w * b), a.T @ (w * a), b.T @ (w * b), float(weight.sum()))

    @classmethod
    def of_words(cls, x: Tensor, y: Tensor, found: Matched) -> Evidence:
        """Sum up what an E-step found for words x, ``(n, d)``, and y, ``(m, d)``."""
        src, tgt = (
            side.T @ (weight[:, None] * side)
            for side, weight in ((x, found.src_weight), (y, found.tgt_weight))
        )
        return cls(found.cross, src, tgt, float(found.src_weight.sum()))

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(
            self.cross + other.cross,
            self.src + other.src,
            self.tgt + other.tgt,
            self.weight + other.weight,
        )

    def times(self, factor: float) -> Evidence:
        """The same pairs with other weights."""
        cross, src, tgt = (factor * part for part in (self.cross, self.src, self.tgt))
        return Evidence(cross, src, tgt, factor * self.weight)

    def swap(self) -> Evidence:
        """The same evidence with source and target exchanged."""
        return Evidence(self.cross.T, self.tgt, self.src, self.weight)


def share_weight(pairs: Tensor) -> Tensor:
    """Weigh pairs so that no word counts more than once: 1 / the more translations of its two.

    A dictionary with five translations of a word says the same thing five times less surely.

    Args:
        pairs: Row numbers, ``(K, 2)``.

    Returns:
        Weights, ``(K,)``; 1 for words with one translation each.
    """
    counts = [torch.bincount(column, minlength=1)[column] for column in (pairs[:, 0], pairs[:, 1])]
    return torch.maximum(*counts).double().reciprocal()


class Finished(NamedTuple):
    """Maps of both directions: x W_xy is compared with y P_y, y W_yx with x P_x; None is I."""

    W_xy: Tensor  # (d, d)
    W_yx: Tensor  # (d, d)
    P_y: Tensor | None = None  # (d, d)
    P_x: Tensor | None = None  # (d, d)


def finish(last: str, x: Tensor, y: Tensor, evidence: Evidence, known: Tensor) -> Finished:
    """Carry out a last step.

    A rotation of the space where both sides meet changes no cosine. It is turned so that words of
    the language translated into stay as close as possible to where they were.

    Args:
        last: One of :data:`LAST`.
        x: Source words by rank, unit vectors, ``(N, d)``.
        y: Target words by rank, unit vectors, ``(M, d)``.
        evidence: Of EM's last E-step and the known pairs.
        known: Row numbers of known pairs, ``(K, 2)``; K may be 0.
    """
    if last not in LAST:
        raise ValueError(f"unknown last step {last!r}; use one of {', '.join(LAST)}")
    if last == "orthogonal":
        W = orthogonal_factor(evidence.cross)
        return Finished(W, W.T)
    if last == "free":
        return Finished(free_step(evidence), free_step(evidence.swap()))
    P_x, P_y = symmetric_step(evidence)
    if not P_x.any() or not P_y.any():  # nothing correlates: vectors of zeros, or of one word
        return finish("orthogonal", x, y, evidence, known)
    if last == "contrastive":
        P_x, P_y = contrastive_step(x, y, P_x, P_y, known)
    turn_y, turn_x = (orthogonal_factor(P).T for P in (P_y, P_x))
    return Finished(P_x @ turn_y, P_y @ turn_x, P_y @ turn_y, P_x @ turn_x)


def free_step(evidence: Evidence) -> Tensor:
    r"""Solve the M-step without the orthogonality constraint: Eq. 10 in closed form, ``(d, d)``.

    Maximises :math:`-\sum_{ij} g_{ij} \|x_i W - y_j\|^2 / 2\sigma^2 + n \log|\det W|`, where x
    carries noise of variance :math:`\sigma_x^2` (Eq. 4). With
    :math:`A = \sum_i g_i (x_i^T x_i + \sigma_x^2 I)`, :math:`A^{-1/2} C = U c V^T` and
    :math:`n = \sum_i g_i` it is
    :math:`W = A^{-1/2} U \mathrm{diag}((c + \sqrt{c^2 + 4 n \sigma^2}) / 2) V^T`.
    """
    n, eye = evidence.weight, torch.eye(len(evidence.cross)).to(evidence.cross)
    values, vectors = torch.linalg.eigh(evidence.src + n * NOISE * eye)
    whiten = vectors @ (values.rsqrt()[:, None] * vectors.T)
    u, c, vt = torch.linalg.svd(whiten @ evidence.cross)
    return whiten @ (u * ((c + (c * c + 4 * n * SIGMA2).sqrt()) / 2)) @ vt


def symmetric_step(evidence: Evidence) -> tuple[Tensor, Tensor]:
    r"""Map both sides to where they correlate: whiten, rotate, re-weight, de-whiten.

    With :math:`W_x = (\sum g\,x^T x)^{-1/2}`, :math:`W_y` likewise and
    :math:`W_x C W_y = U S V^T` (the last step of Artetxe et al. 2018, on soft weights),

    .. math:: P_x = W_x U S^{1/2} U^T W_x^{-1} U, \qquad P_y = W_y V S^{1/2} V^T W_y^{-1} V.

    Returns:
        :math:`P_x` and :math:`P_y`, ``(d, d)`` each; words are compared by the cosine of
        :math:`x P_x` and :math:`y P_y`.
    """
    (white_x, colour_x), (white_y, colour_y) = _roots(evidence.src), _roots(evidence.tgt)
    u, s, vt = torch.linalg.svd(white_x @ evidence.cross.double() @ white_y)
    P_x = white_x @ (u * s.sqrt()) @ u.T @ colour_x @ u
    P_y = white_y @ (vt.T * s.sqrt()) @ vt @ colour_y @ vt.T
    return P_x.to(evidence.cross), P_y.to(evidence.cross)


def _roots(moment: Tensor) -> tuple[Tensor, Tensor]:
    """The inverse square root of a moment and its square root, float64, ``(d, d)`` each."""
    values, vectors = torch.linalg.eigh(moment.double())
    keep = values > NEGLIGIBLE * values[-1]  # centring leaves a direction without variance
    root = torch.where(keep, values, 1.0).sqrt()
    white, colour = (torch.where(keep, part, 0.0) for part in (1 / root, root))
    return (vectors * white) @ vectors.T, (vectors * colour) @ vectors.T


def contrastive_step(
    x: Tensor, y: Tensor, P_x: Tensor, P_y: Tensor, known: Tensor
) -> tuple[Tensor, Tensor]:
    r"""Raise the posteriors of pairs against all frequent words, in both directions.

    With :math:`u = xP_x/\|xP_x\|` and :math:`v = yP_y/\|yP_y\|` it descends

    .. math:: -\sum_{ij} w_{ij} \left[\log\frac{e^{u_i \cdot v_j/\sigma^2}}{\sum_k e^{u_i \cdot
        v_k/\sigma^2}} + \log\frac{e^{u_i \cdot v_j/\sigma^2}}{\sum_k e^{u_k \cdot v_j/\sigma^2}}
        \right]

    by some steps of Adam over both maps: the responsibilities of Eq. 9 without its prior, as
    an objective. Pairs are the known ones and the mutual best ones of the start under CSLS.

    Args:
        x: Source words by rank, ``(N, d)``.
        y: Target words by rank, ``(M, d)``.
        P_x: Start of the source map, ``(d, d)``.
        P_y: Start of the target map, ``(d, d)``.
        known: Row numbers of known pairs, ``(K, 2)``.

    Returns:
        :math:`P_x` and :math:`P_y`. Nothing is random: batches are strides of the list of pairs.
    """
    found = induce_dictionary(x[:FOUND] @ P_x, y[:FOUND] @ P_y, "mutual", FOUND)
    apart = ~(torch.isin(found[:, 0], known[:, 0]) | torch.isin(found[:, 1], known[:, 1]))
    pairs = torch.cat([known, found[apart]])
    weights = x.new_ones(len(pairs))
    weights[: len(known)] = KNOWN_WEIGHT * share_weight(known)
    sides = [
        (side, (P / (side[:POOL] @ P).norm(dim=1).mean()).requires_grad_(), pairs[:, k])
        for k, (side, P) in enumerate(((x, P_x), (y, P_y)))
    ]
    optimizer = torch.optim.Adam([P for _, P, _ in sides], lr=RATE)
    batches = -(-len(pairs) // BATCH)
    for step in range(STEPS if len(pairs) else 0):
        chosen, part = slice(step % batches, None, batches), step % PARTS
        (u, pool_u, i), (v, pool_v, j) = (
            (
                normalize(side[rows[chosen]] @ P, dim=1),
                normalize(side[part:POOL:PARTS] @ P, dim=1),
                _places(rows[chosen], part),
            )
            for side, P, rows in sides
        )
        right = (u * v).sum(1) / TEMPERATURE
        loss = _surprise(right, u, pool_v, j) + _surprise(right, v, pool_u, i)
        optimizer.zero_grad()
        ((weights[chosen] * loss).sum() / weights[chosen].sum()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    P_x, P_y = (P.detach() for _, P, _ in sides)
    return P_x, P_y


def _places(rows: Tensor, part: int) -> Tensor:
    """Find the places of words in one part of the pool; POOL, past its end, if not in it."""
    return torch.where((rows - part) % PARTS == 0, (rows - part) // PARTS, POOL)


def _surprise(right: Tensor, points: Tensor, pool: Tensor, rows: Tensor) -> Tensor:
    """Minus the log-posterior of the right word of each point, ``(B,)``, against a pool of words."""
    logits = points @ pool.T / TEMPERATURE
    inside = (rows < len(pool)).nonzero()[:, 0]
    itself = torch.zeros_like(logits, dtype=torch.bool)
    itself[inside, rows[inside]] = True
    wrong = logits.masked_fill(itself, -torch.inf).logsumexp(1)
    return softplus(wrong - right)
