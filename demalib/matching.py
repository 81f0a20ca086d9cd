"""Which word of one mixture is which word of another: the E-step in both directions at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from demalib.mixture import LOG2E, WordMixture
from demalib.tiles import FLOOR, add_rank_logits_, log2_sum, slices, tile_shape, weigh_

HALF = {torch.float32: torch.float16, torch.float64: torch.float32}  # half the bytes


class Matched(NamedTuple):
    """Pair weights g_ij of two mixtures, summed up as the M-step needs them."""

    cross: Tensor  # (d, d), sum_ij g_ij x_i^T y_j
    src_weight: Tensor  # (n,), sum_j g_ij
    tgt_weight: Tensor  # (m,), sum_i g_ij
    log_prob: float  # mean log-density of x_i W up to a constant, for an orthogonal W


@torch.no_grad()
def e_step(
    src: WordMixture,
    tgt: WordMixture,
    W: Tensor,
    beta: float = 1.0,
    by_rank: bool = True,
    memory: Tensor | None = None,
    known: Tensor | None = None,
) -> Matched:
    r"""Ask both mixtures which word is which under a map, and weigh pairs by their agreement.

    With p(j|i), the posterior of target word j for the point :math:`x_i W` (Eq. 9), and p(i|j),
    that of source word i for :math:`y_j W^T`, a pair weighs
    :math:`g_{ij} = (p(j|i)\,p(i|j))^\beta`. A hub, which many words are close to, has to share.

    Args:
        src: Source words, ``(n, d)``.
        tgt: Target words, ``(m, d)``, of the same ``sigma2`` and ``tau``.
        W: The map, ``(d, d)``.
        beta: 1/2 is the geometric mean of both posteriors, 1 their product.
        by_rank: Use the rank prior; otherwise no prior.
        memory: What :func:`table_memory` made, to be used again in every round.
        known: Row numbers of pairs whose words take no part, since their partners are known,
            ``(K, 2)``; their weights here are 0.

    Note:
        Both posteriors come from one table of logits :math:`l_{ij}`:
        :math:`\log g_{ij} = \beta\,(2 l_{ij} - \log\sum_j e^{l_{ij}} - \log\sum_i e^{l_{ij}})`.
        It is computed tile by tile and kept in half precision, relative to the best logit in its
        row of the tile, so that the two matrix products are nearly all of the time.
    """
    if (src.sigma2, src.tau) != (tgt.sigma2, tgt.tau):
        raise ValueError("e_step: both mixtures must have the same sigma2 and tau")
    rows, columns = (_free_rows(side, known, k) for k, side in enumerate((src, tgt)))
    x, y = src.centers[rows], tgt.centers[columns]
    src_weight, tgt_weight = (side.centers.new_zeros(len(side)) for side in (src, tgt))
    if not len(x) or not len(y):
        return Matched(torch.zeros_like(W), src_weight, tgt_weight, 0.0)
    log_ranks = (src.log_ranks[rows], tgt.log_ranks[columns]) if by_rank else None
    table = _Table(x, y, W, tgt.sigma2, log_ranks, memory)
    found, row_sums, col_sums = torch.zeros_like(x), x.new_zeros(len(x)), x.new_zeros(len(y))
    for i, j, g in table.weights(beta):
        row_sums[i] += g.sum(1)
        col_sums[j] += g.sum(0)
        found[i].addmm_(g, y[j])
    src_weight[rows], tgt_weight[columns] = row_sums, col_sums
    return Matched(x.T @ found, src_weight, tgt_weight, float(table.log_rows.mean()) / LOG2E)


def _free_rows(side: WordMixture, known: Tensor | None, column: int) -> slice | Tensor:
    """All words of a mixture but those of known pairs."""
    if known is None or not len(known):
        return slice(None)
    free = torch.ones(len(side), dtype=torch.bool, device=side.centers.device)
    taken = known[:, column]
    free[taken[taken < len(side)]] = False
    return free.nonzero()[:, 0]


class _Table:
    """All logits l_ij of two mixtures in half precision, and the log-sums of rows and columns.

    Args:
        x: Source words, ``(n, d)``.
        y: Target words, ``(m, d)``.
        W: The map, ``(d, d)``.
        sigma2: The variance of both mixtures.
        log_ranks: What :meth:`WordMixture.log_rank` gives, ``(n,)`` and ``(m,)``; None for no prior.
        memory: What :func:`table_memory` made.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        W: Tensor,
        sigma2: float,
        log_ranks: tuple[Tensor, Tensor] | None,
        memory: Tensor | None,
    ) -> None:
        n, m = len(x), len(y)
        query, keys = _with_biases(x, y, W, sigma2)
        limits = zip(tile_shape(x), (n, m), strict=True)
        rows, columns = (min(limit, size) for limit, size in limits)
        memory = table_memory(x, n, m) if memory is None else memory
        self.logits, self.spare = memory[: n * m].view(n, m), x.new_empty(2, rows * columns)
        self.blocks = [
            (s, i, t, j)
            for s, i in enumerate(slices(n, rows))
            for t, j in enumerate(slices(m, columns))
        ]
        self.tops, row_sums = x.new_empty(2, n, -(-m // columns))
        col_sums = x.new_empty(-(-n // rows), m)
        for s, i, t, j in self.blocks:
            tile, copy = (_as_tile(part, i, j) for part in self.spare)
            torch.mm(query[i], keys[j].T, out=tile)
            if log_ranks is not None:
                add_rank_logits_(tile, log_ranks[0][i, None], log_ranks[1][j], copy)
            top = tile.amax(0)
            torch.sub(tile, top, out=copy)
            col_sums[s, j] = copy.clamp_(min=FLOOR).exp2_().sum(0).log2_() + top
            top = tile.amax(1) + 1  # one bit above the best, so that no half is subnormal
            tile -= top[:, None]
            self.logits[i, j], self.tops[i, t] = torch.threshold_(tile, FLOOR, -math.inf), top
            row_sums[i, t] = tile.exp2_().sum(1).log2_() + top
        self.log_rows, self.log_cols = log2_sum(row_sums, 1), log2_sum(col_sums, 0)

    def weights(self, beta: float) -> Iterator[tuple[slice, slice, Tensor]]:
        """Yield slices of rows and columns and their weights g_ij; the next overwrite them."""
        for _, i, t, j in self.blocks:
            tile = _as_tile(self.spare[0], i, j).copy_(self.logits[i, j])
            rows = (beta * (2 * self.tops[i, t] - self.log_rows[i]))[:, None]
            torch.add(rows, tile, alpha=2 * beta, out=tile)
            tile -= beta * self.log_cols[j]
            yield i, j, weigh_(tile)


def table_memory(like: Tensor, n: int, m: int) -> Tensor:
    """Allocate a table of n x m logits in half precision for :func:`e_step`, ``(n * m,)``."""
    return torch.empty(n * m, dtype=HALF[like.dtype], device=like.device)


def _with_biases(x: Tensor, y: Tensor, W: Tensor, sigma2: float) -> tuple[Tensor, Tensor]:
    r"""Give points and words two more columns, so that their products are logits in bits.

    :math:`(2\,x_i W \cdot y_j - \|x_i\|^2 - \|y_j\|^2) / 2\sigma^2`, in bits, is
    :math:`-\|x_i W - y_j\|^2 / 2\sigma^2` for an orthogonal W.

    Returns:
        ``(n, d + 2)`` and ``(m, d + 2)``.
    """
    scale = LOG2E / sigma2
    a, b = (-0.5 * scale * side.square().sum(1, keepdim=True) for side in (x, y))
    query = torch.cat([(x @ W).mul_(scale), a, torch.ones_like(a)], dim=1)
    return query, torch.cat([y, torch.ones_like(b), b], dim=1)


def _as_tile(memory: Tensor, i: slice, j: slice) -> Tensor:
    shape = (i.stop - i.start, j.stop - j.start)
    return memory[: math.prod(shape)].view(shape)
