"""Which word of one mixture is which word of another: the E-step in both directions at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from demalib.mixture import LOG2E, WordMixture
from demalib.tiles import (
    FLOOR,
    Partners,
    add_partners_,
    add_rank_logits_,
    log2_sum,
    slices,
    tile_shape,
    weigh_,
)

FACTOR = FLOOR + 4  # bits; the product of two weights that are no smaller is not subnormal
HALF = {torch.float32: torch.float16, torch.float64: torch.float32}  # half the bytes


class Matched(NamedTuple):
    """Pair weights g_ij of two mixtures, summed up as the M-step needs them."""

    cross: Tensor  # (d, d), sum_ij g_ij x_i^T y_j
    src_weight: Tensor  # (n,), sum_j g_ij
    tgt_weight: Tensor  # (m,), sum_i g_ij
    log_prob: float  # mean log-density of x_i W up to a constant, for an orthogonal W
    log_prob_back: float  # the same of y_j W^T


@torch.no_grad()
def e_step(
    src: WordMixture,
    tgt: WordMixture,
    W: Tensor | None,
    beta: float | None = 1.0,
    by_rank: bool = True,
    memory: Tensor | None = None,
    of: tuple[Tensor, Tensor] | None = None,
    partners: Partners | None = None,
) -> Matched:
    r"""Ask both mixtures which word is which under a map, and weigh pairs by both answers.

    With p(j|i), the posterior of target word j for the point :math:`x_i W` (Eq. 9), and p(i|j),
    that of source word i for :math:`y_j W^T`, a pair weighs :math:`g_{ij} = p(j|i) + p(i|j)`, the
    E-step of Eq. 10 in both directions, or :math:`g_{ij} = (p(j|i)\,p(i|j))^\beta`, their
    agreement (Liang et al. 2006), under which a hub, which many words are close to, has to share.

    Args:
        src: Source words, ``(n, d)``.
        tgt: Target words, ``(m, d)``, of the same ``sigma2`` and ``tau``.
        W: The map, ``(d, d)``; None maps nothing.
        beta: 1/2 is the geometric mean of both posteriors, one step of symmetric Sinkhorn
            scaling; 1 is their product; None is their sum.
        by_rank: Use the rank prior; otherwise no prior.
        memory: What :func:`table_memory` made, to be used again in every round.
        of: Other vectors of the same words, ``(n, e)`` and ``(m, e)``, whose products are summed
            into ``cross`` instead.
        partners: The words that look like the source words, for a prior that can read
            (:mod:`demalib.spelling`); their values are added to the logits.

    Note:
        Both posteriors come from one table of logits :math:`l_{ij}`:
        :math:`\log g_{ij} = \beta\,(2 l_{ij} - \log\sum_j e^{l_{ij}} - \log\sum_i e^{l_{ij}})`.
        It is computed tile by tile and kept in half precision, relative to the best logit in its
        row of the tile, so that the two matrix products are nearly all of the time. A pair more than
        60 bits below that best one weighs nothing; in the sum of posteriors (``beta=None``) an
        outlier that is no row's candidate then has less than its share of one.
    """
    if (src.sigma2, src.tau) != (tgt.sigma2, tgt.tau):
        raise ValueError("e_step: both mixtures must have the same sigma2 and tau")
    x, y = src.centers, tgt.centers
    log_ranks = (src.log_ranks, tgt.log_ranks) if by_rank else None
    a, b = (x, y) if of is None else of
    partners = partners and Partners(partners.row, partners.value * LOG2E)
    table = _Table(_Logits(x, y, W, tgt.sigma2, log_ranks, partners), memory)
    found = a.new_zeros(len(a), b.shape[1])
    src_weight, tgt_weight = x.new_zeros(len(x)), x.new_zeros(len(y))
    for i, j, g in table.weights(beta):
        src_weight[i] += g.sum(1)
        tgt_weight[j] += g.sum(0)
        found[i].addmm_(g, b[j])
    means = (float(sums.mean()) / LOG2E for sums in (table.log_rows, table.log_cols))
    return Matched(a.T @ found, src_weight, tgt_weight, *means)


class _Table:
    """All logits l_ij of two mixtures in half precision, and the log-sums of rows and columns.

    Args:
        logits: What makes them, a tile at a time.
        memory: What :func:`table_memory` made.
    """

    def __init__(self, logits: _Logits, memory: Tensor | None) -> None:
        x, n, m = logits.query, len(logits.query), len(logits.keys)
        limits = zip(tile_shape(x), (n, m), strict=True)
        rows, columns = (min(limit, size) for limit, size in limits)
        memory = table_memory(x, n, m) if memory is None else memory
        self.spare = x.new_empty(2, rows * columns)
        self.blocks = [
            (s, i, t, j)
            for s, i in enumerate(slices(n, rows))
            for t, j in enumerate(slices(m, columns))
        ]
        sizes = [(i.stop - i.start) * (j.stop - j.start) for _, i, _, j in self.blocks]
        self.halves = memory[: n * m].split(sizes)
        self.tops, row_sums = x.new_empty(2, n, -(-m // columns))
        col_sums = x.new_empty(-(-n // rows), m)
        for (s, i, t, j), half in zip(self.blocks, self.halves, strict=True):
            tile, copy = (_as_tile(part, i, j) for part in self.spare)
            logits.write(i, j, tile, copy)
            top = tile.amax(1) + 1  # one bit above the best, so that no half is subnormal
            highest = top.max()
            alike = bool(top.min() > highest + FACTOR)
            if not alike:
                best = tile.amax(0)
                torch.sub(tile, best, out=copy)
                col_sums[s, j] = copy.clamp_(min=FACTOR).exp2_().sum(0).log2_() + best
            tile -= top[:, None]
            half.copy_(torch.threshold_(tile, FACTOR, -math.inf).view(-1))
            self.tops[i, t] = top
            row_sums[i, t] = tile.exp2_().sum(1).log2_() + top
            if alike:  # the usual case: the rows' weights serve the columns too
                total = (top - highest).exp2_() @ tile
                col_sums[s, j] = total.clamp_(min=2.0 ** (2 * FACTOR)).log2_() + highest
        self.log_rows, self.log_cols = log2_sum(row_sums, 1), log2_sum(col_sums, 0)

    def weights(self, beta: float | None) -> Iterator[tuple[slice, slice, Tensor]]:
        """Yield slices of rows and columns and their weights g_ij; the next overwrite them."""
        for (_, i, t, j), half in zip(self.blocks, self.halves, strict=True):
            tile, copy = (_as_tile(part, i, j) for part in self.spare)
            tile.view(-1).copy_(half)
            if beta is None:
                tile += self.tops[i, t][:, None]
                torch.sub(tile, self.log_cols[j], out=copy)
                tile -= self.log_rows[i][:, None]
                yield i, j, weigh_(tile).add_(weigh_(copy))
                continue
            rows = (beta * (2 * self.tops[i, t] - self.log_rows[i]))[:, None]
            torch.add(rows, tile, alpha=2 * beta, out=tile)
            tile -= beta * self.log_cols[j]
            yield i, j, weigh_(tile)


def table_memory(like: Tensor, n: int, m: int) -> Tensor:
    """Allocate a table of n x m logits in half precision for :func:`e_step`, ``(n * m,)``."""
    return torch.empty(n * m, dtype=HALF[like.dtype], device=like.device)


class _Logits:
    r"""Logits in bits of points x_i W and words y_j, a tile at a time.

    Without the prior they are :math:`(2\,x_i W \cdot y_j - \|x_i\|^2 - \|y_j\|^2) / 2\sigma^2`,
    in bits: :math:`-\|x_i W - y_j\|^2 / 2\sigma^2` for an orthogonal W. Points and words get a
    column each for what depends on one of them alone, so that one product makes the tile. Off the
    diagonal, where all ranks i are below all ranks j or above them, so does the prior.

    Args:
        x: Source words, ``(n, d)``.
        y: Target words, ``(m, d)``.
        W: The map, ``(d, d)``, or None.
        sigma2: The variance of both mixtures.
        log_ranks: What :meth:`WordMixture.log_rank` gives, ``(n,)`` and ``(m,)``; None for no prior.
        partners: Words that look alike, and what that adds in bits.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        W: Tensor | None,
        sigma2: float,
        log_ranks: tuple[Tensor, Tensor] | None,
        partners: Partners | None = None,
    ) -> None:
        scale = LOG2E / sigma2
        self.a, self.b = (-0.5 * scale * side.square().sum(1) for side in (x, y))
        mapped = x if W is None else x @ W
        self.query = torch.cat([scale * mapped, x.new_ones(len(x), 2)], dim=1)
        self.keys = torch.cat([y, y.new_ones(len(y), 2)], dim=1)
        self.log_ranks, self.partners = log_ranks, partners

    def write(self, i: slice, j: slice, tile: Tensor, spare: Tensor) -> None:
        """Write the logits of a block of rows and columns into a tile; the spare is overwritten."""
        sign = 0
        if self.log_ranks is not None:
            log_i, log_j = self.log_ranks[0][i], self.log_ranks[1][j]
            sign = int(log_i[-1] <= log_j[0]) - int(log_i[0] >= log_j[-1])
        query, keys = self.query[i], self.keys[j]
        query[:, -1], keys[:, -2] = self.a[i], self.b[j]
        if sign:
            query[:, -1] += sign * log_i
            keys[:, -2] -= sign * log_j
        torch.mm(query, keys.T, out=tile)
        if self.log_ranks is not None and not sign:
            add_rank_logits_(tile, log_i[:, None], log_j, spare)
        if self.partners is not None:
            add_partners_(tile, self.partners.of(i), j.start)


def _as_tile(memory: Tensor, i: slice, j: slice) -> Tensor:
    shape = (i.stop - i.start, j.stop - j.start)
    return memory[: math.prod(shape)].view(shape)
