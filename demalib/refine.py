"""Procrustes and its iteration over dictionaries that the map itself induces (Section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import normalize
from tqdm import tqdm

from demalib.config import Config
from demalib.files import DataError
from demalib.mapping import Mapping, Pair
from demalib.retrieval import mean_top_cosine
from demalib.tiles import iter_products

MODES = ("s2t", "t2s", "union", "mutual")


def procrustes(a: Tensor, b: Tensor) -> Tensor:
    r"""The orthogonal map nearest to a dictionary (Section 4.2).

    :math:`W = \arg\min_{W \in O_d} \|aW - b\|_F = UV^T`, where
    :math:`U \Sigma V^T = \mathrm{SVD}(a^T b)`.

    Args:
        a: Source vectors of the dictionary's pairs, ``(n, d)``.
        b: Target vectors of the same pairs, ``(n, d)``.

    Returns:
        The map W, ``(d, d)``, for row vectors: ``a @ W`` is close to ``b``.
    """
    return orthogonal_factor(a.T @ b)


def orthogonal_factor(cross: Tensor) -> Tensor:
    r"""The orthogonal matrix that maximises :math:`\mathrm{tr}(W^T C)`, ``(d, d)``, by SVD."""
    u, _, vt = torch.linalg.svd(cross)
    return u @ vt


def best_match(mapped: Tensor, targets: Tensor, knn: int = 10) -> tuple[Tensor, Tensor]:
    """Each side's best partner under CSLS.

    Args:
        mapped: Unit source vectors in the target space, ``(N, d)``.
        targets: Unit target vectors, ``(M, d)``.
        knn: Neighbours k of CSLS.

    Returns:
        Row of the best target for each source word, ``(N,)``, and of the best source word for
        each target, ``(M,)``.
    """
    return best_partners(_csls(mapped, targets, knn))[1:]


def _csls(mapped: Tensor, targets: Tensor, knn: int) -> Iterator[tuple[slice, Tensor]]:
    """Slices of the source words and their CSLS scores, ``(chunk, M)``; lengths are kept."""
    r_tgt, r_src = mean_top_cosine(mapped, targets, knn), mean_top_cosine(targets, mapped, knn)
    for part, cosines in iter_products(mapped, targets):
        yield part, cosines.mul_(2).sub_(r_src).sub_(r_tgt[part, None])


def best_partners(tiles: Iterable[tuple[slice, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """The best partners of both sides, in one pass over the scores; the first of equal ones.

    Args:
        tiles: Slices of N source words, in order, and their scores against all M target words,
            ``(chunk, M)``.

    Returns:
        The score and the row of the best target of each source word, ``(N,)`` each, and the row
        of the best source word of each target word, ``(M,)``.
    """
    found, best, backward = [], -torch.inf, 0
    for part, scores in tiles:
        found.append(scores.max(dim=1))
        value, row = scores.max(dim=0)
        better = value > best
        best = torch.where(better, value, best)
        backward = torch.where(better, row + part.start, backward)
    scores, forward = (torch.cat(parts) for parts in zip(*found, strict=True))
    return scores, forward, backward


def induce_dictionary(
    mapped: Tensor, targets: Tensor, mode: str = "mutual", max_rank: int = 10_000, knn: int = 10
) -> Tensor:
    """The dictionary that a map implies for the most frequent words, under CSLS.

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
        raise DataError(f"unknown dictionary mode {mode!r}; use one of {', '.join(MODES)}")
    mapped, targets = normalize(mapped[:max_rank], dim=1), normalize(targets[:max_rank], dim=1)
    forward, backward = best_match(mapped, targets, knn)
    rows, cols = (torch.arange(len(side), device=mapped.device) for side in (forward, backward))
    s2t, t2s = torch.stack([rows, forward], 1), torch.stack([backward, cols], 1)
    if mode == "mutual":
        return s2t[backward[forward] == rows]
    if mode == "union":
        return torch.unique(torch.cat([s2t, t2s]), dim=0)
    return s2t if mode == "s2t" else t2s


def dictionary_cosine(
    mapped: Tensor, targets: Tensor, max_rank: int = 10_000, knn: int = 10
) -> float:
    """The unsupervised criterion: mean cosine of the CSLS dictionary, source to target.

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
        forward = scores.mul_(2).sub_(r_src).argmax(dim=1)  # r_T is the same for all targets
        best.append((mapped[part] * targets[forward]).sum(dim=1))
    return float(torch.cat(best).mean())


def iter_refine(
    pair: Pair, W: Tensor, config: Config, rounds: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Induce a dictionary, solve Procrustes on it, again and again; no gold data is used.

    Args:
        pair: The two spaces.
        W: The map to start from, ``(d, d)``.
        config: Mode, rank cut-off and k of the dictionaries.
        rounds: How often.

    Yields:
        After each round the orthogonal map, ``(d, d)``, and the dictionary that it was solved
        on, row numbers ``(n, 2)``.
    """
    for _ in tqdm(range(rounds), desc="refine", unit="round", disable=None):
        found = induce_dictionary(
            pair.x @ W, pair.y, config.dictionary, config.max_rank, config.knn
        )
        W = procrustes(pair.x[found[:, 0]], pair.y[found[:, 1]])
        yield W, found


def refine(pair: Pair, W: Tensor, config: Config, rounds: int) -> Tensor:
    """The map, ``(d, d)``, after so many rounds of :func:`iter_refine`; 0 returns ``W``."""
    maps = [W, *(W for W, _ in iter_refine(pair, W, config, rounds))]
    return maps[-1]


def fit_procrustes(pair: Pair, config: Config, rounds: int = 0) -> Mapping:
    """Supervised: Procrustes on the train lexicon of each direction, then refinement.

    ``config.refinements`` says how often, or ``rounds`` where that is -1 (Conneau et al. 2018: 5).
    """
    rounds = rounds if config.refinements < 0 else config.refinements
    if pair.train is None or pair.train_back is None:
        raise DataError(
            "solver 'procrustes' learns from a dictionary; give one with --lexicon, "
            "or use solver 'identical'"
        )
    maps = []
    for side, rows in ((pair, pair.train), (pair.swap(), pair.train_back)):
        W = procrustes(side.x[rows[:, 0]], side.y[rows[:, 1]])
        maps.append(refine(side, W, config, rounds))
    return Mapping.of(*maps, pair, config)


def fit_identical(pair: Pair, config: Config) -> Mapping:
    """Identical words + Procrustes, then refinement (Soegaard et al. 2018); 10 rounds by default."""
    rows = pair.require_identical()
    W = procrustes(pair.x[rows[:, 0]], pair.y[rows[:, 1]])
    rounds = 10 if config.refinements < 0 else config.refinements
    return Mapping.orthogonal(refine(pair, W, config, rounds), pair, config)
