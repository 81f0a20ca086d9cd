"""Maps on disk: ``.safetensors`` files, written atomically."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from demalib.data.files import atomic_write, display_path, plain_name
from demalib.errors import DataError
from demalib.normalisation import Normalisation
from demalib.pair import Mapping

MAPS = ("W_xy", "W_yx", "P_y", "P_x")
ARRAY = re.compile(r"(src|tgt)_mean_\d+$")  # of a side's normalisation


def write_tensors(path: str | Path, tensors: dict[str, Tensor], meta: dict[str, str]) -> None:
    """Write a ``.safetensors`` file atomically."""
    with atomic_write(path) as aside:
        try:
            save_file(tensors, aside, meta)
        except SafetensorError as error:  # such as a full disk
            raise OSError(f"{display_path(path)}: cannot be written ({error})") from error


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read tensors and texts; a damaged file can raise almost anything."""
    with safe_open(path, framework="pt") as file:
        # cloned: aligned in memory as in the first run, so that sums round the same
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        return tensors, file.metadata()


def save_mapping(path: str | Path, mapping: Mapping) -> None:
    """Write the maps, means and settings of a mapping."""
    named = {name: getattr(mapping, name) for name in MAPS}
    tensors = {name: W.clone().contiguous() for name, W in named.items() if W is not None}
    steps = {}
    for side, norm in (("src", mapping.src_norm), ("tgt", mapping.tgt_norm)):
        steps[side] = list(norm.steps)
        for name, table in norm.arrays.items():
            tensors[f"{side}_{name}"] = torch.from_numpy(np.array(table))
    write_tensors(path, tensors, {"info": json.dumps(mapping.info), "steps": json.dumps(steps)})


def load_mapping(path: str | Path) -> Mapping:
    """Read what :func:`save_mapping` wrote."""
    if not Path(path).is_file():
        raise DataError(f"{path}: no such mapping; 'demalib align' writes one")
    try:
        tensors, texts = read_tensors(path)
        meta = {name: json.loads(text) for name, text in texts.items()}
        if unknown := [name for name in tensors if name not in MAPS and not ARRAY.match(name)]:
            raise ValueError(f"unknown tensor {', '.join(unknown)}")
        mapping = Mapping(
            tensors["W_xy"],
            tensors["W_yx"],
            _normalisation("src", meta["steps"]["src"], tensors),
            _normalisation("tgt", meta["steps"]["tgt"], tensors),
            meta["info"],
            P_y=tensors.get("P_y"),
            P_x=tensors.get("P_x"),
        )
        for lang in (mapping.info["src"], mapping.info["tgt"]):
            plain_name(lang or "unnamed")
        mapping.check()
        return mapping
    except Exception as error:  # a damaged file can raise almost anything
        raise DataError(
            f"{path}: not a valid mapping file ({error}); run 'demalib align' again"
        ) from error


def _normalisation(side: str, steps: list[str], tensors: dict[str, Tensor]) -> Normalisation:
    start = f"{side}_"
    arrays = {n.removeprefix(start): t.numpy() for n, t in tensors.items() if n.startswith(start)}
    return Normalisation.of(steps, arrays, len(tensors["W_xy"]))
