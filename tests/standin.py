"""A stand-in for a GPU: tensors on it are marked, and the rules of CUDA are enforced on the CPU.

A marked tensor refuses to meet one that is not, except a single number or an index into it; it
refuses to become an array; and a tensor that is made without ``device=`` is not marked. The name of
the stand-in device is ``meta``, which torch knows, but whose tensors would have no numbers.
"""

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

DEVICE = torch.device("meta")
GET_DEVICE = torch.Tensor.device.__get__
ARRAYS = {torch.Tensor.numpy, torch.Tensor.__array__}
INDEXED = {torch.Tensor.__getitem__}


class Generator(torch.Generator):
    """A source of random numbers that claims to be on the stand-in."""

    device = DEVICE


def make_generator(seed, device):
    """What replaces :func:`demalib.device.make_generator`."""
    return (Generator() if device == DEVICE else torch.Generator()).manual_seed(seed)


class Marked(torch.Tensor):
    """A tensor on the stand-in."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return call(func, args, kwargs or {})

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert a tensor on the stand-in to numpy; use .cpu() first")


class StandIn(TorchFunctionMode):
    """While it is active, ``device=DEVICE`` makes marked tensors."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return call(func, args, kwargs or {})


def is_marked(tensor):
    return isinstance(tensor, Marked) or getattr(tensor, "standin", False)


def marked(tree):
    if is_marked(tree) or not isinstance(tree, torch.Tensor | tuple | list | dict):
        return tree
    if isinstance(tree, torch.Tensor):
        if tree.is_leaf and tree.requires_grad:  # a leaf stays one
            return tree.detach().as_subclass(Marked).requires_grad_()
        if tree.layout != torch.strided:  # a sparse matrix cannot be of another class
            tree.standin = True
            return tree
        return tree.as_subclass(Marked)
    if isinstance(tree, dict):
        return {key: marked(value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "n_fields"):  # such as the result of svd
        return type(tree)(map(marked, tree))
    if type(tree) in (tuple, list):
        return type(tree)(map(marked, tree))
    return tree


def target(func, args, kwargs):
    """The device that a call names, if it names one."""
    if func in (torch.Tensor.cpu,):
        return torch.device("cpu")
    named = kwargs.get("device")
    if func is torch.Tensor.to:
        for value in (*args[1:], kwargs.get("other"), named):
            if isinstance(value, torch.Tensor):
                return DEVICE if is_marked(value) else torch.device("cpu")
            if isinstance(value, torch.device | str):
                return torch.device(value)
    return None if named is None else torch.device(named)


def call(func, args, kwargs):
    """Call a torch function on plain tensors, after checking what CUDA would check."""
    with torch._C.DisableTorchFunction():
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        some = [t for t in tensors if is_marked(t)]
        if func == GET_DEVICE:
            return DEVICE if some else func(*args, **kwargs)
        if func in ARRAYS and some:
            raise TypeError("can't convert a tensor on the stand-in to numpy; use .cpu() first")
        name, device = getattr(func, "__name__", str(func)), target(func, args, kwargs)
        moves = func in (torch.Tensor.to, torch.Tensor.cpu)
        if some and not moves:
            free = func in INDEXED and is_marked(args[0])
            others = [t for t in tensors if not is_marked(t) and t.dim()]
            if others and not free:
                raise RuntimeError(f"{name}: tensors on the stand-in and on the CPU are mixed")
        lands = bool(some) if device is None else device == DEVICE
        generator = kwargs.get("generator")
        if generator is not None and isinstance(generator, Generator) != lands:
            raise RuntimeError(f"{name}: the generator is on another device than the tensor")
        if device is not None and not moves:
            kwargs = kwargs | {"device": "cpu"}
        if moves and device is not None:
            args, kwargs = without_device(args, kwargs)
            found = args[0].to(*args[1:], **kwargs) if args[1:] or kwargs else args[0]
            return marked(found) if lands else found.as_subclass(torch.Tensor)
        found = func(*args, **kwargs)
        return marked(found) if lands else found


def without_device(args, kwargs):
    """The arguments of ``to`` without the device, but with the dtype."""
    kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "other")}
    rest = []
    for value in args[1:]:
        if isinstance(value, torch.Tensor):
            rest.append(value.dtype)
        elif not isinstance(value, torch.device | str):
            rest.append(value)
    return (args[0], *rest), kwargs


def to_standin(array):
    """A marked tensor from an array."""
    return torch.from_numpy(np.asarray(array)).as_subclass(Marked)
