"""Hints for an alignment: dictionaries, identical words, cognates; each kind can be left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from demalib.embedding import Embedding
from demalib.errors import DataError

KINDS = ("identical", "numerals", "cognates")  # that need no dictionary


class Hints(NamedTuple):
    """Pairs of words that may be translations; they say where EM starts, and no more."""

    rows: np.ndarray  # (K, 2), row numbers
    weight: np.ndarray  # (K,), 1 for equal spelling, less for cognates
    counts: dict[str, int]  # by kind

    def only(self, some: np.ndarray) -> Hints:
        """Keep some of the pairs, ``(K,)`` bool; the counts stay those of all."""
        return Hints(self.rows[some], self.weight[some], self.counts)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Translation pairs, query word first.

    Attributes:
        pairs: (query, translation), in the order of the file, each once.
        name: Their source, for messages and tables.
        report: Counts by the reader: lines, pairs, blank, malformed, phrases, duplicates.
    """

    pairs: list[tuple[str, str]]
    name: str = ""
    report: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def gold(self) -> dict[str, set[str]]:
        """All translations of every query."""
        gold: dict[str, set[str]] = {}
        for query, translation in self.pairs:
            gold.setdefault(query, set()).add(translation)
        return gold

    def reverse(self) -> Lexicon:
        """Return the same pairs with query and translation swapped."""
        return Lexicon([(t, q) for q, t in self.pairs], f"{self.name} reversed", self.report)

    def rows(self, src: Embedding, tgt: Embedding) -> np.ndarray:
        """Return the row numbers of the pairs that are in both vocabularies, (n, 2).

        Raises:
            DataError: No pair is in both vocabularies.
        """
        rows = [
            (src.index[q], tgt.index[t]) for q, t in self.pairs if q in src.index and t in tgt.index
        ]
        if not rows:
            some = ", ".join(f"{q} - {t}" for q, t in self.pairs[:3])
            raise DataError(
                f"{self.name}: none of its {len(self):,} pairs ({some}, ...) is in both "
                f"vocabularies, {src.lang} and {tgt.lang}; is the query language first, "
                "and is the case the same?"
            )
        return np.array(rows)


def identical_pairs(
    src: Embedding, tgt: Embedding, limit: int = 0, exclude: Lexicon | None = None
) -> np.ndarray:
    """Find identical words of both languages, most frequent source word first.

    Args:
        src: Source words.
        tgt: Target words.
        limit: Keep only this many; 0 keeps all.
        exclude: Leave out words whose pair (word, word) is in this lexicon, so that the hint
            and the test have nothing in common.

    Returns:
        Row numbers, (K, 2); K may be 0.
    """
    excluded = {q for q, t in exclude.pairs if q == t} if exclude else set()
    rows = [
        (i, tgt.index[word])
        for i, word in enumerate(src.words)
        if word in tgt.index and word not in excluded
    ]
    return np.array(rows[: limit or None], dtype=np.int64).reshape(-1, 2)


def parse_kinds(text: str) -> tuple[str, ...]:
    """Split ``identical,cognates`` into kinds of hints, or ``none``; errors list the valid ones.

    Raises:
        DataError: A kind is unknown.
    """
    kinds = tuple(filter(None, text.replace(" ", "").split(",")))
    if kinds == ("none",):
        return ()
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise DataError(
            f"unknown hint {', '.join(unknown)}; use any of {', '.join(KINDS)}, or none"
        )
    return kinds
