"""What can be asked about a word of an aligned pair: translations, neighbours, hubs, a map.

Everything that the explorer shows is a data frame of this module, so that it can also be shown,
and tested, where there are no widgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from inspect import signature

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from demalib.config import Config
from demalib.files import DataError
from demalib.mapping import Pair
from demalib.pipeline import retrievers
from demalib.retrieval import Metric, Retriever, best_columns
from demalib.solvers import solver_named
from demalib.vectors import Embedding, explain_unknown

SHOWN = ("nn", "csls", "csls-d")
HUB_QUERIES = 5000  # most frequent words whose lists of translations are searched for hubs
CLOUD = 150  # words of each language that stand for the whole cloud


@dataclass(frozen=True, eq=False)
class Way:
    """One direction of an aligned pair, and the moments of the run that led to its map.

    Attributes:
        src: Words that are asked for, N of them, d dimensions.
        tgt: Words that answer, M of them.
        retriever: All source words in the target space, and all target words.
        metrics: Retrieval metrics by name, those of :data:`SHOWN`.
        moments: Maps by caption, ``(d, d)`` each, from no map at all to the last one.
    """

    src: Embedding
    tgt: Embedding
    retriever: Retriever
    metrics: dict[str, Metric]
    moments: dict[str, Tensor]

    @cached_property
    def x(self) -> Tensor:
        """Source words before any map, unit vectors, ``(N, d)``."""
        return normalize(torch.from_numpy(self.src.vectors), dim=1)

    @cached_property
    def y(self) -> Tensor:
        """Target words among themselves, unit vectors, ``(M, d)``."""
        return normalize(torch.from_numpy(self.tgt.vectors), dim=1)

    def row(self, word: str) -> int:
        """The row of a source word, or an error that a person can act on."""
        row = self.src.find(word)
        if row is None:
            raise DataError(explain_unknown(word, self.src, self.tgt))
        return row

    def mapped(self, rows: Tensor, moment: str) -> Tensor:
        """Source words, ``(n,)`` rows, where a moment's map brings them: unit vectors, ``(n, d)``."""
        return normalize(self.x[rows] @ self.moments[moment], dim=1)

    def last(self) -> str:
        """The caption of the map that was kept."""
        return list(self.moments)[-1]


def look(pair: Pair, config: Config) -> tuple[Way, Way]:
    """Solve a pair and keep the map of every round on the way; both directions.

    Args:
        pair: The two spaces.
        config: Solver and settings. Solvers that cannot be watched have two moments only.
    """
    solver, seen = solver_named(config.solver), []
    watched = "watch" in signature(solver.fit).parameters
    keep = {"watch": lambda at, *maps: seen.append((at, *(W.clone() for W in maps))) or {}}
    mapping = solver.fit(pair, config, **(keep if watched else {}))
    unit, before = "step" if "step" in mapping.history else "round", torch.eye(pair.src.dim)
    sides = ((pair.src, pair.tgt, config.sigma2_tgt), (pair.tgt, pair.src, config.sigma2_src))
    found = []
    for i, (src, tgt, sigma2) in enumerate(sides):
        moments = {"no map": before} | {f"{unit} {maps[0]}": maps[1 + i] for maps in seen}
        moments["final map"] = (mapping.W_xy, mapping.W_yx)[i]
        metrics = {name: Metric(name, sigma2=sigma2, tau=config.tau) for name in SHOWN}
        found.append(Way(src, tgt, retrievers(mapping, pair, config.knn)[i], metrics, moments))
    return tuple(found)


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


def translations(way: Way, word: str, k: int = 5, near: int = 4) -> pd.DataFrame:
    """The k best translations of a word under NN, CSLS and CSLS-D.

    Args:
        way: A direction.
        word: A source word.
        k: Translations per metric.
        near: Neighbours of each translation in its own language.

    Returns:
        A row per metric and place: ``metric``, ``place`` (from 1), ``translation``, ``cosine``,
        ``rank`` of the word asked for, ``its rank``, and its ``neighbours``.
    """
    row, found = way.row(word), []
    for name, metric in way.metrics.items():
        for place, column in enumerate(way.retriever.top(row, metric, k), start=1):
            cosine = float(way.retriever.mapped[row] @ way.retriever.targets[column])
            around_it = ", ".join(way.tgt.words[j] for j in neighbours(way.y, column, near))
            found.append(
                (name, place, way.tgt.words[column], cosine, row + 1, column + 1, around_it)
            )
    names = ["metric", "place", "translation", "cosine", "rank", "its rank", "neighbours"]
    return pd.DataFrame(found, columns=names)


