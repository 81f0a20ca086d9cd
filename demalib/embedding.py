"""Word vectors of one language: the clean-up of words, the normalisation of spaces."""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from demalib.errors import DataError

NORMALISATION = ("unit", "center", "unit")  # Section 5.2, after Artetxe et al. (2018)
NEAR = 3  # similar spellings that are suggested for an unknown word


@dataclass(frozen=True)
class Policy:
    """The clean-up of the words of a file, in this order; every effect is counted.

    - A word that is not UTF-8 is dropped (``undecodable``).
    - White space around a word is removed; a word of white space only, such as a no-break
      space, is dropped (``blank``); white space inside becomes ``_`` (``phrases``), as in
      word2vec, so that every ``.vec`` reader can read what we write.
    - ``case="lower"`` converts to lower case; ``"keep"`` does not.
    - ``tokens="letters"`` drops words without any letter (``no_letter``); ``"all"`` keeps them.
    - Of equal words the first, the most frequent, is kept (``duplicates``).
    - Of the remaining words, the first ``max_vocab`` are kept; 0 keeps all.
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
        """Clean a word and count the effects; return an empty string if it is dropped."""
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
    """The normalisation steps of a space, and what the training words gave for each of them.

    It is stored, so that new words can be treated exactly as the training words.

    Attributes:
        steps: ``unit`` (length 1), ``center`` (mean 0) and ``pca`` (fewer dimensions), in order.
        means: The mean of each ``center`` step, (D,) float32.
        axes: The principal axes of each ``pca`` step as columns, (D, d) float32.
    """

    steps: tuple[str, ...] = ()
    means: tuple[np.ndarray, ...] = ()
    axes: tuple[np.ndarray, ...] = ()

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """Normalise new raw vectors, (n, D), as the training words were; returns (n, d)."""
        return _run_steps(vectors, self.steps, self.means, self.axes)[0]

    def raw_dim(self, dim: int) -> int:
        """Return the dimension D of raw vectors if normalised ones have ``dim`` dimensions."""
        return len(self.axes[0]) if self.axes else dim

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Means and axes by name, ``mean_0``, ``axes_0`` and so on, for a file."""
        both = (("mean", self.means), ("axes", self.axes))
        return {f"{name}_{i}": table for name, tables in both for i, table in enumerate(tables)}

    @classmethod
    def of(cls, steps: list[str], arrays: dict[str, np.ndarray], dim: int) -> Normalisation:
        """Make it from ``steps`` and ``arrays``; other arrays are left alone.

        Raises:
            ValueError: They do not fit together, or do not lead to ``dim`` dimensions.
        """
        kinds = {"center": "mean", "pca": "axes"}
        names = {step: [f"{kinds[step]}_{i}" for i in range(steps.count(step))] for step in kinds}
        if missing := [name for step in kinds for name in names[step] if name not in arrays]:
            raise ValueError(f"{missing[0]} of its normalisation is missing")
        means, axes = (tuple(arrays[name] for name in names[step]) for step in kinds)
        norm = cls(tuple(steps), means, axes)
        norm.check(dim)
        return norm

    def check(self, dim: int) -> None:
        """Raise a ValueError unless the steps have their arrays and lead to ``dim`` dimensions."""
        means, axes, at = iter(self.means), iter(self.axes), self.raw_dim(dim)
        for step in self.steps:
            if step == "center":
                mean = next(means, None)
                if mean is None or mean.shape != (at,):
                    raise ValueError("a mean is missing, or not of the dimension of its maps")
            if step == "pca":
                table = next(axes, np.empty(0))
                if table.shape[:1] != (at,) or table.ndim != 2:
                    raise ValueError("its principal axes are missing, or not of its dimension")
                at = table.shape[1]
        if at != dim or next(means, None) is not None or next(axes, None) is not None:
            raise ValueError("its maps and means are not of one dimension")
        for table in (*self.means, *self.axes):
            if table.dtype.kind != "f" or not np.isfinite(table).all():
                raise ValueError("its means or axes contain NaN or infinity, or no numbers")
        self.apply(np.zeros((1, self.raw_dim(dim)), dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Embedding:
    """The words of one language, most frequent first, with their vectors.

    Attributes:
        words: n words; a word's rank (Section 3.1) is its position, counted from 1.
        vectors: (n, d) float32; may be memory-mapped.
        lang: Language code, or the name of the file.
        counts: Occurrence counts (n), if the source has them.
        normalisation: The steps that were applied to ``vectors``.
        report: Effects of the clean-up, see :class:`Policy`.

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
        """Find the row of a word by the first known one of its :func:`spellings`; else None."""
        return next((self.index[s] for s in spellings(word) if s in self.index), None)

    def head(self, n: int) -> Embedding:
        """Keep the ``n`` most frequent words; 0 keeps all."""
        n = n or len(self)
        counts = None if self.counts is None else self.counts[:n]
        return replace(self, words=self.words[:n], vectors=self.vectors[:n], counts=counts)

    def normalise(self, steps: tuple[str, ...] = NORMALISATION) -> Embedding:
        """Apply ``unit`` and ``center`` steps; the paper has unit, center, unit."""
        vectors, means = _run_steps(self.vectors, tuple(steps))
        done = self.normalisation
        norm = Normalisation(done.steps + tuple(steps), done.means + tuple(means), done.axes)
        return replace(self, vectors=vectors, normalisation=norm)

    def reduce(self, dim: int) -> Embedding:
        """Project onto the first ``dim`` principal axes of these words: a ``pca`` step.

        If the last step before was ``unit``, vectors get unit length again.
        """
        done = self.normalisation
        axes = principal_axes(self.vectors, dim)
        steps = ("pca", "unit") if done.steps[-1:] == ("unit",) else ("pca",)
        vectors, _ = _run_steps(self.vectors, steps, axes=(axes,))
        norm = Normalisation(done.steps + steps, done.means, (*done.axes, axes))
        return replace(self, vectors=vectors, normalisation=norm)

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


def spellings(word: str) -> list[str]:
    """List how a vocabulary may spell a typed word: as is, composed (NFC), joined, in lower case.

    White space inside becomes ``_``, as in :class:`Policy`.
    """
    forms = [word, unicodedata.normalize("NFC", word)]
    joined = ["_".join(form.split()) for form in forms]
    return [*forms, *joined, *(form.lower() for form in joined)]


def explain_unknown(word: str, side: Embedding, other: Embedding) -> str:
    """Explain in one line that a word is unknown: suggest spellings, or the other direction."""
    near = difflib.get_close_matches(spellings(word)[-1], side.words, NEAR)
    tail = f"similar spellings: {', '.join(near)}" if near else "no similar spelling"
    if other.find(word) is not None:
        tail = f"it is a word of {other.lang}: translate in the other direction; {tail}"
    return f"{word!r} is not among the {len(side):,} words of {side.lang}; {tail}"


def principal_axes(vectors: np.ndarray, dim: int) -> np.ndarray:
    """Find the ``dim`` orthonormal axes along which vectors are longest, (D, dim) float32.

    They are the eigenvectors of the matrix of second moments with the largest eigenvalues, so no
    other projection keeps more of the vectors' lengths; of centred vectors that is PCA. Each axis
    points to where its largest coordinate is positive: the same vectors give the same axes.

    Args:
        vectors: The vectors of all words, (n, D).
        dim: The number of axes, 1 to D.
    """
    if not 0 < dim <= vectors.shape[1]:
        raise DataError(f"pca: {vectors.shape[1]} dimensions cannot be brought down to {dim}")
    moments = np.zeros((vectors.shape[1], vectors.shape[1]))
    for lo in range(0, len(vectors), 10_000):
        block = vectors[lo : lo + 10_000].astype(np.float64)
        moments += block.T @ block
    axes = np.linalg.eigh(moments)[1][:, : -dim - 1 : -1]  # eigenvalues come in ascending order
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(dim)])
    return np.ascontiguousarray(axes, dtype=np.float32)


def _run_steps(
    vectors: np.ndarray,
    steps: tuple[str, ...],
    means: tuple[np.ndarray, ...] = (),
    axes: tuple[np.ndarray, ...] = (),
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Run the steps on a copy; compute the mean of a ``center`` step if none is given."""
    out = np.array(vectors, dtype=np.float32)
    given, used, left = list(means), [], list(axes)
    for step in steps:
        if step == "unit":
            norms = np.sqrt(np.einsum("nd,nd->n", out, out))  # no (n, d) temporary
            out /= np.maximum(norms, 1e-12)[:, None]  # a zero vector stays zero
        elif step == "center":
            mean = given.pop(0) if given else out.mean(axis=0, dtype=np.float64)
            used.append(np.asarray(mean, dtype=np.float32))
            out -= used[-1]
        elif step == "pca" and left:
            out = out @ left.pop(0)
        else:
            raise DataError(f"normalisation: unknown step {step!r}; use 'unit' and 'center'")
    return out, used
