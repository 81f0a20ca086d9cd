"""Where tensors live: the one place that names a device, and knows what fits on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TypeVar

import torch

from demalib.files import DataError

MEMORY = Path("/proc/meminfo")
Function = TypeVar("Function", bound=Callable)


def pick() -> torch.device:
    """``$DEMALIB_DEVICE``, such as ``cpu`` or ``cuda:1``; else a GPU if there is one."""
    name = os.environ.get("DEMALIB_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(f"DEMALIB_DEVICE={name}: no such device here ({reason})") from error
    return device


def on_device(function: Function) -> Function:
    """Let a function make its tensors on the device that :func:`pick` names."""

    @wraps(function)
    def inside(*args, **kwargs):
        with pick():
            return function(*args, **kwargs)

    return inside


def seeded(seed: int) -> torch.Generator:
    """A source of random numbers on the device; on another device the numbers are others."""
    return torch.Generator(pick()).manual_seed(seed)


def free_bytes() -> int:
    """Bytes of memory that the device has to spare."""
    device = pick()
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused  # torch keeps what it may need again
    if not MEMORY.is_file():  # not Linux: nothing is known, so nothing is held back
        return sys.maxsize
    fields = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
    return 1024 * int(fields["MemAvailable"].split()[0])
