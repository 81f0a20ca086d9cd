"""What can be asked about a word of an aligned pair: translations, neighbours, hubs, a map.

Everything that the explorer shows is a data frame of this module, so that it can also be shown,
and tested, where there are no widgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.config import Config
from demalib.embedding import Embedding, explain_unknown
from demalib.errors import DataError
from demalib.pair import Pair, retrievers
from demalib.retrieval import Metric, Retriever, best_columns
from demalib.solvers import align

SHOWN = ("nn", "csls", "csls-d")
HUB_QUERIES = 5000  # most frequent words whose lists of translations are searched for hubs
CLOUD = 150  # words of each language that stand for the whole cloud


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of an aligned pair, and the snapshots of the run that led to its map.

    Attributes:
        src: Words that are asked for, N of them, d dimensions.
        tgt: Words that answer, M of them.
        retriever: All source words in the target space, and all target words.
        metrics: Retrieval metrics by name, those of :data:`SHOWN`.
        snapshots: Maps by caption, ``(d, d)`` each, from no map at all to the last one.
    """

    src: Embedding
    tgt: Embedding
    retriever: Retriever
    metrics: dict[str, Metric]
    snapshots: dict[str, Tensor]

    @cached_property
    def x(self) -> Tensor:
        """Source words before any map, unit vectors on the CPU, ``(N, d)``."""
        return normalize(torch.from_numpy(self.src.vectors), dim=1)

    @cached_property
    def y(self) -> Tensor:
        """Target words among themselves, unit vectors on the CPU, ``(M, d)``."""
        return normalize(torch.from_numpy(self.tgt.vectors), dim=1)

    def row(self, word: str) -> int:
        """The row of a source word, or an error that a person can act on."""
        row = self.src.find(word)
        if row is None:
            raise DataError(explain_unknown(word, self.src, self.tgt))
        return row

    def mapped(self, rows: Tensor, snapshot: str) -> Tensor:
        """Source words, ``(n,)`` rows, where a snapshot's map brings them: unit vectors, ``(n, d)``."""
        return normalize(self.x[rows] @ self.snapshots[snapshot], dim=1)

    def last(self) -> str:
        """The caption of the map that was kept."""
        return list(self.snapshots)[-1]


def trace(pair: Pair, config: Config) -> tuple[Direction, Direction]:
    """Solve a pair and keep the map of every round; return both directions.

    Args:
        pair: The two spaces.
        config: Solver and settings. Solvers that cannot be watched have two snapshots only.
    """
    seen: list[tuple[int, Tensor, Tensor]] = []

    def watch(at: int, W_xy: Tensor, W_yx: Tensor) -> dict[str, float]:
        seen.append((at, W_xy.cpu().clone(), W_yx.cpu().clone()))
        return {}

    mapping = align(pair, config, watch=watch)
    unit, before = "step" if "step" in mapping.history else "round", torch.eye(pair.src.dim)
    sides = ((pair.src, pair.tgt, config.sigma2_tgt), (pair.tgt, pair.src, config.sigma2_src))
    found = []
    for i, (src, tgt, sigma2) in enumerate(sides):
        snapshots = {"no map": before} | {f"{unit} {maps[0]}": maps[1 + i] for maps in seen}
        snapshots["final map"] = (mapping.W_xy, mapping.W_yx)[i]
        metrics = {name: Metric(name, sigma2=sigma2, tau=config.tau) for name in SHOWN}
        retriever = retrievers(mapping, pair, config.knn)[i]
        found.append(Direction(src, tgt, retriever, metrics, snapshots))
    return found[0], found[1]


def neighbours(vectors: Tensor, row: int, k: int = 5) -> list[int]:
    """Rows of the k words nearest to one of its own language, nearest first.

    Args:
        vectors: Unit vectors, ``(N, d)``.
        row: Whose neighbours; it is not among them.
        k: How many.
    """
    cosine = vectors @ vectors[row]
    cosine[row] = -torch.inf
    return best_columns(cosine[None], min(k, len(vectors) - 1))[1][0].tolist()


def translations(direction: Direction, word: str, k: int = 5, near: int = 4) -> pd.DataFrame:
    """The k best translations of a word under NN, CSLS and CSLS-D.

    Args:
        direction: One direction of an aligned pair.
        word: A source word.
        k: Translations per metric.
        near: Neighbours of each translation in its own language.

    Returns:
        A row per metric and place: ``metric``, ``place`` (from 1), ``translation``, ``cosine``,
        ``rank`` of the word asked for, ``its rank``, and its ``neighbours``.
    """
    row, found = direction.row(word), []
    for name, metric in direction.metrics.items():
        for place, column in enumerate(direction.retriever.top(row, metric, k), start=1):
            cosine = float(direction.retriever.mapped[row] @ direction.retriever.targets[column])
            around_it = ", ".join(
                direction.tgt.words[j] for j in neighbours(direction.y, column, near)
            )
            found.append(
                (name, place, direction.tgt.words[column], cosine, row + 1, column + 1, around_it)
            )
    names = ["metric", "place", "translation", "cosine", "rank", "its rank", "neighbours"]
    return pd.DataFrame(found, columns=names)


