"""Data frames about a word of an aligned pair: translations, neighbours, hubs, positions.

The explorer shows nothing else, so all of it can be used and tested without widgets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.alignment import verdict_of
from demalib.config import Config
from demalib.embedding import Embedding, explain_unknown
from demalib.errors import DataError
from demalib.pair import Mapping, Pair, retrievers
from demalib.retrieval import Metric, Retriever, best_columns
from demalib.solvers import align
from demalib.trial import Verdict

SHOWN = ("nn", "csls", "csls-d")
HUB_QUERIES = 5000  # most frequent source words whose translations are searched for hubs
CLOUD = 150  # source words that represent the whole cloud


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of an aligned pair, and the snapshots of the run that led to its map.

    Attributes:
        src: Source words, N of them in d dimensions.
        tgt: Target words, M of them.
        retriever: Translates all source words, mapped into the target space.
        metrics: Retrieval metrics by name, those of :data:`SHOWN`.
        snapshots: Maps by caption, ``(d, d)`` each, from the identity (no map) to the final one.
        verdict: Whether the alignment worked; None if its solver cannot say.
    """

    src: Embedding
    tgt: Embedding
    retriever: Retriever
    metrics: dict[str, Metric]
    snapshots: dict[str, Tensor]
    verdict: Verdict | None = None

    @cached_property
    def x(self) -> Tensor:
        """Unmapped source words, unit vectors on the CPU, ``(N, d)``."""
        return normalize(torch.from_numpy(self.src.vectors), dim=1)

    @cached_property
    def y(self) -> Tensor:
        """Target words, unit vectors on the CPU, ``(M, d)``."""
        return normalize(torch.from_numpy(self.tgt.vectors), dim=1)

    def row(self, word: str) -> int:
        """Find the row of a source word; the error for an unknown word suggests near spellings."""
        row = self.src.find(word)
        if row is None:
            raise DataError(explain_unknown(word, self.src, self.tgt))
        return row

    def mapped(self, rows: Tensor, snapshot: str) -> Tensor:
        """Map source words, ``(n,)`` rows, by a snapshot; return unit vectors, ``(n, d)``."""
        return normalize(self.x[rows] @ self.snapshots[snapshot], dim=1)

    def last(self) -> str:
        """Return the caption of the final map."""
        return list(self.snapshots)[-1]


def trace(pair: Pair, config: Config) -> tuple[Direction, Direction]:
    """Solve a pair and keep the map of every round; return both directions.

    Args:
        pair: The two spaces.
        config: Solver and settings. A solver that cannot be watched has two snapshots only: no
            map and the final map.
    """
    seen: dict[int, tuple[Tensor, Tensor]] = {}

    def watch(at: int, W_xy: Tensor, W_yx: Tensor) -> dict[str, float]:
        seen[at] = (W_xy.cpu().clone(), W_yx.cpu().clone())
        return {}

    return directions(align(pair, config, watch=watch), pair, seen)


def directions(
    mapping: Mapping, pair: Pair, seen: dict[int, tuple[Tensor, Tensor]] | None = None
) -> tuple[Direction, Direction]:
    """Return both directions of a solved pair.

    Args:
        mapping: The maps between the spaces.
        pair: The spaces.
        seen: W_xy and W_yx by round or step, on the CPU; more snapshots of the run.
    """
    config, identity = mapping.config, torch.eye(pair.src.dim)
    unit = "step" if "step" in mapping.history else "round"
    maps = {"no map": (identity, identity)}
    maps |= {f"{unit} {at}": both for at, both in (seen or {}).items()}
    maps["final map"] = (mapping.W_xy, mapping.W_yx)
    forward, backward = retrievers(mapping, pair, config.knn)

    def direction(
        i: int, src: Embedding, tgt: Embedding, retriever: Retriever, sigma2: float
    ) -> Direction:
        metrics = {name: Metric(name, sigma2=sigma2, tau=config.tau) for name in SHOWN}
        snapshots = {caption: both[i] for caption, both in maps.items()}
        return Direction(src, tgt, retriever, metrics, snapshots, verdict_of(mapping))

    return (
        direction(0, pair.src, pair.tgt, forward, config.sigma2_tgt),
        direction(1, pair.tgt, pair.src, backward, config.sigma2_src),
    )


def neighbours(vectors: Tensor, row: int, k: int = 5) -> list[int]:
    """Find the rows of the k nearest words in the same language, nearest first.

    Args:
        vectors: Unit vectors, ``(N, d)``.
        row: Row of the word; it is not its own neighbour.
        k: Number of neighbours.
    """
    cosine = vectors @ vectors[row]
    cosine[row] = -torch.inf
    return best_columns(cosine[None], min(k, len(vectors) - 1))[1][0].tolist()


def translations(direction: Direction, word: str, k: int = 5, near: int = 4) -> pd.DataFrame:
    """Find the k best translations of a word under NN, CSLS and CSLS-D.

    Args:
        direction: One direction of an aligned pair.
        word: A source word.
        k: Translations per metric.
        near: Neighbours of each translation in its own language.

    Returns:
        A row per metric and place: ``metric``, ``place`` (from 1), ``translation``, ``cosine``,
        ``rank`` of the source word, ``its rank`` (of the translation), and the translation's
        ``neighbours``.
    """
    row, found = direction.row(word), []
    for name, metric in direction.metrics.items():
        for place, column in enumerate(direction.retriever.top(row, metric, k), start=1):
            cosine = float(direction.retriever.mapped[row] @ direction.retriever.targets[column])
            close = neighbours(direction.y, column, near)
            found.append(
                {
                    "metric": name,
                    "place": place,
                    "translation": direction.tgt.words[column],
                    "cosine": cosine,
                    "rank": row + 1,
                    "its rank": column + 1,
                    "neighbours": ", ".join(direction.tgt.words[j] for j in close),
                }
            )
    return pd.DataFrame(found)


