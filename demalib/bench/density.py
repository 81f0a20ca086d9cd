"""The fused log-density against the plain formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from demalib.bench.timing import in_turn, peak_tensor_bytes, ratios
from demalib.density import log_density, rank_log_prior, sample_mixture, word_weights


def density(B: int = 2048, N: int = 20_000, d: int = 300, rounds: int = 7) -> dict[str, Any]:
    """One step at the paper's size, forward and backward, against the plain formulas.

    Returns:
        Median seconds, peak megabytes, and the fused step's ratio to each rival.
    """
    sigma2, tau, gen = 0.01, 2.0, torch.Generator().manual_seed(0)
    centers = torch.nn.functional.normalize(torch.randn(N, d, generator=gen))
    y, ranks = sample_mixture(centers, B, sigma2, word_weights(N), gen)

    def fused() -> None:
        log_density(
            y.clone().requires_grad_(), centers, sigma2, ranks=ranks, tau=tau
        ).sum().backward()

    def plain(sq_dist: Callable) -> None:
        query = y.clone().requires_grad_()
        logits = rank_log_prior(ranks, N, tau) - sq_dist(query) / (2 * sigma2)
        log_norm = -0.5 * d * math.log(2 * math.pi * sigma2)
        (torch.logsumexp(logits, -1) + log_norm).sum().backward()

    def by_matmul(q: torch.Tensor) -> torch.Tensor:
        return q.square().sum(1, keepdim=True) - 2 * q @ centers.T + centers.square().sum(1)

    runs = {
        "fused": fused,
        "plain, cdist": lambda: plain(lambda q: torch.cdist(q, centers).square()),
        "plain, matmul": lambda: plain(by_matmul),
        "two bare products": lambda: (y @ centers.T) @ centers,
    }
    seconds = in_turn(runs, rounds)
    peak = {name: peak_tensor_bytes(run) / 2**20 for name, run in runs.items()}
    return {"size": {"B": B, "N": N, "d": d}, **ratios("fused", seconds, peak)}
