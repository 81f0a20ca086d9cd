"""Where tensors are: the one place that names a device.

The rule: a :class:`~demalib.Pair` is on the device, a :class:`~demalib.Mapping` is on the CPU,
:func:`demalib.pair.retrievers` brings them together. Every function makes its tensors on the device
of its inputs, and what becomes a data frame, an array or a file is moved with ``.cpu()`` first.
"""

from __future__ import annotations

import os

import torch

from demalib.errors import DataError


def get_device() -> torch.device:
    """Return ``$DEMALIB_DEVICE``, such as ``cpu`` or ``cuda:1``; else a GPU if there is one."""
    name = os.environ.get("DEMALIB_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(f"DEMALIB_DEVICE={name}: no such device here ({reason})") from error
    return device


def make_generator(seed: int, device: torch.device) -> torch.Generator:
    """Make a source of random numbers on a device; on another device the numbers are others."""
    return torch.Generator(device).manual_seed(seed)
