"""Run the parts of the benchmark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch

from demalib.bench.density import density
from demalib.bench.growth import csls, em
from demalib.bench.solvers import solvers
from demalib.bench.vectors import vectors
from demalib.files import write_json
from demalib.runs import project_root

PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "density": density,
    "vectors": vectors,
    "solvers": solvers,
    "em": em,
    "csls": csls,
}


def _blas() -> str:
    """The library behind torch's matrix products."""
    for known in ("mkl", "openblas", "blis", "accelerate"):
        if f"blas_info={known}" in torch.__config__.show().lower():
            return known
    return "unknown"


def main(names: list[str]) -> None:
    """Run the named parts, or all; print and keep their figures."""
    if unknown := [name for name in names if name not in PARTS]:
        sys.exit(f"bench: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    path = project_root() / "results" / "bench" / "bench.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for name in names or PARTS:
        kept[name] = PARTS[name]() | {"threads": torch.get_num_threads(), "blas": _blas()}
        print(name, json.dumps(kept[name], indent=2))
        write_json(path, kept)


if __name__ == "__main__":
    main(sys.argv[1:])
