"""Checkpoints of the gradient loop on disk: a stopped run resumes with the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from demalib.data.files import display_path
from demalib.data.tensors import read_tensors, write_tensors
from demalib.errors import DataError


class DiskCheckpoint:
    """A checkpoint in one file; see :class:`demalib.state.Checkpoint`.

    Args:
        path: The file, which need not exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def load(
        self, signature: str, restore: Callable[[dict[str, Tensor], dict[str, Any]], None]
    ) -> None:
        """Restore the checkpoint if there is one.

        Raises:
            DataError: It belongs to another run, or is damaged.
        """
        if not self.path.exists():
            return
        try:
            tensors, meta = read_tensors(self.path)
            if meta["signature"] != signature:
                raise DataError(
                    f"{display_path(self.path)}: a checkpoint of other settings or other "
                    "vectors; delete it or give another folder"
                )
            restore(tensors, json.loads(meta["facts"]))
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"{display_path(self.path)}: not a valid checkpoint ({error}); delete it"
            ) from error

    def save(self, signature: str, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Write the checkpoint atomically."""
        write_tensors(self.path, tensors, {"facts": json.dumps(facts), "signature": signature})

    def save_last_good(
        self, signature: str, tensors: dict[str, Tensor], facts: dict[str, Any]
    ) -> str:
        """Write the state before a failure beside the checkpoint; return its path."""
        other = DiskCheckpoint(self.path.with_suffix(".last-good.safetensors"))
        other.save(signature, tensors, facts)
        return display_path(other.path)