def hubs(direction: Direction, k: int = 10, shown: int = 8) -> pd.DataFrame:
    """The target words that most source words have among their k nearest ones.

    Args:
        direction: A direction; its 5,000 most frequent source words are asked.
        k: Length of the lists.
        shown: How many hubs.

    Returns:
        A row per ``hub`` with its ``rank`` and, by metric, how many lists hold it.
    """
    asked, counts = torch.arange(min(HUB_QUERIES, len(direction.src))), {}
    for name, metric in direction.metrics.items():
        columns = direction.retriever.translate(asked, metric, k)[1]
        counts[name] = torch.bincount(columns.flatten(), minlength=len(direction.tgt)).cpu().numpy()
    table = pd.DataFrame(
        {"hub": direction.tgt.words, "rank": range(1, len(direction.tgt) + 1)} | counts
    )
    return (
        table.sort_values("nn", ascending=False, kind="stable").head(shown).reset_index(drop=True)
    )


def around(direction: Direction, word: str, snapshot: str = "", k: int = 7) -> pd.DataFrame:
    """A plane through a word, its neighbours and the translations of each, at a snapshot.

    The plane is where the last map has these words differ most, the same for all snapshots.

    Args:
        direction: One direction of an aligned pair.
        word: A source word.
        snapshot: A caption of ``direction.snapshots``; the last one if left out.
        k: Neighbours of the word in its own language.

    Returns:
        A row per word: ``side`` (src or tgt), ``word``, ``x``, ``y``, and for source words the
        ``partner``, the row of their translation. The first row is the word itself.
    """
    row = direction.row(word)
    rows = torch.tensor([row, *neighbours(direction.x, row, k)])
    return _plane(direction, rows, snapshot)


def clouds(direction: Direction, snapshot: str = "", n: int = CLOUD) -> pd.DataFrame:
    """The whole clouds at a snapshot: words from all ranks, with their translations.

    Returns:
        What :func:`around` returns, and in ``attrs`` the mean ``cosine`` of the pairs.
    """
    return _plane(
        direction,
        torch.linspace(0, len(direction.src) - 1, min(n, len(direction.src))).long(),
        snapshot,
    )


def _plane(direction: Direction, rows: Tensor, snapshot: str) -> pd.DataFrame:
    """Source words, ``(n,)``, and their translations by CSLS in the plane of the last map."""
    best = direction.retriever.translate(rows, direction.metrics["csls"], 1)[1][:, 0].cpu()
    columns = list(dict.fromkeys(best.tolist()))
    targets = direction.retriever.targets[columns].cpu()
    last = direction.mapped(rows, direction.last())
    both = torch.cat([last, targets])
    middle = both.mean(dim=0)
    axes = torch.linalg.svd(both - middle, full_matrices=False).Vh[:2].T  # (d, 2)
    mapped = direction.mapped(rows, snapshot or direction.last())
    places = (torch.cat([mapped, targets]) - middle) @ axes  # (n + m, 2)
    frame = pd.DataFrame(places.numpy(), columns=["x", "y"])
    frame["side"] = ["src"] * len(rows) + ["tgt"] * len(columns)
    frame["word"] = [direction.src.words[i] for i in rows] + [
        direction.tgt.words[j] for j in columns
    ]
    partner = [len(rows) + columns.index(j) for j in best.tolist()]
    frame["partner"] = pd.array(partner + [None] * len(columns), dtype="Int64")
    ever = [(direction.mapped(rows, each) - middle) @ axes for each in direction.snapshots]
    frame.attrs["reach"] = float(torch.cat([*ever, places]).abs().max())
    frame.attrs["cosine"] = float(
        (mapped * direction.retriever.targets[best].cpu()).sum(dim=1).mean()
    )
    return frame


def meeting(direction: Direction, pairs: Tensor) -> pd.DataFrame:
    """How close the words of a dictionary come, by snapshot: a report, nothing is learned from it.

    Args:
        direction: One direction of an aligned pair.
        pairs: Rows of words and of their translations, ``(n, 2)``.

    Returns:
        A row per ``snapshot``: the mean cosine of ``translations``, and of each word with the
        translation of a distant entry (``other words``).
    """
    rows, columns = pairs.T
    targets, found = direction.retriever.targets[columns].cpu(), []
    for snapshot in direction.snapshots:
        mapped = direction.mapped(rows, snapshot)
        right, wrong = (
            float((mapped * t).sum(dim=1).mean())
            for t in (targets, targets.roll(len(rows) // 2, 0))
        )
        found.append({"snapshot": snapshot, "translations": right, "other words": wrong})
    return pd.DataFrame(found)
