r"""More than two languages in one space: an E-step for every pair, one M-step for all.

Language l has a map :math:`W_l` into the space of one of them, the hub. The E-steps are those of
:mod:`demalib.em` for :math:`W_l W_m^T`; they give :math:`C_{lm} = \sum_{ij} g_{ij} x_{li}^T x_{mj}`.
The M-step maximises :math:`\sum_{lm} \mathrm{tr}(W_l^T C_{lm} W_m)` over orthogonal maps, the
generalised Procrustes problem. Pairs with more evidence count for more. With two languages this
is agreement EM as it is. Nothing is random, and one table of weights exists at a time.

Note:
    A word of one language may as well be seen as drawn from one mixture over the words of all others,
    so that its posteriors are normalised over all of them together. That was tried and finds less
    (``results/bench/README.md``): the languages compete for a word, and French and Russian, which have
    few hints in common, lose theirs to English.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from demalib.contrastive import Link
from demalib.em import SCHEDULE, Phase, fitting_words, known_evidence, look
from demalib.finish import Evidence, roots
from demalib.matching import table_memory
from demalib.procrustes import orthogonal_factor
from demalib.progress import progress

SWEEPS = 10  # of the generalised Procrustes iteration
SMALLEST = 1e-9  # agreement of a direction, at least


def rotate_together(cross: Mapping[Link, Tensor], maps: Sequence[Tensor], hub: int) -> list[Tensor]:
    r"""Maximise :math:`\sum_{lm} \mathrm{tr}(W_l^T C_{lm} W_m)`, one orthogonal map at a time.

    Args:
        cross: :math:`C_{lm}` of every link, ``(d, d)``.
        maps: The start :math:`W_l` of every language, ``(d, d)``.
        hub: The language whose map stays as it is.

    Returns:
        The maps. No update lowers the sum.
    """
    maps = list(maps)
    for _ in range(SWEEPS):
        for this in range(len(maps)):
            pulls = [C @ maps[b] for (a, b), C in cross.items() if a == this]
            pulls += [C.T @ maps[a] for (a, b), C in cross.items() if b == this]
            if this != hub and pulls:
                maps[this] = orthogonal_factor(torch.stack(pulls).sum(dim=0))
    return maps


def anneal_together(
    sides: Sequence[Tensor],
    maps: Sequence[Tensor],
    known: Mapping[Link, Tensor],
    hub: int = 0,
    *,
    tau: float = 2.0,
    by_rank: bool = True,
    schedule: Sequence[Phase] = SCHEDULE[1:],
) -> tuple[list[Tensor], dict[Link, Evidence]]:
    """Go on with EM on all links at once.

    Args:
        sides: Words of each language by rank, unit vectors, ``(N, d)``.
        maps: Where each language's map starts, orthogonal, ``(d, d)``.
        known: Row numbers of known pairs, ``(K, 2)``, for every link; K may be 0.
        hub: The language whose map stays as it is.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.
        schedule: The phases; the usual ones begin where each pair has been annealed alone.

    Returns:
        The maps, and what the last E-step of every link found.
    """
    maps, evidence = list(maps), {}
    options: dict[str, Any] = {"tau": tau, "by_rank": by_rank}
    certain = {(a, b): known_evidence(sides[a], sides[b], pairs) for (a, b), pairs in known.items()}
    wanted = min(max(phase.words for phase in schedule), max(map(len, sides)))
    most = fitting_words(wanted, sides[0].device)
    sizes = sorted(min(len(side), most) for side in sides)
    memory = table_memory(sides[0], *sizes[-2:])
    rounds = [(p, float(k)) for p in schedule for k in np.geomspace(p.first, p.last, p.rounds)]
    for phase, candidates in progress(rounds, desc="together", unit="round"):
        cross = {}
        for (a, b), sure in certain.items():
            src, tgt = (sides[k][: min(phase.words, most)] for k in (a, b))
            W = maps[a] @ maps[b].T
            seen = look(src, tgt, W, candidates, phase.beta, sure, memory=memory, **options)
            cross[a, b], evidence[a, b] = seen.cross, seen.evidence
        maps = rotate_together(cross, maps, hub)
    return maps, evidence


def symmetric_together(evidence: Mapping[Link, Evidence], languages: int) -> list[Tensor]:
    r"""Map all languages to where they correlate; for two, :func:`demalib.finish.symmetric_step`.

    With :math:`V_l` the inverse root of all that the links of l say of its words,
    :math:`M_{lm} = V_l C_{lm} V_m` are blocks of a symmetric matrix. The blocks of its d leading
    eigenvectors are made orthogonal, :math:`U_l`, and
    :math:`S_l = \mathrm{diag} \sum_m U_l^T M_{lm} U_m` says how much l agrees with the others in
    each direction:

    .. math:: P_l = V_l U_l S_l^{1/2} U_l^T V_l^{-1} U_l.

    Args:
        evidence: Of every link.
        languages: Their number L.

    Returns:
        :math:`P_l` of every language, ``(d, d)``.
    """
    like = next(iter(evidence.values())).cross
    d = len(like)
    moments = like.new_zeros(languages, d, d, dtype=torch.float64)
    for (a, b), found in evidence.items():
        moments[a] += found.src
        moments[b] += found.tgt
    inverse, root = zip(*map(roots, moments), strict=True)
    blocks = moments.new_zeros(languages, d, languages, d)
    for (a, b), found in evidence.items():
        blocks[a, :, b] = inverse[a] @ found.cross.double() @ inverse[b]
        blocks[b, :, a] = blocks[a, :, b].T
    _, vectors = torch.linalg.eigh(blocks.reshape(languages * d, languages * d))
    leading = vectors[:, -d:].reshape(languages, d, d)
    U = [orthogonal_factor(block) for block in leading]
    out = []
    for this in range(languages):
        agreement = sum(
            torch.diagonal(U[this].T @ blocks[this, :, m] @ U[m]) for m in range(languages)
        )
        S = torch.as_tensor(agreement).clamp(min=SMALLEST)
        P = inverse[this] @ (U[this] * S.sqrt()) @ U[this].T @ root[this] @ U[this]
        out.append(P.to(like))
    return out
