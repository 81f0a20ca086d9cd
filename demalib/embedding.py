"""Word vectors of one language: how words are cleaned, how spaces are normalised."""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from demalib.errors import DataError

NORMALISATION = ("unit", "center", "unit")  # Section 5.2, after Artetxe et al. (2018)
NEAR = 3  # spellings that are offered for a word that is not there


@dataclass(frozen=True)
class Policy:
    """What is done to the words of a file, in this order; every effect is counted.

    - A word that is not UTF-8 is dropped (``undecodable``).
    - White space around a word is cut; a word that is only white space, such as a no-break
      space, is dropped (``blank``); white space inside becomes ``_`` (``phrases``), the
      convention of word2vec, so that every ``.vec`` reader can read what we write.
    - ``case="lower"`` folds case; ``"keep"`` leaves it.
    - ``tokens="letters"`` drops words without a single letter (``no_letter``); ``"all"`` keeps.
    - Of equal words the first, the most frequent, wins (``duplicates``).
    - The first ``max_vocab`` words that remain are kept; 0 keeps all.
    """

    case: str = "lower"
    tokens: str = "letters"
    max_vocab: int = 0

    def __post_init__(self) -> None:
        if self.case not in ("lower", "keep") or self.tokens not in ("letters", "all"):
            raise DataError(
                f"policy: case is 'lower' or 'keep', tokens 'letters' or 'all'; "
                f"got {self.case!r}, {self.tokens!r}"
            )
        if self.max_vocab < 0:
            raise DataError(f"policy: max_vocab is 0 (all) or more, got {self.max_vocab}")

    def apply(self, word: str, report: Counter) -> str:
        """The cleaned word, or an empty string where it is dropped; counts what it did."""
        if "\ufffd" in word:
            report["undecodable"] += 1
            return ""
        parts = word.split()
        if len(parts) != 1:
            report["phrases" if parts else "blank"] += 1
        word = "_".join(parts)
        if word and self.tokens == "letters" and not any(map(str.isalpha, word)):
            report["no_letter"] += 1
            return ""
        return word.lower() if self.case == "lower" else word


@dataclass(frozen=True)
class Normalisation:
    """The steps a space went through, with the mean of each ``center`` step, (d,) float32.

    Carried along so that new words are treated exactly as the training words were.
    """

    steps: tuple[str, ...] = ()
    means: tuple[np.ndarray, ...] = ()

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """Normalise new vectors (n, d) with the means of the training words."""
        return _run_steps(vectors, self.steps, list(self.means))[0]


@dataclass(frozen=True, eq=False)
class Embedding:
    """The words of one language, most frequent first, with their vectors.

    Attributes:
        words: n words; a word's rank (Section 3.1) is its position, counted from 1.
        vectors: (n, d) float32; may be memory-mapped.
        lang: Language code, or the file's name.
        counts: Occurrence counts (n), where the source has them.
        normalisation: What ``vectors`` went through so far.
        report: What the clean-up did, by :class:`Policy`.

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

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors) or not len(self.words):
            raise DataError(
                f"{self.lang or 'embedding'}: {len(self.words)} words do not fit "
                f"vectors of shape {self.vectors.shape}"
            )

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """The dimension d."""
        return self.vectors.shape[1]

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of every word."""
        return {word: i for i, word in enumerate(self.words)}

    def find(self, word: str) -> int | None:
        """The row of a word in the first of its :func:`spellings` that is here, if any."""
        return next((self.index[s] for s in spellings(word) if s in self.index), None)

    def head(self, n: int) -> Embedding:
        """The ``n`` most frequent words (0 keeps all)."""
        n = n or len(self)
        counts = None if self.counts is None else self.counts[:n]
        return replace(self, words=self.words[:n], vectors=self.vectors[:n], counts=counts)

    def normalise(self, steps: tuple[str, ...] = NORMALISATION) -> Embedding:
        """Apply steps out of ``unit`` and ``center``; unit, center, unit is the paper's."""
        vectors, means = _run_steps(self.vectors, tuple(steps), [])
        done = self.normalisation
        norm = Normalisation(done.steps + tuple(steps), done.means + tuple(means))
        return replace(self, vectors=vectors, normalisation=norm)

    def summary(self) -> str:
        """One line: what was read, what was kept and why the rest was not."""
        parts = [
            f"{n:,} {name.replace('_', ' ')}"
            for name, n in self.report.items()
            if n and name not in ("read", "kept")
        ]
        read = self.report.get("read", len(self))
        tail = f" ({', '.join(parts)})" if parts else ""
        return f"{self.lang}: {len(self):,} of {read:,} words read, d = {self.dim}{tail}"


def spellings(word: str) -> list[str]:
    """How vocabularies may spell a typed word: as it is, composed (NFC), as one word, in lower case.

    White space inside becomes ``_``, as in :class:`Policy`.
    """
    forms = [word, unicodedata.normalize("NFC", word)]
    joined = ["_".join(form.split()) for form in forms]
    return [*forms, *joined, *(form.lower() for form in joined)]


def explain_unknown(word: str, side: Embedding, other: Embedding) -> str:
    """One line on a word that is not there: near spellings, or that the other side has it."""
    near = difflib.get_close_matches(spellings(word)[-1], side.words, NEAR)
    tail = f"near spellings: {', '.join(near)}" if near else "no spelling comes near"
    if other.find(word) is not None:
        tail = f"it is a word of {other.lang}: ask the other way round; {tail}"
    return f"{word!r} is not among the {len(side):,} words of {side.lang}; {tail}"


def _run_steps(
    vectors: np.ndarray, steps: tuple[str, ...], means: list[np.ndarray]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Run the steps on a copy; means are computed where none is given for a ``center``."""
    out = np.array(vectors, dtype=np.float32)
    given, used = list(means), []
    for step in steps:
        if step == "unit":
            norms = np.sqrt(np.einsum("nd,nd->n", out, out))  # no (n, d) temporary
            out /= np.maximum(norms, 1e-12)[:, None]  # a zero vector stays zero
        elif step == "center":
            mean = given.pop(0) if given else out.mean(axis=0, dtype=np.float64)
            used.append(np.asarray(mean, dtype=np.float32))
            out -= used[-1]
        else:
            raise DataError(f"normalisation: unknown step {step!r}; use 'unit' and 'center'")
    return out, used
