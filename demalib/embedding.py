"""Word vectors of one language, and the clean-up of its words."""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from demalib.errors import DataError
from demalib.normalisation import NORMALISATION, PAD, Normalisation, run_steps

MARKERS = frozenset(("</s>", "<s>", "<unk>", "<pad>"))  # in some vocabularies, but no words
CASES = ("lower", "turkish", "keep")
NEAR = 3  # similar spellings that are suggested for an unknown word


@dataclass(frozen=True)
class Policy:
    """The clean-up of the words of a file, in this order; every effect is counted.

    - A word that is not UTF-8 is dropped (``undecodable``).
    - A marker of sentences or unknown words, one of :data:`MARKERS`, is dropped (``markers``).
    - White space around a word is removed; a word of white space only, such as a no-break
      space, is dropped (``blank``); white space inside becomes ``_`` (``phrases``), as in
      word2vec, so that every ``.vec`` reader can read what we write.
    - ``case="lower"`` converts to lower case; ``"turkish"`` does so as Turkish does, with ı for I
      and i for İ; ``"keep"`` does not.
    - ``tokens="letters"`` drops words without any letter (``no_letter``); ``"all"`` keeps them.
    - Of equal words the first, the most frequent, is kept (``duplicates``).
    - Of the remaining words, the first ``max_vocab`` are kept; 0 keeps all.
    """

    case: str = "lower"
    tokens: str = "letters"
    max_vocab: int = 0

    def __post_init__(self) -> None:
        if self.case not in CASES or self.tokens not in ("letters", "all"):
            raise DataError(
                f"policy: case is 'lower', 'turkish' or 'keep', tokens 'letters' or 'all'; "
                f"got {self.case!r}, {self.tokens!r}"
            )
        if self.max_vocab < 0:
            raise DataError(f"policy: max_vocab is 0 (all) or more, got {self.max_vocab}")

    def apply(self, word: str, report: Counter) -> str:
        """Clean a word and count the effects; return an empty string if it is dropped."""
        if "\ufffd" in word:
            report["undecodable"] += 1
            return ""
        parts = word.split()
        if len(parts) != 1:
            report["phrases" if parts else "blank"] += 1
        word = "_".join(parts)
        if word.lower() in MARKERS:
            report["markers"] += 1
            return ""
        if word and self.tokens == "letters" and not any(map(str.isalpha, word)):
            report["no_letter"] += 1
            return ""
        return word if self.case == "keep" else lower(word, self.case == "turkish")


