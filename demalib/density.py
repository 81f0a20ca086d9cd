"""Mixtures of Gaussians centred on words: sampling and log-density (Eqs. 3-5, 9).

A monolingual space is a mixture with one spherical Gaussian per word. Scoring B points under N
words would need a (B, N) table of logits; here that table is walked in tiles small enough for the
cache, and each tile is forgotten once it has been added to two running sums: the weights, and the
weighted words. The first gives the log-density; the second gives the posterior mean, which is at
once the gradient of the log-density and the E-step of an EM solver.

Words are sorted by frequency, so row ``j - 1`` of ``centers`` is the word of rank ``j``.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

LOG2E = 1 / math.log(2)  # logits are kept in bits: exp2 is twice as fast as exp
FLOOR = -120.0  # bits below the best logit at which a weight stops mattering, even in float64


class Posterior(NamedTuple):
    """What one pass over the components yields for each of B points."""

    log_density: Tensor  # (B,)
    mean: Tensor  # (B, d), the expected component sum_j r_ij y_j
    candidates: Tensor | None = None  # (B,), exp of the entropy of r_i; only if asked for


# ---- sampling -------------------------------------------------------------------------------


def word_weights(n: int, counts: Tensor | None = None) -> Tensor:
    r"""Mixture weights :math:`\pi(x_i)` of the ``n`` most frequent words, ``(n,)`` (Eq. 3).

    Args:
        n: Number of component words.
        counts: Corpus counts by rank, ``(>= n,)``; without them Zipf's law, ``1 / rank``.

    Note:
        The released code smooths the counts so much that its weights are nearly uniform, and
        by default does not use them at all: see ``sample_mixture``.
    """
    if counts is None:
        counts = 1.0 / torch.arange(1, n + 1, dtype=torch.float64)
    if len(counts) < n or bool((counts[:n] < 0).any()) or not bool(counts[:n].sum() > 0):
        raise ValueError(f"counts must hold {n} numbers >= 0, not all zero; got {len(counts)}")
    return counts[:n].double() / counts[:n].double().sum()


def sample_mixture(
    centers: Tensor,
    size: int,
    sigma2: float,
    weights: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Draw words, then points around them (Eqs. 3, 4).

    Args:
        centers: Component means by rank, ``(N, d)``.
        size: Number of points B.
        sigma2: Variance :math:`\sigma_x^2` of every component; 0 returns the words themselves.
        weights: Mixture weights, ``(N,)``, as from ``word_weights``; ``None`` draws uniformly.
        generator: Source of randomness, on the device of ``centers``.

    Returns:
        Points ``(B, d)``, and the 1-based ranks ``(B,)`` of their words.

    Note:
        The paper draws words by frequency; the released code draws them uniformly.
    """
    n, device = len(centers), centers.device
    if not sigma2 >= 0:
        raise ValueError(f"sigma2 is a variance, at least 0; got {sigma2}")
    if weights is None:
        index = torch.randint(n, (size,), generator=generator, device=device)
    elif weights.shape != (n,):
        raise ValueError(f"weights must be ({n},), one per center; got {tuple(weights.shape)}")
    else:
        index = torch.multinomial(weights.to(device), size, True, generator=generator)
    shape, kind = (size, centers.shape[1]), {"device": device, "dtype": centers.dtype}
    noise = torch.randn(shape, generator=generator, **kind)
    return centers[index] + math.sqrt(sigma2) * noise, index + 1


# ---- the frequency-matching prior -----------------------------------------------------------


def rank_log_prior(ranks: Tensor, n: int, tau: float = 2.0) -> Tensor:
    r"""The whole table :math:`\log\pi(y_j|x_i)`, ``(B, n)`` (Section 3.3): to look at, and to test.

    Note:
        The paper prints ``/ tau`` outside the exponential in the numerator; inside is the softmax.
    """
    log_j = torch.arange(1, n + 1, device=ranks.device).log()
    return torch.log_softmax(-(log_j - ranks.log()[:, None]).abs() / tau, dim=-1)


