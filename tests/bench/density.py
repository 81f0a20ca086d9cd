"""The fused log-density against the plain formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from bench.timing import in_turn, peak_tensor_bytes, ratios
from demalib.mixture import WordMixture


def density(B: int = 2048, N: int = 20_000, d: int = 300, rounds: int = 7) -> dict[str, Any]:
    """Measure one step at the paper's size, forward and backward, against the plain formulas.

    Returns:
        Median seconds, peak megabytes, and the fused step's ratio to each of the others.
    """
    sigma2, gen = 0.01, torch.Generator().manual_seed(0)
    centers = torch.nn.functional.normalize(torch.randn(N, d, generator=gen))
    words = WordMixture(centers, sigma2)
    ranks = words.sample_ranks(B, gen)
    y = words.sample_around(ranks, gen)

    def fused() -> None:
        words.log_prob(y.clone().requires_grad_(), ranks).sum().backward()

    def plain(sq_dist: Callable) -> None:
        query = y.clone().requires_grad_()
        logits = words.log_prior(ranks) - sq_dist(query) / (2 * sigma2)
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
