"""Run the parts of the benchmark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import torch

from demalib.bench.control import control
from demalib.bench.density import density
from demalib.bench.growth import csls, em
from demalib.bench.solvers import solvers
from demalib.bench.vectors import vectors
from demalib.files import write_aside, write_json
from demalib.runs import project_root

PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "density": density,
    "vectors": vectors,
    "solvers": solvers,
    "em": em,
    "csls": csls,
    "control": control,
}


def _blas() -> str:
    """The library behind torch's matrix products."""
    for known in ("mkl", "openblas", "blis", "accelerate"):
        if f"blas_info={known}" in torch.__config__.show().lower():
            return known
    return "unknown"


def ratio_rows(figures: dict[str, Any], part: str) -> list[dict[str, Any]]:
    """A row for every ratio of a part, and of the sizes inside it."""
    memory = figures.get("memory_ratio", {})
    rows = [
        {"part": part, "against": other, "time": time, "memory": memory.get(other)}
        for other, time in figures.get("time_ratio", {}).items()
    ]
    for size, inner in figures.items():
        if isinstance(inner, dict):
            rows += ratio_rows(inner, f"{part} {size}")
    return rows


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
    rows = [row for name, figures in kept.items() for row in ratio_rows(figures, name)]
    table = pd.DataFrame(rows).round(3)
    print(table.to_string(index=False))
    with write_aside(path.with_name("ratios.csv")) as aside:
        table.to_csv(aside, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