class Subwords(Protocol):
    """What makes vectors of words that a vocabulary lacks."""

    @property
    def path(self) -> Path:
        """The file that has the sub-words."""

    def vectors_of(self, words: Sequence[str]) -> np.ndarray:
        """Make raw vectors, (n, d) float32; a word without sub-words has zeros."""


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """The words of one language, most frequent first, with their vectors.

    Attributes:
        words: n words; a word's rank (Section 3.1) is its position, counted from 1.
        vectors: (n, d) float32; may be memory-mapped.
        lang: Language code, or the name of the file.
        counts: Occurrence counts (n), if the source has them.
        normalisation: The steps that were applied to ``vectors``.
        report: Effects of the clean-up, see :class:`Policy`.
        subwords: What makes vectors of other words; None where nothing does.

    Example:
        >>> english = Embedding(["the", "cat"], np.eye(2, dtype=np.float32), "en")
        >>> english.find("Cat"), english.dim
        (1, 2)
    """

    words: list[str]
    vectors: np.ndarray
    lang: str = ""
    counts: np.ndarray | None = None
    normalisation: Normalisation = Normalisation()
    report: dict[str, int] = field(default_factory=dict)
    subwords: Subwords | None = None

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors) or not len(self.words):
            raise DataError(
                f"{self.lang or 'embedding'}: {len(self.words)} words do not fit "
                f"vectors of shape {self.vectors.shape}"
            )

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        steps = "-".join(self.normalisation.steps) or "not normalised"
        return f"<Embedding {self.lang or 'unnamed'}: {len(self):,} words, d = {self.dim}, {steps}>"

    @property
    def dim(self) -> int:
        """The dimension d."""
        return self.vectors.shape[1]

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of every word."""
        return {word: i for i, word in enumerate(self.words)}

    def find(self, word: str) -> int | None:
        """Find the row of a word by the first known one of its :func:`spellings`; else None."""
        forms = spellings(word, self.lang == "tr")
        return next((self.index[s] for s in forms if s in self.index), None)

    def knows(self, word: str) -> bool:
        """Say whether a word is in the vocabulary, in some spelling."""
        return self.find(word) is not None

    def head(self, n: int) -> Embedding:
        """Keep the ``n`` most frequent words; 0 keeps all."""
        n = n or len(self)
        counts = None if self.counts is None else self.counts[:n]
        return replace(self, words=self.words[:n], vectors=self.vectors[:n], counts=counts)

    def extend(self, words: Iterable[str]) -> Embedding:
        """Add unseen words that sub-words make vectors of, as the rarest ones, normalised alike.

        Known words are not added again, and neither are words without any sub-word.

        Args:
            words: As typed; white space inside becomes ``_``.
        """
        new = [
            "_".join(unicodedata.normalize("NFC", w).split()) for w in words if not self.knows(w)
        ]
        new = [word for word in dict.fromkeys(new) if word]
        if self.subwords is None or not new:
            return self
        raw, dim = self.subwords.vectors_of(new), self.normalisation.raw_dim(self.dim)
        if raw.shape != (len(new), dim):
            raise DataError(
                f"{self.subwords.path}: its vectors have {raw.shape[-1]} dimensions, those of "
                f"{self.lang} {dim}; is it the file that was aligned?"
            )
        made = np.flatnonzero(raw.any(axis=1))
        vectors = np.concatenate([self.vectors, self.normalisation.apply(raw[made])])
        words = [*self.words, *(new[i] for i in made)]
        counts = self.counts
        if counts is not None:
            counts = np.concatenate([counts, np.zeros(len(made), dtype=counts.dtype)])
        return replace(self, words=words, vectors=vectors, counts=counts)

    def normalise(self, steps: tuple[str, ...] = NORMALISATION) -> Embedding:
        """Apply steps, such as ``unit`` and ``center``; the paper has unit, center, unit."""
        vectors, means = run_steps(self.vectors, tuple(steps))
        done = self.normalisation
        norm = Normalisation(done.steps + tuple(steps), done.means + tuple(means))
        return replace(self, vectors=vectors, normalisation=norm)

    def pad(self, dim: int) -> Embedding:
        """Append zeros until vectors have ``dim`` dimensions; lengths and cosines stay the same."""
        return self.normalise((f"{PAD}{dim - self.dim}",)) if dim > self.dim else self

    def summary(self) -> str:
        """Summarise in one line how many words were read and kept, and why others were dropped."""
        parts = [
            f"{n:,} {name.replace('_', ' ')}"
            for name, n in self.report.items()
            if n and name not in ("read", "kept")
        ]
        read = self.report.get("read", len(self))
        tail = f" ({', '.join(parts)})" if parts else ""
        return f"{self.lang}: {len(self):,} of {read:,} words read, d = {self.dim}{tail}"


def lower(word: str, turkish: bool = False) -> str:
    """Convert to lower case; the Turkish I and İ, two letters, become ı and i.

    Example:
        >>> lower("ISI"), lower("ISI", turkish=True), lower("İZMİR", turkish=True)
        ('isi', 'ısı', 'izmir')
    """
    if turkish:
        word = word.replace("İ", "i").replace("I\u0307", "i").replace("I", "ı")
    return word.lower()


def spellings(word: str, turkish: bool = False) -> list[str]:
    """List how a vocabulary may spell a typed word: as is, composed (NFC), joined, in lower case.

    White space inside becomes ``_``, as in :class:`Policy`.
    """
    forms = [word, unicodedata.normalize("NFC", word)]
    joined = ["_".join(form.split()) for form in forms]
    return [*forms, *joined, *(lower(form, turkish) for form in joined)]


def explain_unknown(word: str, side: Embedding, other: Embedding) -> str:
    """Explain in one line that a word is unknown: suggest spellings, or the other direction."""
    near = difflib.get_close_matches(spellings(word, side.lang == "tr")[-1], side.words, NEAR)
    tail = f"similar spellings: {', '.join(near)}" if near else "no similar spelling"
    if other.find(word) is not None:
        tail = f"it is a word of {other.lang}: translate in the other direction; {tail}"
    return f"{word!r} is not among the {len(side):,} words of {side.lang}; {tail}"
