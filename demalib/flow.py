"""The map between two spaces: an invertible linear flow (Eqs. 2, 6)."""

import torch
from torch import Tensor


def random_orthogonal(
    d: int, generator: torch.Generator | None = None, dtype: torch.dtype = torch.float32
) -> Tensor:
    """A random orthogonal matrix, ``(d, d)``, uniform over all of them (Haar measure).

    QR alone favours some rotations, since it fixes the signs of R its own way; asking for a
    positive diagonal undoes that. It is computed in float64 on the CPU, so that one seed means
    one matrix whatever the dtype and device.
    """
    q, r = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64))
    return (q * r.diagonal().sign()).to(dtype)


class LinearFlow(torch.nn.Module):
    r"""Row vectors times a free matrix, :math:`y = x W` (Eq. 6).

    Another flow needs the same three methods: call, ``inverse``, ``log_abs_det``.

    Args:
        d: Dimension of both spaces.
        generator: Source of the random orthogonal start, on the CPU.
        weight: A start to use instead, ``(d, d)``.
        dtype: Of ``W``, unless ``weight`` brings its own.

    Note:
        The paper writes columns, ``W x``, and once rows, ``v W^T``. Here everything is a row and
        ``W`` is the transpose of the paper's, as in the released code. It starts orthogonal but
        nothing keeps it so: the paper's "volume-preserving" does not hold of its own model.
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
