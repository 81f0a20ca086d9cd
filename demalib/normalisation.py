"""The normalisation of a space: its steps, and what the training words gave for each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from demalib.errors import DataError

NORMALISATION = ("unit", "center", "unit")  # Section 5.2, after Artetxe et al. (2018)
PAD = "pad"


@dataclass(frozen=True)
class Normalisation:
    """The normalisation steps of a space, and what the training words gave for each of them.

    It is stored, so that new words can be treated exactly as the training words.

    Attributes:
        steps: ``unit`` (length 1), ``center`` (mean 0) and ``pad172`` (172 zeros behind every
            vector), in order.
        means: The mean of each ``center`` step, (D,) float32.
    """

    steps: tuple[str, ...] = ()
    means: tuple[np.ndarray, ...] = ()

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """Normalise new raw vectors, (n, D), as the training words were; returns (n, d)."""
        return run_steps(vectors, self.steps, self.means)[0]

    def raw_dim(self, dim: int) -> int:
        """Return the dimension D of raw vectors if normalised ones have ``dim`` dimensions."""
        return dim - sum(map(zeros, self.steps))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Means by name, ``mean_0`` and so on, for a file."""
        return {f"mean_{i}": mean for i, mean in enumerate(self.means)}

    @classmethod
    def of(cls, steps: list[str], arrays: dict[str, np.ndarray], dim: int) -> Normalisation:
        """Make it from ``steps`` and ``arrays``; other arrays are left alone.

        Raises:
            ValueError: They do not fit together, or do not lead to ``dim`` dimensions.
        """
        names = [f"mean_{i}" for i in range(steps.count("center"))]
        if missing := [name for name in names if name not in arrays]:
            raise ValueError(f"{missing[0]} of its normalisation is missing")
        norm = cls(tuple(steps), tuple(arrays[name] for name in names))
        norm.check(dim)
        return norm

    def check(self, dim: int) -> None:
        """Raise a ValueError unless the steps have their means and lead to ``dim`` dimensions."""
        means, at = iter(self.means), self.raw_dim(dim)
        if at < 1:
            raise ValueError("its normalisation adds more dimensions than its maps have")
        for step in self.steps:
            at += zeros(step)
            if step == "center":
                mean = next(means, None)
                if mean is None or mean.shape != (at,):
                    raise ValueError("a mean is missing, or not of the dimension of its maps")
        if next(means, None) is not None:
            raise ValueError("its normalisation has more means than steps")
        if any(mean.dtype.kind != "f" or not np.isfinite(mean).all() for mean in self.means):
            raise ValueError("its means contain NaN or infinity, or no numbers")
        self.apply(np.zeros((1, self.raw_dim(dim)), dtype=np.float32))


def zeros(step: str) -> int:
    """Return how many zeros a step appends to every vector: 172 for ``pad172``, else 0."""
    number = step.removeprefix(PAD)
    return int(number) if step != number and number.isascii() and number.isdigit() else 0


def run_steps(
    vectors: np.ndarray, steps: tuple[str, ...], means: tuple[np.ndarray, ...] = ()
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Run the steps on a copy; compute the mean of a ``center`` step if none is given."""
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
        elif zeros(step):
            out = np.pad(out, ((0, 0), (0, zeros(step))))
        else:
            raise DataError(f"normalisation: unknown step {step!r}; use 'unit' and 'center'")
    return out, used
