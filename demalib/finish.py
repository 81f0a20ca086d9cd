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

from demalib.contrastive import contrastive_step
from demalib.matching import Matched
from demalib.procrustes import orthogonal_factor

LAST = ("contrastive", "symmetric", "free", "orthogonal")
NOISE, SIGMA2 = 0.003, 0.01  # variances of samples and components in the free step
NEGLIGIBLE = 1e-6  # a direction of less variance, relative to the largest, is left out


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
        P_x, P_y = contrastive_step([x, y], [P_x, P_y], {(0, 1): known})
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
    (white_x, colour_x), (white_y, colour_y) = roots(evidence.src), roots(evidence.tgt)
    u, s, vt = torch.linalg.svd(white_x @ evidence.cross.double() @ white_y)
    P_x = white_x @ (u * s.sqrt()) @ u.T @ colour_x @ u
    P_y = white_y @ (vt.T * s.sqrt()) @ vt @ colour_y @ vt.T
    return P_x.to(evidence.cross), P_y.to(evidence.cross)


def roots(moment: Tensor) -> tuple[Tensor, Tensor]:
    """The inverse square root of a moment and its square root, float64, ``(d, d)`` each."""
    values, vectors = torch.linalg.eigh(moment.double())
    keep = values > NEGLIGIBLE * values[-1]  # centring leaves a direction without variance
    root = torch.where(keep, values, 1.0).sqrt()
    white, colour = (torch.where(keep, part, 0.0) for part in (1 / root, root))
    return (vectors * white) @ vectors.T, (vectors * colour) @ vectors.T
