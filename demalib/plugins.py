"""Other people's functions by name: an entry point, or ``module:function``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from demalib.errors import DataError


def find_plugin(group: str, name: str) -> Callable[..., Any] | None:
    """Import a function; None if no entry point has the name.

    Args:
        group: Group of entry points of installed packages.
        name: Name of an entry point, or ``module:function``. The module may be in the working
            folder, or wherever Python finds modules (``PYTHONPATH``).

    Raises:
        DataError: The module or the function cannot be imported.
    """
    module, colon, attribute = name.partition(":")
    try:
        if colon:
            found = getattr(importlib.import_module(module), attribute)
        else:
            points = entry_points(group=group, name=name)
            found = next(iter(points)).load() if points else None
    except Exception as error:  # whatever the module does when it is imported
        raise DataError(
            f"{name}: cannot be imported ({type(error).__name__}: {error}); is its folder on "
            "PYTHONPATH?"
        ) from error
    if colon and not callable(found) and not hasattr(found, "fit"):
        raise DataError(f"{name}: not a function fit(pair, config) -> Mapping")
    return found


def use_working_folder(names: list[str]) -> None:
    """Let ``module:function`` be found in the working folder, by notebooks' kernels too."""
    if not any(":" in name for name in names):
        return
    folder = os.getcwd()
    sys.path.insert(0, folder)
    rest = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, rest] if rest else [folder])
