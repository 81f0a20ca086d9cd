"""Run the parts of the benchmark."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import torch

from bench.control import control
from bench.csls import csls
from bench.curve import curve
from bench.density import density
from bench.em import em
from bench.lexicon import lexicon
from bench.loop import loop
from bench.many import many
from bench.pipeline import pipeline
from bench.solvers import solvers
from bench.spelling import spelling
from bench.subnormal import subnormal
from bench.vectors import vectors
from bench.verdicts import verdicts
from demalib.data.files import write_json, write_text
from demalib.evaluation import record
from demalib.runs import project_root

PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "density": density,
    "vectors": vectors,
    "subnormal": subnormal,
    "em": em,
    "csls": csls,
    "solvers": solvers,
    "control": control,
    "pipeline": pipeline,
    "curve": curve,
    "loop": loop,
    "many": many,
    "verdicts": verdicts,
    "spelling": spelling,
    "lexicon": lexicon,
}


def machine() -> dict[str, Any]:
    """Describe what the figures depend on: the CPU, its load, threads, the library of products."""
    build = torch.__config__.show().lower()
    known = ("mkl", "openblas", "blis", "accelerate")
    return {
        "cpu": record.machine()["cpu"],
        "load": round(os.getloadavg()[0], 1),  # of the last minute, an earlier part's included
        "threads": torch.get_num_threads(),
        "blas": next((name for name in known if f"blas_info={name}" in build), "unknown"),
    }


def ratio_rows(figures: dict[str, Any], part: str) -> list[dict[str, Any]]:
    """List every ratio of a part, and of the sizes inside it, a row each."""
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
        kept[name] = machine() | PARTS[name]()
        print(name, json.dumps(kept[name], indent=2), flush=True)
        write_json(path, kept)
    rows = [row for name, figures in kept.items() for row in ratio_rows(figures, name)]
    table = pd.DataFrame(rows).round(3)
    print(table.to_string(index=False))
    write_text(path.with_name("ratios.csv"), table.to_csv(index=False))


if __name__ == "__main__":
    main(sys.argv[1:])
