r"""One language as a mixture of Gaussians centred on its words (Eqs. 3-5, 9).

A :class:`WordMixture` draws points and scores them; ``french.log_prob(english.sample(256) @ W)`` is
the heart of the paper. Scoring B points under N words needs a (B, N) table of logits. The table is
walked in tiles small enough for the cache, so that nothing of that size is kept.

Words are sorted by frequency: row ``j - 1`` of ``centers`` is the word of rank ``j``.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from demalib.tiles import FLOOR, add_rank_logits_, product_, tile_shape, weigh_

LOG2E = 1 / math.log(2)  # logits are kept in bits: exp2 takes a third of the time of exp


class Posterior(NamedTuple):
    """What one pass over the words says of each of B points."""

    log_prob: Tensor  # (B,)
    mean: Tensor  # (B, d), the expected word sum_j r_ij y_j
    candidates: Tensor | None = None  # (B,), exp of the entropy of r_i; only on request


class WordMixture:
    r"""A mixture :math:`p(y) = \sum_j \pi(y_j)\,\mathcal N(y; y_j, \sigma^2 I)` (Eqs. 3-5).

    Args:
        centers: Word vectors by rank, ``(N, d)``; constants, they get no gradient.
        sigma2: The variance :math:`\sigma^2` that all words share.
        counts: Corpus counts by rank, ``(>= N,)``; without them Zipf's law, ``1 / rank``.
        noise: Variance of samples; ``sigma2`` if left out. The released scripts set both.
        tau: Temperature of the rank prior (Section 3.3).

    Example:
        >>> gen = torch.Generator().manual_seed(0)
        >>> english = WordMixture(torch.eye(3), sigma2=0.01)
        >>> english.sample(4, gen).shape
        torch.Size([4, 3])
        >>> [round(float(p), 2) for p in english.log_prob(torch.eye(3))]
        [3.54, 2.85, 2.45]
    """

    def __init__(
        self,
        centers: Tensor,
        sigma2: float,
        counts: Tensor | None = None,
        *,
        noise: float | None = None,
        tau: float = 2.0,
    ) -> None:
        if centers.dim() != 2 or len(centers) == 0:
            raise ValueError(f"centers must be (N, d) with N >= 1; got {tuple(centers.shape)}")
        if centers.requires_grad:
            raise ValueError("centers get no gradient here; pass centers.detach()")
        self.noise = sigma2 if noise is None else noise
        if not sigma2 > 0 or not tau > 0 or not self.noise >= 0:
            raise ValueError(
                f"need sigma2 > 0, tau > 0 and noise >= 0; got {sigma2=}, {tau=}, noise={noise}"
            )
        self.centers, self.sigma2, self.tau = centers, sigma2, tau
        self.weights = word_weights(len(centers), counts).to(centers.device)  # (N,), float64

    def __len__(self) -> int:
        return len(self.centers)

    # ---- sampling

    def sample_ranks(
        self, size: int, generator: torch.Generator | None = None, uniform: bool = False
    ) -> Tensor:
        r"""Draw words :math:`i \sim \pi` (Eq. 3); the 1-based ranks, ``(size,)``.

        Args:
            size: How many.
            generator: Source of randomness, on the device of ``centers``.
            uniform: Draw every word equally often, as the released code does.
        """
        device = self.centers.device
        if uniform:
            return torch.randint(len(self), (size,), generator=generator, device=device) + 1
        return torch.multinomial(self.weights, size, True, generator=generator) + 1

    def sample_around(self, ranks: Tensor, generator: torch.Generator | None = None) -> Tensor:
        r"""Draw a point around each word, :math:`x \sim \mathcal N(x_i, \sigma^2 I)` (Eq. 4).

        Args:
            ranks: 1-based ranks of the words, ``(B,)``.
            generator: Source of randomness, on the device of ``centers``.

        Returns:
            Points, ``(B, d)``.
        """
        words = self.centers[ranks - 1]
        noise = torch.randn(
            words.shape, generator=generator, device=words.device, dtype=words.dtype
        )
        return words + math.sqrt(self.noise) * noise

    def sample(self, size: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw points, ``(size, d)``: words first, then a point around each (Eqs. 3, 4)."""
        return self.sample_around(self.sample_ranks(size, generator), generator)

    # ---- the prior

    def log_prior(self, ranks: Tensor | None = None) -> Tensor:
        r"""The log of the mixture weights: a table to look at, and to test.

        Args:
            ranks: 1-based ranks i of the words behind B points. With them the frequency-matching
                prior :math:`\log\pi(y_j|x_i)`, ``(B, N)`` (Section 3.3): the softmax over j of
                :math:`-|\log i - \log j| / \tau`. Without them the naive :math:`\log\pi(y_j)`,
                ``(N,)`` (Eq. 5).

        Note:
            The paper prints ``/ tau`` outside the exponential in the numerator; inside is the
            softmax.
        """
        if ranks is None:
            return self.weights.log().to(self.centers)
        gap = self.log_rank(ranks)[:, None] - self.log_ranks
        return torch.log_softmax(-gap.abs() / LOG2E, dim=-1)

    def log_rank(self, ranks: Tensor) -> Tensor:
        """Logarithms of ranks in bits, divided by tau: a gap is minus the rank prior's logit."""
        return ranks.to(self.centers).log() * (LOG2E / self.tau)

    @cached_property
    def log_ranks(self) -> Tensor:
        """:meth:`log_rank` of all words, ``(N,)``."""
        return self.log_rank(torch.arange(1, len(self) + 1, device=self.centers.device))

    def _rank_log_normalizer(self, ranks: Tensor) -> Tensor:
        r"""Log of the rank prior's denominator, ``(B,)`` in float64, in O(N + B).

        Words up to rank i add :math:`(j/i)^{1/\tau}`, words beyond it :math:`(i/j)^{1/\tau}`: two
        cumulative sums, taken in logarithms, have the answer for every rank.
        """
        n = len(self)
        log_j = torch.arange(1, n + 1, device=ranks.device, dtype=torch.float64).log() / self.tau
        log_i = ranks.double().log() / self.tau
        up_to = torch.logcumsumexp(log_j, 0)  # at index k: sum over ranks 1 .. k + 1
        beyond = torch.logcumsumexp(-log_j.flip(0), 0).flip(0)  # at index k: ranks k + 1 .. n
        beyond = torch.cat([beyond, beyond.new_full((1,), -math.inf)])
        i = ranks.clamp(max=n)
        return torch.logaddexp(up_to[i - 1] - log_i, beyond[i] + log_i)

    # ---- scoring

    def log_prob(self, y: Tensor, ranks: Tensor | None = None, **options: Any) -> Tensor:
        r"""Log-density of points, once differentiable in ``y`` (Eq. 9 with ``ranks``, else Eq. 5).

        Args:
            y: Points to score, ``(B, d)``.
            ranks: 1-based ranks ``(B,)`` of the words the points came from: turns on the
                frequency-matching prior :math:`\pi(y_j|x_i)`. They may exceed N.
            **options: ``tile`` and ``matmul_dtype`` of :meth:`posterior`.

        Returns:
            Log-densities, ``(B,)``, on the device and in the dtype of ``y``.
        """
        post = self.posterior(y, ranks, **options)
        slope = (post.mean - y.detach()) / self.sigma2  # the gradient, out of the same pass
        return post.log_prob + (slope * (y - y.detach())).sum(1)  # adds zero, and its slope

    @torch.no_grad()
    def posterior(
        self,
        y: Tensor,
        ranks: Tensor | None = None,
        *,
        entropy: bool = False,
        tile: tuple[int, int] | None = None,
        matmul_dtype: torch.dtype | None = None,
    ) -> Posterior:
        r"""Which word made each point: :math:`r_{ij} \propto \pi(y_j|x_i)\,p(y_i|y_j)` (Eq. 9).

        For unit centers this is :math:`r_{ij} = \mathrm{softmax}_j(y_i \cdot y_j / \sigma^2 +
        \log\pi)`. No gradient passes.

        Args:
            y: Points, ``(B, d)``.
            ranks: As in :meth:`log_prob`.
            entropy: Also return the effective number of candidates, :math:`\exp H(r_i)`.
            tile: Points and words handled at once; ``None`` chooses by device.
            matmul_dtype: ``torch.bfloat16`` rounds the factors of both matrix products, for speed
                on a GPU; sums keep the dtype of ``y``. Refused on a CPU, where such products are
                slow and, on some, broken.

        Returns:
            ``Posterior(log_prob (B,), mean (B, d), candidates (B,) or None)``.
        """
        self._check(y, ranks, matmul_dtype)
        size, d = y.shape
        rows, columns = tile or tile_shape(y)
        bias = self.centers.square().sum(1) / (-2 * self.sigma2)  # (N,), part of j alone
        log_norm = -0.5 * (
            y.square().sum(1) / self.sigma2 + d * math.log(2 * math.pi * self.sigma2)
        )
        log_i = None
        if ranks is None:
            bias = bias + self.log_prior()
        else:
            log_i = self.log_rank(ranks)[:, None]
            log_norm = log_norm - self._rank_log_normalizer(ranks).to(y)
        parts = []
        for i in range(0, max(size, 1), rows):
            block = slice(i, i + rows)
            query = y[block] * (LOG2E / self.sigma2)
            gap = None if log_i is None else log_i[block]
            parts.append(self._stream(query, bias * LOG2E, gap, columns, matmul_dtype, entropy))
        log_sum, mean, bits = (torch.cat(part) for part in zip(*parts, strict=True))
        return Posterior(log_norm + log_sum / LOG2E, mean, torch.exp2(bits) if entropy else None)

    def _stream(
        self,
        query: Tensor,
        bias: Tensor,
        log_i: Tensor | None,
        columns: int,
        matmul_dtype: torch.dtype | None,
        entropy: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Online softmax: log2 of the sum of weights, their mean center, their entropy in bits.

        The sums so far are relative to the best logit so far; when a better one turns up, they
        are scaled down (``keep``). Tiles are written over each other, so memory does not grow
        with N.
        """
        best = query.new_full((len(query), 1), -1e30)  # finite, so that -inf logits do no harm
        total, heat, mean = torch.zeros_like(best), torch.zeros_like(best), torch.zeros_like(query)
        tiles = query.new_empty(2, len(query), min(columns, len(self)))
        for j in range(0, len(self), columns):
            words = self.centers[j : j + columns]
            tile, spare = tiles[:, :, : len(words)]  # (rows, columns) each
            product_(query, words.T, matmul_dtype, out=tile)
            tile += bias[j : j + columns]
            if log_i is not None:
                add_rank_logits_(tile, log_i, self.log_ranks[j : j + columns], spare)
            new = torch.maximum(best, tile.amax(1, keepdim=True))
            tile -= new
            keep = weigh_(best - new)
            if entropy:  # heat: sum of weight times logit
                spare.copy_(tile.clamp_(min=FLOOR))
                heat = keep * (heat + (best - new).clamp(min=FLOOR) * total)
            weigh_(tile)
            if entropy:
                heat += spare.mul_(tile).sum(1, keepdim=True)
            total = keep * total + tile.sum(1, keepdim=True)
            product_(tile, words, matmul_dtype, out=mean.mul_(keep), add=True)
            best = new
        return (best + total.log2())[:, 0], mean / total, (total.log2() - heat / total)[:, 0]

    def _check(self, y: Tensor, ranks: Tensor | None, matmul_dtype: torch.dtype | None) -> None:
        """Say in words what is wrong with the arguments of :meth:`posterior`."""
        if y.dim() != 2 or y.shape[1] != self.centers.shape[1]:
            shapes = f"{tuple(y.shape)} and {tuple(self.centers.shape)}"
            raise ValueError(f"y must be (B, d) and centers (N, d) with the same d; got {shapes}")
        if y.dtype != self.centers.dtype:
            raise ValueError(
                f"y and centers must share a dtype; got {y.dtype} and {self.centers.dtype}"
            )
        if matmul_dtype is not None and y.device.type == "cpu":
            raise ValueError(f"matmul_dtype {matmul_dtype} is for GPUs; leave it out on a CPU")
        if ranks is None:
            return
        if ranks.shape != (len(y),):
            raise ValueError(f"ranks must have shape ({len(y)},); got {tuple(ranks.shape)}")
        if ranks.is_floating_point() or bool((ranks < 1).any()):
            raise ValueError("ranks are whole numbers that start at 1, not indices that start at 0")


def word_weights(n: int, counts: Tensor | None = None) -> Tensor:
    r"""Mixture weights :math:`\pi(x_i)` of the ``n`` most frequent words, ``(n,)`` (Eq. 3).

    Args:
        n: Number of words.
        counts: Corpus counts by rank, ``(>= n,)``; without them Zipf's law, ``1 / rank``.

    Note:
        The released code smooths the counts so much that its weights are nearly uniform, and
        by default does not use them at all: see :meth:`WordMixture.sample_ranks`.
    """
    if counts is None:
        counts = 1.0 / torch.arange(1, n + 1, dtype=torch.float64)
    if len(counts) < n or bool((counts[:n] < 0).any()) or not bool(counts[:n].sum() > 0):
        raise ValueError(f"counts must hold {n} numbers >= 0, not all zero; got {len(counts)}")
    return counts[:n].double() / counts[:n].double().sum()
