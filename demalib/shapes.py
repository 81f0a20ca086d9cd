"""A start for EM where no word is known: compare the shapes of the two spaces.

A rotation changes no similarity within a language. So how similar a word is to all others of its
language, sorted, is known in both languages, and alike for translations (Artetxe et al. 2018).
They take the best match of every word as a dictionary, of which one pair in a hundred or two is
right. Here every word keeps hundreds of candidates: wrong ones cancel, right ones add up.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.em import Phase, anneal, choose_sigma2, start_map
from demalib.matching import e_step
from demalib.mixture import WordMixture
from demalib.tiles import iter_products

WORDS = 8000  # most frequent words whose shapes are compared
CANDIDATES = 500.0  # effective candidates of a word
DENSE = 300  # sorted similarities that are kept, from either end: all near it, then ever fewer
CLIMB = (Phase(6_000, 500.0, 3.0, 0.5, 10),)  # one pass of EM
PASSES, GAIN = 8, 0.01  # of EM, at most; while the criterion gains this share of it


def similarity_profiles(side: Tensor, places: Tensor | None = None) -> Tensor:
    r"""Sort the rows of :math:`\sqrt{X X^T}`, then unit, center, unit.

    Args:
        side: Words, ``(n, d)``.
        places: Which of the sorted similarities are kept, ``(k,)``; all if left out.

    Returns:
        ``(n, k)``; a rotation of the space changes nothing in it.
    """
    values, vectors = torch.linalg.eigh((side.T @ side).double())
    keep = values > 1e-9 * values[-1]  # centring leaves a direction without variance
    white = torch.where(keep, values, torch.inf).rsqrt()
    root = side @ ((vectors * white) @ vectors.T).to(side)  # root @ X^T: U S U^T for X = U S V^T
    rows = []
    for _, tile in iter_products(root, side):
        ordered = tile.sort(dim=1).values
        rows.append(ordered if places is None else ordered[:, places])
    profiles = normalize(torch.cat(rows), dim=1)
    return normalize(profiles - profiles.mean(dim=0), dim=1)


def compare_shapes(x: Tensor, y: Tensor, tau: float = 2.0, by_rank: bool = True) -> Tensor:
    r"""Build a start from the shapes of two spaces alone, ``(d, d)``.

    The similarity profiles are the means of two mixtures. Their E-step gives weights
    :math:`g_{ij}`, and the start is that of :func:`demalib.em.start_map` for
    :math:`\sum_{ij} g_{ij} x_i^T y_j`.

    Args:
        x: Source words by rank, unit vectors, ``(n, d)``.
        y: Target words by rank, unit vectors, ``(m, d)``.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.
    """
    n = min(WORDS, len(x), len(y))
    x, y, places = x[:n], y[:n], _places(n).to(x.device)
    a, b = similarity_profiles(x, places), similarity_profiles(y, places)
    sigma2 = choose_sigma2(a, b, None, min(CANDIDATES, n / 4), tau, by_rank)
    src, tgt = (WordMixture(side, sigma2, tau=tau) for side in (a, b))
    return start_map(e_step(src, tgt, None, 0.5, by_rank, of=(x, y)).cross)


def climb(x: Tensor, y: Tensor, tau: float = 2.0, by_rank: bool = True) -> Tensor:
    """Repeat EM from the shapes on, each time from wide to narrow, until it gains no more.

    A pass begins with what the one before is sure of: :func:`demalib.em.start_map` of its
    evidence, in which directions that its words do not agree on count for little.

    Args:
        x: Source words by rank, unit vectors, ``(n, d)``.
        y: Target words by rank, unit vectors, ``(m, d)``.
        tau: Temperature of the rank prior.
        by_rank: Use the rank prior; otherwise no prior.

    Returns:
        A start for :func:`demalib.em.anneal`, ``(d, d)``. Nothing is random.
    """
    W, criterion = compare_shapes(x, y, tau, by_rank), 0.0
    for _ in range(PASSES):
        found = anneal(x, y, W, tau=tau, by_rank=by_rank, schedule=CLIMB)
        W, before = start_map(found.evidence.cross), criterion
        criterion = float(found.history["criterion"].iloc[-1])
        if criterion < (1 + GAIN) * before:
            break
    return W


def _places(n: int) -> Tensor:
    """Choose places in a sorted row of n, ``(k,)``: dense at both ends, where words differ."""
    near = torch.logspace(0, torch.log10(torch.tensor(n / 2)), DENSE).round().long() - 1
    return torch.unique(torch.cat([near, n - 1 - near]).clamp_(0, n - 1))
