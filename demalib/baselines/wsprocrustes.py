"""Wasserstein-Procrustes: alternate transport of words and rotation, WS-Procrustes (R).

It assumes that the words of one language, rotated, are the words of the other in another order.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from demalib.baselines.shared import Sizes, require_words
from demalib.baselines.sinkhorn import transport
from demalib.config import Config
from demalib.device import make_generator
from demalib.pair import Mapping, Pair
from demalib.procrustes import orthogonal_factor, procrustes, refine
from demalib.progress import progress

ENTROPY = 0.05  # weight of the entropy in every transport problem, released code
SWEEPS = 100  # most iterations of a transport problem; released code stops at an error of 1e-3
WORDS = 20_000  # most frequent words, released code
EPOCHS, BATCH, RATE = 5, 500, 500.0  # batch doubles each epoch; step RATE / batch, released code
REFINEMENTS = 5  # released code


class Size(NamedTuple):
    """Settings that the recipe decides."""

    start_words: int  # most frequent words, for the convex start
    start_rounds: int  # of Frank-Wolfe
    steps: int  # in the first epoch; each further epoch has a quarter of the last


PUBLISHED = Size(2500, 100, 5000)  # released code
LAPTOP = Size(1000, 50, 500)
SIZES = Sizes(LAPTOP, PUBLISHED)


def root_spectrum(side: Tensor) -> Tensor:
    r"""Replace singular values by their square roots: :math:`U S^{1/2} V^T`."""
    u, s, vt = torch.linalg.svd(side, full_matrices=False)
    return (u * s.sqrt()) @ vt


def assign(cost: Tensor) -> Tensor:
    """Compute the soft matching of least cost, ``(n, n)``; rows and columns sum to 1."""
    return len(cost) * transport(cost, 1 / ENTROPY, SWEEPS)


def convex_start(x: Tensor, y: Tensor, rounds: int) -> Tensor:
    r"""Match two sets of words by their Gram matrices, then rotate.

    Frank-Wolfe minimises :math:`\|K_X P - P K_Y\|_F^2` over doubly stochastic P, the convex
    relaxation of the quadratic assignment problem; K is a Gram matrix of low rank, so that no
    product of two ``(n, n)`` matrices is needed.

    Args:
        x: Source words, ``(n, d)``.
        y: Target words, ``(n, d)``.
        rounds: Number of Frank-Wolfe rounds, with the step 2 / (2 + t).

    Returns:
        The rotation, ``(d, d)``, that fits the matching.
    """
    a, b = root_spectrum(x), root_spectrum(y)
    gram_a, gram_b = a.T @ a, b.T @ b
    ratio = gram_a.norm() / gram_b.norm()  # ||K_X|| = ||a^T a||
    b, gram_b = b * ratio.sqrt(), gram_b * ratio
    P = x.new_full((len(x), len(x)), 1 / len(x))  # row: source word, column: target word
    for t in progress(range(1, rounds + 1), desc="convex start", unit="round"):
        aP, Pb = a.T @ P, P @ b
        gradient = a @ (gram_a @ aP) + (Pb @ gram_b) @ b.T - 2 * a @ (aP @ b) @ b.T
        P += 2 / (2 + t) * (assign(gradient) - P)
    return procrustes(x, P @ y)


def step(x: Tensor, y: Tensor, W: Tensor, rate: float) -> Tensor:
    """Transport one batch, ``(n, d)`` each, then step along the gradient (Algorithm 1)."""
    mapped = x @ W
    return orthogonal_factor(W + rate * (x.T @ (assign(-mapped @ y.T) @ y)))


def fit(pair: Pair, config: Config) -> Mapping:
    """Fit Wasserstein-Procrustes with its convex start, then refine (Grave et al. 2018).

    Defaults: normalisation unit, center, unit (released code); entropy 0.05; start by 100 rounds
    of Frank-Wolfe on 2,500 words whose singular values are square-rooted (released code); then
    Algorithm 1 on the 20,000 most frequent words: 5 epochs, the first of 5,000 steps in batches of
    500; each further epoch has a quarter of the steps and twice the batch, step size 500 over the
    batch (released code); 5 refinements (released code) with mutual CSLS neighbours.

    Args:
        pair: Two spaces.
        config: ``seed``; ``refinements``, ``dictionary``, ``max_rank`` and ``knn``; the recipe
            ``laptop`` has 1,000 words and 50 rounds at the start, and 500 steps in the first epoch
            instead.

    Note:
        Every transport problem gets 100 iterations of Sinkhorn, where the released code iterates
        to an error of 1e-3.
    """
    require_words(pair, "ws-procrustes")
    size = SIZES.of(config)
    generator = make_generator(config.seed, pair.x.device)
    x, y = pair.x[:WORDS], pair.y[:WORDS]
    n = min(size.start_words, len(x), len(y))
    W = convex_start(x[:n], y[:n], size.start_rounds)
    for epoch in range(EPOCHS):
        n = min(BATCH * 2**epoch, len(x), len(y))
        for _ in progress(range(size.steps // 4**epoch), desc=f"epoch {epoch + 1}"):
            rows, columns = (
                torch.randperm(len(s), generator=generator, device=s.device)[:n] for s in (x, y)
            )
            W = step(x[rows], y[columns], W, RATE / n)
    rounds = REFINEMENTS if config.refinements < 0 else config.refinements
    return Mapping.orthogonal(refine(pair.x, pair.y, W, rounds, **config.refinement), pair, config)
