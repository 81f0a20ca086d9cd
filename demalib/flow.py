"""The map between two spaces: an invertible linear flow (Eqs. 2, 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

Watch = Callable[[int, Tensor, Tensor], dict[str, float]]  # (round, W_xy, W_yx) -> figures


class Maps(NamedTuple):
    """What a solver of the core returns."""

    W_xy: Tensor  # (d, d), source to target: y = x @ W_xy
    W_yx: Tensor  # (d, d), target to source
    history: pd.DataFrame  # a row per round or validation


def random_orthogonal(
    d: int, generator: torch.Generator | None = None, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Draw an orthogonal matrix, ``(d, d)``, uniformly from all of them (Haar measure).

    QR alone favours some rotations, since it picks the signs of R arbitrarily; forcing a
    positive diagonal undoes that. It is computed in float64 on the generator's device, so that
    one seed means one matrix whatever the dtype.
    """
    device = generator.device if generator else None
    normal = torch.randn(d, d, generator=generator, dtype=torch.float64, device=device)
    q, r = torch.linalg.qr(normal)
    return (q * r.diagonal().sign()).to(dtype)


class LinearFlow(torch.nn.Module):
    r"""Row vectors times a free matrix, :math:`y = x W` (Eq. 6).

    Another flow needs the same three methods: call, ``inverse``, ``log_abs_det``.

    Args:
        d: Dimension of both spaces.
        generator: Source of the random orthogonal start; W is on its device.
        weight: A start to use instead, ``(d, d)``.
        dtype: Of ``W``, unless ``weight`` brings its own.

    Note:
        The paper writes columns, ``W x``, and once rows, ``v W^T``. Here everything is a row and
        ``W`` is the transpose of the paper's, as in the released code. It starts orthogonal but
        nothing keeps it so: the paper's "volume-preserving" is not true of its own model.

    Example:
        >>> flow = LinearFlow(2, weight=2 * torch.eye(2))
        >>> flow(torch.ones(1, 2)).tolist(), round(flow.log_abs_det().item(), 3)
        ([[2.0, 2.0]], 1.386)
    """

    def __init__(
        self,
        d: int,
        generator: torch.Generator | None = None,
        weight: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__()
        if weight is None:
            weight = random_orthogonal(d, generator, dtype)
        if weight.shape != (d, d):
            raise ValueError(f"weight must be ({d}, {d}); got {tuple(weight.shape)}")
        self.W = torch.nn.Parameter(weight.detach().clone(memory_format=torch.contiguous_format))

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(B, d)`` to ``(B, d)``."""
        return x @ self.W

    def inverse(self, y: Tensor) -> Tensor:
        """Map back: the ``x``, ``(B, d)``, with ``self(x) == y``."""
        return torch.linalg.solve(self.W, y, left=False)

    def log_abs_det(self, x: Tensor | None = None) -> Tensor:
        r"""Log-volume change :math:`\log|\det W|` at ``x`` (Eq. 2): one number for a linear map."""
        return torch.linalg.slogdet(self.W).logabsdet
