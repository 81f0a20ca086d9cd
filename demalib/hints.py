"""Hints for an alignment: dictionaries, identical words, cognates; each kind can be left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from demalib.embedding import Embedding
from demalib.errors import DataError

FEW_IDENTICAL = 1000  # cognates are used only if there are fewer identical words than this
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


def gather_hints(
    kinds: Collection[str],
    identical: np.ndarray,
    src: Embedding,
    cognates: Callable[[], tuple[np.ndarray, np.ndarray]],
    limit: int = 0,
) -> Hints:
    """Gather hints of some kinds.

    Beside identical words, cognates are used only where these are few. About half of them are wrong, often
    another form of the right word: on en-fr, which has 2,200 identical words, they would cost
    5 to 8 points.

    Args:
        kinds: Any of :data:`KINDS`.
        identical: Row numbers of words of the same spelling, (K, 2).
        src: Source words.
        cognates: Finds row numbers and scores of cognates; called if they are used.
        limit: Use at most this many identical words; 0 uses all.
    """
    use_cognates = len(identical) < FEW_IDENTICAL or "identical" not in kinds
    identical = identical[: limit or None]
    letters = np.array([any(map(str.isalpha, src.words[i])) for i in identical[:, 0]], bool)
    found = {
        "identical": lambda: (identical[letters], np.ones(letters.sum())),
        "numerals": lambda: (identical[~letters], np.ones((~letters).sum())),
        "cognates": lambda: cognates() if use_cognates else (identical[:0], np.ones(0)),
    }
    parts = {kind: found[kind]() for kind in kinds}
    every = [(np.empty((0, 2), dtype=np.int64), np.empty(0)), *parts.values()]
    pairs, weights = (np.concatenate(part) for part in zip(*every, strict=True))
    return Hints(pairs, weights, {kind: len(part[0]) for kind, part in parts.items()})


def allowed_pairs(
    rows: np.ndarray, src: Embedding, tgt: Embedding, exclude: Lexicon | None
) -> np.ndarray:
    """Say which pairs of words, (K, 2), are not in a test lexicon, (K,) bool."""
    test = set(exclude.pairs if exclude else ())
    words = ((src.words[i], tgt.words[j]) for i, j in rows)
    return np.array([pair not in test for pair in words], dtype=bool)


def alike_pairs(
    src: Embedding, tgt: Embedding, cognates: np.ndarray, exclude: Lexicon | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Join identical words and cognates; a word that has an identical partner has no other.

    Args:
        src: Source words.
        tgt: Target words.
        cognates: Row numbers of cognates, (n, 2), each word at most once.
        exclude: Test pairs. They stay, since anybody can read both spellings, but what a likeness
            is worth may not be learned from them.

    Returns:
        Row numbers, (K, 2); their kind, 0 for identical words and 1 for cognates, (K,); and
        which of them are not in ``exclude``, (K,) bool.
    """
    same = identical_pairs(src, tgt)
    taken = np.isin(cognates[:, 0], same[:, 0]) | np.isin(cognates[:, 1], same[:, 1])
    rows = np.concatenate([same, cognates[~taken]])
    kind = np.repeat([0, 1], [len(same), (~taken).sum()])
    return rows, kind, allowed_pairs(rows, src, tgt, exclude)


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