def hubs(way: Way, k: int = 10, shown: int = 8) -> pd.DataFrame:
    """The target words that most source words have among their k nearest ones.

    Args:
        way: A direction; its 5,000 most frequent source words are asked.
        k: Length of the lists.
        shown: How many hubs.

    Returns:
        A row per ``hub`` with its ``rank`` and, by metric, how many lists hold it.
    """
    asked, counts = torch.arange(min(HUB_QUERIES, len(way.src))), {}
    for name, metric in way.metrics.items():
        columns = way.retriever.translate(asked, metric, k)[1]
        counts[name] = torch.bincount(columns.flatten(), minlength=len(way.tgt)).numpy()
    table = pd.DataFrame({"hub": way.tgt.words, "rank": range(1, len(way.tgt) + 1)} | counts)
    return (
        table.sort_values("nn", ascending=False, kind="stable").head(shown).reset_index(drop=True)
    )


def around(way: Way, word: str, moment: str = "", k: int = 7) -> pd.DataFrame:
    """A plane through a word, its neighbours and the translations of each, at a moment.

    The plane is where the last map has these words differ most, the same for all moments.

    Args:
        way: A direction.
        word: A source word.
        moment: A caption of ``way.moments``; the last one if left out.
        k: Neighbours of the word in its own language.

    Returns:
        A row per word: ``side`` (src or tgt), ``word``, ``x``, ``y``, and for source words the
        ``partner``, the row of their translation. The first row is the word itself.
    """
    row = way.row(word)
    rows = torch.tensor([row, *neighbours(way.x, row, k)])
    return _plane(way, rows, moment)


def clouds(way: Way, moment: str = "", n: int = CLOUD) -> pd.DataFrame:
    """The whole clouds at a moment: words from all ranks, with their translations.

    Returns:
        What :func:`around` returns, and in ``attrs`` the mean ``cosine`` of the pairs.
    """
    return _plane(way, torch.linspace(0, len(way.src) - 1, min(n, len(way.src))).long(), moment)


def _plane(way: Way, rows: Tensor, moment: str) -> pd.DataFrame:
    """Source words, ``(n,)``, and their translations by CSLS in the plane of the last map."""
    best = way.retriever.translate(rows, way.metrics["csls"], 1)[1][:, 0]
    columns = list(dict.fromkeys(best.tolist()))
    targets, last = way.retriever.targets[columns], way.mapped(rows, way.last())
    both = torch.cat([last, targets])
    middle = both.mean(dim=0)
    axes = torch.linalg.svd(both - middle, full_matrices=False).Vh[:2].T  # (d, 2)
    mapped = way.mapped(rows, moment or way.last())
    places = (torch.cat([mapped, targets]) - middle) @ axes  # (n + m, 2)
    frame = pd.DataFrame(places.numpy(), columns=["x", "y"])
    frame["side"] = ["src"] * len(rows) + ["tgt"] * len(columns)
    frame["word"] = [way.src.words[i] for i in rows] + [way.tgt.words[j] for j in columns]
    partner = [len(rows) + columns.index(j) for j in best.tolist()]
    frame["partner"] = pd.array(partner + [None] * len(columns), dtype="Int64")
    ever = [(way.mapped(rows, each) - middle) @ axes for each in way.moments]
    frame.attrs["reach"] = float(torch.cat([*ever, places]).abs().max())
    frame.attrs["cosine"] = float((mapped * way.retriever.targets[best]).sum(dim=1).mean())
    return frame


def meeting(way: Way, pairs: Tensor) -> pd.DataFrame:
    """How close the words of a dictionary come, by moment: a report, nothing is learned from it.

    Args:
        way: A direction.
        pairs: Rows of words and of their translations, ``(n, 2)``.

    Returns:
        A row per ``moment``: the mean cosine of ``translations``, and of each word with the
        translation of a distant entry (``other words``).
    """
    rows, columns = pairs.T
    targets, found = way.retriever.targets[columns], []
    for moment in way.moments:
        mapped = way.mapped(rows, moment)
        right, wrong = (
            float((mapped * t).sum(dim=1).mean())
            for t in (targets, targets.roll(len(rows) // 2, 0))
        )
        found.append({"moment": moment, "translations": right, "other words": wrong})
    return pd.DataFrame(found)
