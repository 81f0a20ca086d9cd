"""EM against the matrix products it cannot avoid, its peak memory, and the whole aligner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bench.timing import in_turn, peak_tensor_bytes
from bench.words import english_french
from demalib.aligner import fit
from demalib.config import preset
from demalib.em import SCHEDULE, anneal, start_map
from demalib.pair import Pair


def em(pair: Pair | None = None, rounds: int = 2) -> dict[str, Any]:
    """Time EM on whole vocabularies against its bare products, in turn.

    Bare are (x W) y^T and G y for every round of the schedule, at the round's size. The aligner
    adds a trial, the last step and the verdict to EM.

    Returns:
        Seconds, EM's ratio to the products and to the aligner, and the peak in GB of all tensors
        that EM holds beyond the vectors (torch's allocator; LAPACK's and MKL's own memory is not
        seen).
    """
    pair = pair or english_french()
    sizes = [phase.words for phase in SCHEDULE for _ in range(phase.rounds)]
    config = preset("en-fr")
    a, b = pair.hint(config)
    cross = a.T @ b
    solve = partial(anneal, pair.x, pair.y, start_map(cross))
    multiply = bare_products(pair.x, pair.y, max(sizes))
    runs = {
        "em": solve,
        "bare products": partial(multiply, sizes),
        "aligner": partial(fit, pair, config),
    }
    seconds = in_turn(runs, rounds)
    return {
        "words": [len(pair.src), len(pair.tgt)],
        "seconds": seconds,
        "time_ratio": {name: seconds["em"] / seconds[name] for name in list(runs)[1:]},
        "peak_gb": peak_tensor_bytes(solve) / 1e9,
    }


def bare_products(x: Tensor, y: Tensor, most: int) -> Callable[[list[int]], None]:
    """Prepare the two products of an E-step; all outputs are allocated and touched here.

    Returns:
        A function that only multiplies: the most frequent words of either side, for each of the
        sizes it is given, up to ``most``.
    """
    x, y = x[:most], y[:most]
    W, table, mapped = (
        torch.eye(x.shape[1]).to(x),
        x.new_zeros(len(x) * len(y)),
        torch.zeros_like(x),
    )

    def multiply(sizes: list[int]) -> None:
        for words in sizes:
            src, tgt = x[:words], y[:words]
            G = table[: len(src) * len(tgt)].view(len(src), len(tgt))
            torch.mm(src, W, out=mapped[:words])
            torch.mm(mapped[:words], tgt.T, out=G)
            torch.mm(G, tgt, out=mapped[:words])

    return multiply