def hubs(direction: Direction, k: int = 10, shown: int = 8) -> pd.DataFrame:
    """Find the target words that are among the k best translations of the most source words.

    Args:
        direction: One direction; its 5,000 most frequent source words are translated.
        k: Translations per source word.
        shown: Number of hubs.

    Returns:
        A row per ``hub`` with its ``rank`` and, by metric, the number of source words that have
        it among their k best; most under ``nn`` first.
    """
    queries, counts = torch.arange(min(HUB_QUERIES, len(direction.src))), {}
    for name, metric in direction.metrics.items():
        columns = direction.retriever.translate(queries, metric, k)[1]
        counts[name] = torch.bincount(columns.flatten(), minlength=len(direction.tgt)).cpu().numpy()
    words, ranks = direction.tgt.words, range(1, len(direction.tgt) + 1)
    table = pd.DataFrame({"hub": words, "rank": ranks} | counts)
    ranked = table.sort_values("nn", ascending=False, kind="stable", ignore_index=True)
    return ranked.head(shown)


def around(direction: Direction, word: str, snapshot: str = "", k: int = 7) -> pd.DataFrame:
    """Project a word, its neighbours and their translations to a plane, at a snapshot.

    The plane is the same for all snapshots: the first two principal components of these words
    under the final map.

    Args:
        direction: One direction of an aligned pair.
        word: A source word.
        snapshot: Caption in ``direction.snapshots``; the final map if left out.
        k: Neighbours of the word in its own language.

    Returns:
        A row per word: ``side`` (src or tgt), ``word``, ``x``, ``y``, and for source words
        ``partner``, the row of the translation. The first row is the word itself. In ``attrs``,
        ``reach`` is the largest coordinate at any snapshot and ``cosine`` the mean cosine of the
        words and their translations.
    """
    row = direction.row(word)
    rows = torch.tensor([row, *neighbours(direction.x, row, k)])
    return _plane(direction, rows, snapshot)


def clouds(direction: Direction, snapshot: str = "", n: int = CLOUD) -> pd.DataFrame:
    """Project n words from all ranks and their translations to a plane, at a snapshot.

    Returns:
        A data frame as from :func:`around`.
    """
    words = len(direction.src)
    return _plane(direction, torch.linspace(0, words - 1, min(n, words)).long(), snapshot)


def in_plane(direction: Direction, words: Iterable[str]) -> pd.DataFrame:
    """Project some source words and their translations to a plane.

    Returns:
        A data frame as from :func:`around`.
    """
    return _plane(direction, torch.tensor([direction.row(word) for word in words]), "")


def _plane(direction: Direction, rows: Tensor, snapshot: str) -> pd.DataFrame:
    """Project source words, ``(n,)`` rows, and their translations by CSLS to a plane."""
    best = direction.retriever.translate(rows, direction.metrics["csls"], 1)[1][:, 0].cpu()
    columns = list(dict.fromkeys(best.tolist()))
    targets = direction.retriever.targets[columns].cpu()
    both = torch.cat([direction.mapped(rows, direction.last()), targets])
    mean = both.mean(dim=0)
    axes = torch.linalg.svd(both - mean, full_matrices=False).Vh[:2].T  # (d, 2)
    mapped = direction.mapped(rows, snapshot or direction.last())
    places = (torch.cat([mapped, targets]) - mean) @ axes  # (n + m, 2)
    frame = pd.DataFrame(places.numpy(), columns=["x", "y"])
    frame["side"] = ["src"] * len(rows) + ["tgt"] * len(columns)
    src_words = [direction.src.words[i] for i in rows]
    frame["word"] = src_words + [direction.tgt.words[j] for j in columns]
    partner = [len(rows) + columns.index(j) for j in best.tolist()]
    frame["partner"] = pd.array(partner + [None] * len(columns), dtype="Int64")
    ever = [(direction.mapped(rows, each) - mean) @ axes for each in direction.snapshots]
    frame.attrs["reach"] = float(torch.cat([*ever, places]).abs().max())
    translated = direction.retriever.targets[best].cpu()
    frame.attrs["cosine"] = float((mapped * translated).sum(dim=1).mean())
    return frame


def meeting(direction: Direction, pairs: np.ndarray | Tensor) -> pd.DataFrame:
    """Measure how close the entries of a dictionary are at each snapshot; no solver uses this.

    Args:
        direction: One direction of an aligned pair.
        pairs: Rows of words and of their translations, ``(n, 2)``.

    Returns:
        A row per ``snapshot``: the mean cosine of the entries (``translations``), and of each word
        with the translation of another entry (``other words``).
    """
    rows, columns = torch.as_tensor(pairs).T
    right = direction.retriever.targets[columns].cpu()
    wrong = right.roll(len(rows) // 2, 0)
    found = []
    for snapshot in direction.snapshots:
        mapped = direction.mapped(rows, snapshot)
        cosines = [float((mapped * targets).sum(dim=1).mean()) for targets in (right, wrong)]
        found.append((snapshot, *cosines))
    return pd.DataFrame(found, columns=["snapshot", "translations", "other words"])
