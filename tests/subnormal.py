"""Count subnormal numbers: those next to zero, which some CPUs handle a hundred times more slowly."""

from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # of as many bytes as a float
FACTORS = {"mm": 0, "addmm": 1}  # products of two matrices: which argument is the first factor
UNREAD = {"copy_", "zero_", "fill_", "normal_", "uniform_"}  # overwrite what was there


class CountSubnormals(TorchDispatchMode):
    """Count the subnormal numbers that torch's operations read, return or multiply.

    ``with CountSubnormals() as seen: ...`` sees every operation inside, the backward pass
    included. A number counts each time that an operation reads or returns it. A matrix product
    adds the inner indices at which two nonzero factors have a subnormal product. Memory that
    nothing was written to is not looked at. What happens inside LAPACK (``svd``, ``eigh``) is not
    seen, only what goes in and comes out.

    Attributes:
        count: How many; 0 is what every solver should leave.
        where: The same by name of the operation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.where: Counter[str] = Counter()

    @property
    def count(self) -> int:
        return self.where.total()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if func.is_view or name.startswith(("empty", "new_empty")):  # computes nothing
            return func(*args, **kwargs)
        read = [value for key, value in kwargs.items() if key != "out"]
        read += args[1:] if name in UNREAD or kwargs.get("beta") == 0 else args
        found = sum(map(subnormals, tensors(read)))
        if name.rstrip("_") in FACTORS:
            first = FACTORS[name.rstrip("_")]
            found += small_products(*args[first : first + 2])
        returned = func(*args, **kwargs)
        found += sum(map(subnormals, tensors(returned)))
        if found:
            self.where[name] += found
        return returned


def tensors(tree: Any) -> list[Tensor]:
    """All tensors of floating point in nested lists, tuples and dictionaries."""
    leaves = tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point()]


def subnormals(values: Tensor) -> int:
    """How many numbers are not zero but below the smallest normal one.

    Their bits are compared, as integers: a comparison of floats may flush them to zero itself.
    """
    integer = INTEGERS[values.element_size()]
    tiny = values.new_tensor(torch.finfo(values.dtype).tiny).view(integer)
    magnitude = values.detach().view(integer) & torch.iinfo(integer).max  # without the sign
    return int(((magnitude > 0) & (magnitude < tiny)).sum())


def small_products(a: Tensor, b: Tensor) -> int:
    """At how many inner indices of ``a @ b`` the smallest nonzero product is subnormal."""
    smallest = [
        torch.where(side == 0, torch.inf, side.abs()).double().amin(dim)
        for side, dim in ((a, 0), (b, 1))
    ]
    return int((smallest[0] * smallest[1] < torch.finfo(a.dtype).tiny).sum())
