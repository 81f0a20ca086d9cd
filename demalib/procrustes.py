"""Closed forms: the orthogonal map of a dictionary, and refinement by the map's own dictionary.

(Section 4.2.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.progress import progress
from demalib.retrieval import csls_, iter_csls, mean_top_cosine
from demalib.tiles import iter_products

MODES = ("s2t", "t2s", "union", "mutual")


def procrustes(a: Tensor, b: Tensor) -> Tensor:
    r"""Find the orthogonal map nearest to a dictionary (Section 4.2).

    :math:`W = \arg\min_{W \in O_d} \|aW - b\|_F = UV^T`, where
    :math:`U \Sigma V^T = \mathrm{SVD}(a^T b)`.

    Args:
        a: Source vectors of the dictionary's pairs, ``(n, d)``.
        b: Target vectors of the same pairs, ``(n, d)``.

    Returns:
        The map W, ``(d, d)``, for row vectors: ``a @ W`` is close to ``b``.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> quarter_turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
        >>> torch.allclose(procrustes(x, x @ quarter_turn), quarter_turn)
        True
    """
    return orthogonal_factor(a.T @ b)


def orthogonal_factor(cross: Tensor) -> Tensor:
    r"""Find the orthogonal matrix that maximises :math:`\mathrm{tr}(W^T C)`, ``(d, d)``, by SVD."""
    u, _, vt = torch.linalg.svd(cross)
    return u @ vt


def best_match(mapped: Tensor, targets: Tensor, knn: int = 10) -> tuple[Tensor, Tensor]:
    """Find each side's best partner under CSLS.

    Args:
        mapped: Unit source vectors in the target space, ``(N, d)``.
        targets: Unit target vectors, ``(M, d)``.
        knn: Neighbours k of CSLS.

    Returns:
        Row of the best target for each source word, ``(N,)``, and of the best source word for
        each target, ``(M,)``.
    """
    return best_partners(iter_csls(mapped, targets, knn))[1:]


def best_partners(tiles: Iterable[tuple[slice, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Find the best partners of both sides in one pass over the scores; the first of equal ones.

    Args:
        tiles: Slices of N source words, in order, and their scores against all M target words,
            ``(chunk, M)``.

    Returns:
        The score and the row of the best target of each source word, ``(N,)`` each, and the row
        of the best source word of each target word, ``(M,)``.
    """
    found, best, backward = [], None, None
    for part, scores in tiles:
        found.append(scores.max(dim=1))
        value, row = scores.max(dim=0)
        if best is None or backward is None:
            best, backward = value, row
            continue
        better = value > best
        best = torch.where(better, value, best)
        backward = torch.where(better, row + part.start, backward)
    assert backward is not None, "no tiles"
    scores, forward = (torch.cat(parts) for parts in zip(*found, strict=True))
    return scores, forward, backward


def induce_dictionary(
    mapped: Tensor, targets: Tensor, mode: str = "mutual", max_rank: int = 10_000, knn: int = 10
) -> Tensor:
    """Make the dictionary that a map implies for the most frequent words, under CSLS.

    Args:
        mapped: Source vectors in the target space, ``(N, d)``.
        targets: Target vectors, ``(M, d)``.
        mode: ``s2t`` (best target of each source word), ``t2s``, their ``union``, or
            ``mutual`` (their intersection).
        max_rank: Only this many of the most frequent words of either side take part.
        knn: Neighbours k of CSLS.

    Returns:
        Row numbers of the pairs, ``(n, 2)``.
    """
    if mode not in MODES:
        raise ValueError(f"unknown dictionary mode {mode!r}; use one of {', '.join(MODES)}")
    mapped, targets = normalize(mapped[:max_rank], dim=1), normalize(targets[:max_rank], dim=1)
    forward, backward = best_match(mapped, targets, knn)
    rows, cols = (torch.arange(len(side), device=side.device) for side in (forward, backward))
    s2t, t2s = torch.stack([rows, forward], 1), torch.stack([backward, cols], 1)
    if mode == "mutual":
        return s2t[backward[forward] == rows]
    if mode == "union":
        return torch.unique(torch.cat([s2t, t2s]), dim=0)
    return s2t if mode == "s2t" else t2s


def dictionary_cosine(
    mapped: Tensor, targets: Tensor, max_rank: int = 10_000, knn: int = 10
) -> float:
    """Compute the unsupervised criterion: mean cosine of the CSLS dictionary, source to target.

    Args:
        mapped: Source vectors in the target space, ``(N, d)``.
        targets: Target vectors, ``(M, d)``.
        max_rank: Only this many of the most frequent words of either side take part.
        knn: Neighbours k of CSLS.

    Note:
        The released code forgets to normalise the mapped vectors, so its criterion grows with
        the scale of the map.
    """
    return dictionary_dot(normalize(mapped[:max_rank], dim=1), targets[:max_rank], knn)


def dictionary_dot(mapped: Tensor, targets: Tensor, knn: int) -> float:
    """Mean dot product of each source vector and its best target under CSLS."""
    targets, best = normalize(targets, dim=1), []
    r_src = mean_top_cosine(targets, mapped, knn)
    for part, scores in iter_products(mapped, targets):
        forward = csls_(scores, r_src).argmax(dim=1)
        best.append((mapped[part] * targets[forward]).sum(dim=1))
    return float(torch.cat(best).mean())


def iter_refine(
    x: Tensor, y: Tensor, W: Tensor, rounds: int, mode: str, max_rank: int, knn: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Induce a dictionary, solve Procrustes on it, again and again; no gold data is used.

    Args:
        x: Source words, ``(N, d)``.
        y: Target words, ``(M, d)``.
        W: The map to start from, ``(d, d)``.
        rounds: How often.
        mode: How words are paired; see :func:`induce_dictionary`.
        max_rank: Only this many of the most frequent words of either side take part.
        knn: Neighbours k of CSLS.

    Yields:
        After each round the orthogonal map, ``(d, d)``, and the dictionary that it was solved
        on, row numbers ``(n, 2)``.
    """
    for _ in progress(range(rounds), desc="refine", unit="round"):
        found = induce_dictionary(x @ W, y, mode, max_rank, knn)
        W = procrustes(x[found[:, 0]], y[found[:, 1]])
        yield W, found


def refine(
    x: Tensor,
    y: Tensor,
    W: Tensor,
    rounds: int,
    mode: str = "mutual",
    max_rank: int = 10_000,
    knn: int = 10,
) -> Tensor:
    """Return the map, ``(d, d)``, after some rounds of :func:`iter_refine`; 0 returns ``W``."""
    for W, _ in iter_refine(x, y, W, rounds, mode, max_rank, knn):  # noqa: B007, B020
        pass
    return W