def rank_log_normalizer(ranks: Tensor, n: int, tau: float = 2.0) -> Tensor:
    r"""Log of the denominator of the rank prior, ``(B,)`` in float64, in O(n + B) (Section 3.3).

    Words up to rank i add :math:`(j/i)^{1/\tau}`, words beyond it :math:`(i/j)^{1/\tau}`: two
    cumulative sums, taken in logarithms, hold the answer for every rank.
    """
    log_j = torch.arange(1, n + 1, device=ranks.device, dtype=torch.float64).log() / tau
    log_i = ranks.double().log() / tau
    up_to = torch.logcumsumexp(log_j, 0)  # at index k: sum over ranks 1 .. k + 1
    beyond = torch.logcumsumexp(-log_j.flip(0), 0).flip(0)  # at index k: sum over ranks k + 1 .. n
    beyond = torch.cat([beyond, beyond.new_full((1,), -math.inf)])
    i = ranks.clamp(max=n)
    return torch.logaddexp(up_to[i - 1] - log_i, beyond[i] + log_i)


# ---- log-density and posterior --------------------------------------------------------------


def log_density(
    y: Tensor,
    centers: Tensor,
    sigma2: float,
    *,
    ranks: Tensor | None = None,
    tau: float = 2.0,
    log_prior: Tensor | None = None,
    tile: tuple[int, int] | None = None,
    matmul_dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Log-density of points under the mixture, differentiable in ``y`` (Eq. 9; Eq. 5 if naive).

    Args:
        y: Points to score, ``(B, d)``.
        centers: Component means by rank, ``(N, d)``; constants, they get no gradient.
        sigma2: The shared variance :math:`\sigma_y^2`.
        ranks: 1-based ranks ``(B,)`` of the words the points came from: turns on the
            frequency-matching prior :math:`\pi(y_j|x_i)`. They may exceed N.
        tau: Temperature of that prior.
        log_prior: Naive prior :math:`\log\pi(y_j)`, ``(N,)``, instead of ``ranks``. With
            neither, every component weighs ``1 / N``.
        tile: Points and components handled at once; ``None`` chooses by device. Two such tiles
            should fit the cache: 512 columns or 2048 are as fast, but fewer tiles mean less
            waiting for each other when threads share a busy machine.
        matmul_dtype: For instance ``torch.bfloat16``: round the factors of both matrix products,
            for speed on a GPU (torch >= 2.8). Their sums, and everything else, keep the dtype of
            ``y``. TF32 needs no argument: ``torch.set_float32_matmul_precision("high")``.

    Returns:
        Log-densities, ``(B,)``, on the device and in the dtype of ``y``.
    """
    with torch.no_grad():
        post = posterior(
            y, centers, sigma2, ranks=ranks, tau=tau, log_prior=log_prior, tile=tile,
            matmul_dtype=matmul_dtype,
        )  # fmt: skip
        slope = (post.mean - y) / sigma2  # the gradient, out of the same pass
    return _Scored.apply(y, post.log_density, slope)


class _Scored(torch.autograd.Function):
    """Values whose gradient with respect to each row of ``y`` is known already."""

    @staticmethod
    def forward(ctx, y: Tensor, value: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return grad[:, None] * slope, None, None


@torch.no_grad()
def posterior(
    y: Tensor,
    centers: Tensor,
    sigma2: float,
    *,
    ranks: Tensor | None = None,
    tau: float = 2.0,
    log_prior: Tensor | None = None,
    tile: tuple[int, int] | None = None,
    matmul_dtype: torch.dtype | None = None,
    entropy: bool = False,
) -> Posterior:
    r"""Which component made each point: :math:`r_{ij} \propto \pi(y_j|x_i)\,p(y_i|y_j)` (Eq. 9).

    Takes the arguments of ``log_density``, and no gradient passes. For unit centers this is the
    E-step :math:`r_{ij} = \mathrm{softmax}_j(y_i \cdot y_j / \sigma^2 + \log\pi)`.

    Args:
        entropy: Also return the effective number of candidates, :math:`\exp H(r_i)`.

    Returns:
        ``Posterior(log_density (B,), mean (B, d), candidates (B,) or None)``.
    """
    _check(y, centers, sigma2, ranks, tau, log_prior)
    (size, d), n = y.shape, len(centers)
    rows, columns = tile or ((2048, 2048) if y.device.type == "cpu" else (4096, 8192))
    bias = centers.square().sum(1) / (-2 * sigma2)  # (N,), all of a logit that hangs on j alone
    log_i = log_j = None
    log_norm = -0.5 * y.square().sum(1) / sigma2 - 0.5 * d * math.log(2 * math.pi * sigma2)  # (B,)
    if ranks is not None:
        log_i = ranks.to(y).log() * (LOG2E / tau)
        log_j = torch.arange(1, n + 1, device=y.device).to(y).log() * (LOG2E / tau)
        log_norm -= rank_log_normalizer(ranks, n, tau).to(y)
    else:
        bias += -math.log(n) if log_prior is None else log_prior.to(y)
    parts = []
    for i in range(0, max(size, 1), rows):
        block = slice(i, i + rows)
        near = None if ranks is None else (log_i[block, None], log_j)
        query = y[block] * (LOG2E / sigma2)
        parts.append(_stream(query, centers, bias * LOG2E, near, columns, matmul_dtype, entropy))
    log_sum, mean, bits = (torch.cat(part) for part in zip(*parts, strict=True))
    return Posterior(log_norm + log_sum / LOG2E, mean, torch.exp2(bits) if entropy else None)


def _stream(query, centers, bias, near, columns, matmul_dtype, entropy) -> tuple[Tensor, ...]:
    """Online softmax: log2 of the sum of weights, their mean center, their entropy in bits.

    The sums so far are relative to the best logit so far; when a better one turns up, they are
    scaled down (``keep``). Tiles are written over each other, so memory does not grow with N.
    """
    best = query.new_full((len(query), 1), -1e30)  # finite, so that -inf logits do no harm
    total, heat, mean = torch.zeros_like(best), torch.zeros_like(best), torch.zeros_like(query)
    tiles = query.new_empty(2, len(query), min(columns, len(centers)))
    for j in range(0, len(centers), columns):
        block = slice(j, j + columns)
        tile, spare = tiles[:, :, : len(centers[block])]  # (rows, columns) each
        _product(query, centers[block].T, matmul_dtype, out=tile)
        tile += bias[block]
        if near is not None:  # the rank prior: minus |log i - log j| / tau
            tile -= torch.sub(near[0], near[1][block], out=spare).abs_()
        new = torch.maximum(best, tile.amax(1, keepdim=True))
        tile -= new
        tile.clamp_(min=FLOOR)  # numbers below 2^-126 are slow, and add nothing
        keep = torch.exp2(best - new)
        if entropy:  # heat: sum of weight times logit
            spare.copy_(tile)
            heat = keep * (heat + (best - new) * total) + spare.mul_(tile.exp2()).sum(1, True)
        tile.exp2_()  # from logits to weights
        total = keep * total + tile.sum(1, keepdim=True)
        _product(tile, centers[block], matmul_dtype, out=mean.mul_(keep), add=True)
        best = new
    return (best + total.log2())[:, 0], mean / total, (total.log2() - heat / total)[:, 0]


def _product(a: Tensor, b: Tensor, dtype: torch.dtype | None, out: Tensor, add=False) -> None:
    """``out = a @ b``, or ``out += a @ b``; factors rounded to ``dtype``, sums never."""
    if dtype is not None:
        a, b = a.to(dtype), b.to(dtype)
        if a.is_cuda:
            result = torch.mm(a, b, out_dtype=out.dtype)
            out.add_(result) if add else out.copy_(result)
            return
        a, b = a.to(out), b.to(out)  # no mixed product here: the same rounding without the speed
    torch.addmm(out, a, b, beta=int(add), out=out)


def _check(y, centers, sigma2, ranks, tau, log_prior) -> None:
    """Say in words what is wrong with the arguments of ``log_density``."""
    if not (y.dim() == centers.dim() == 2 and y.shape[1] == centers.shape[1]):
        shapes = f"{tuple(y.shape)} and {tuple(centers.shape)}"
        raise ValueError(f"y must be (B, d) and centers (N, d) with the same d; got {shapes}")
    if y.dtype != centers.dtype:
        raise ValueError(f"y and centers must share a dtype; got {y.dtype} and {centers.dtype}")
    if centers.requires_grad:
        raise ValueError("centers get no gradient here; pass centers.detach()")
    if len(centers) == 0 or not sigma2 > 0 or not tau > 0:
        raise ValueError(f"need a center, sigma2 > 0 and tau > 0; got {sigma2=}, {tau=}")
    if ranks is not None and log_prior is not None:
        raise ValueError("give ranks (rank prior) or log_prior (naive prior), not both")
    for name, given, size in (("ranks", ranks, len(y)), ("log_prior", log_prior, len(centers))):
        if given is not None and given.shape != (size,):
            raise ValueError(f"{name} must have shape ({size},); got {tuple(given.shape)}")
    if ranks is not None and (ranks.is_floating_point() or bool((ranks < 1).any())):
        raise ValueError("ranks are whole numbers that start at 1, not indices that start at 0")
