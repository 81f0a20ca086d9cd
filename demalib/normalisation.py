"""The normalisation of a space: its steps, and what the training words gave for each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from demalib.errors import DataError

NORMALISATION = ("unit", "center", "unit")  # Section 5.2, after Artetxe et al. (2018)


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
        return run_steps(vectors, self.steps, self.means, self.axes)[0]

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


def run_steps(
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
