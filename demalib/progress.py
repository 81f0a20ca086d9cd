"""Progress bars where somebody watches: in a terminal, or in a notebook that a person runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import std


def progress(iterable: Iterable[Any] | None = None, **options: Any) -> Any:
    """Make a progress bar, as ``tqdm(iterable, **options)`` does.

    In a notebook it is a widget. There is none if standard error is no terminal, nor in a notebook
    without a screen (papermill, nbconvert, nbval, Voilà), where it would stay in the output.
    """
    if _watched_notebook():
        from tqdm.auto import tqdm  # asks for widgets when it is imported

        return tqdm(iterable, **options)
    return std.tqdm(iterable, **options, disable=None)


def _watched_notebook() -> bool:
    """Say whether this runs in a notebook whose front end would also accept typed input."""
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython else None
    if kernel is None:
        return False
    request = kernel.get_parent("shell") or {}
    return bool(request.get("content", {}).get("allow_stdin"))
