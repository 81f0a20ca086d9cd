"""Rebuild every table with one command: all systems, pairs, lexicons and hint settings, then the notebooks.

Finished runs are skipped, so an interrupted reproduction goes on where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from demalib.config import PAPER_PAIRS, REGISTRY_PAIRS, split_name
from demalib.errors import DataError
from demalib.evaluation.rivals import RIVALS
from demalib.evaluation.tables import possible
from demalib.runs.notebooks import Ready, Todo, run_in_process, run_notebook, say, sweep

TRAIN = "notebooks/02_train.ipynb"
# The notebooks that turn finished runs into results/tables and results/figures, with parameters.
TABLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("notebooks/15_tables.ipynb", {}),
    ("notebooks/11_rivals.ipynb", {}),
    ("notebooks/13_similarity.ipynb", {}),
)
# Table 4 solves what it shows.
_WHOLE = {"max_vocab": 0, "lexicons": "muse"}
ABLATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("notebooks/10_ablations.ipynb",
     {"solver": "gradient", "pairs": "en-fr en-ja", "seeds": 3, "steps": 450, **_WHOLE}),
    ("notebooks/10_ablations.ipynb",
     {"solver": "em", "pairs": "en-ja en-fr", "seeds": 1, **_WHOLE}),
)  # fmt: skip


def sweeps(
    pairs: Sequence[str], lexicons: Iterable[str], names: Iterable[str], seeds: Sequence[int]
) -> list[tuple[dict[str, Iterable[Any]], dict[str, Any]]]:
    """Plan the sweeps: a grid and common parameters each, see :func:`demalib.runs.sweep`.

    Systems with the same settings beside the preset's, and the same pairs, share a sweep. MUSE has
    lexicons for pairs with English only.
    """
    planned = []
    for source in lexicons:
        usable = [pair for pair in pairs if source != "muse" or pair in PAPER_PAIRS]
        groups: dict[Any, list[str]] = {}
        for name in names:
            solver, changed = split_name(name)
            there = tuple(pair for pair in usable if possible(pair, name))
            groups.setdefault((there, tuple(changed.items())), []).append(solver)
        for (there, settings), solvers in groups.items():
            grid: dict[str, Iterable[Any]] = {"pair": there, "solver": solvers, "seed": seeds}
            planned.append((grid, {"max_vocab": 0, "lexicons": source, **dict(settings)}))
    return planned


def default_lexicons() -> list[str]:
    """Return the lexicons that this machine has: the bundled ones, and MUSE's if named."""
    return ["bundled", "muse"] if os.environ.get("DEMALIB_MUSE") else ["bundled"]


def reproduce(
    pairs: Sequence[str] = REGISTRY_PAIRS,
    lexicons: Iterable[str] = ("bundled",),
    names: Iterable[str] = RIVALS,
    seeds: Sequence[int] = (0,),
    carry_out: Callable[[Path, Todo], Ready] = run_in_process,
    notebook: str = TRAIN,
    then: Iterable[tuple[str, dict[str, Any]]] = TABLES,
) -> pd.DataFrame:
    """Run what is not finished, then write the tables.

    Args:
        pairs: Registry pairs.
        lexicons: ``bundled``, ``muse`` or both.
        names: Names of runs, such as ``em`` or ``em,hints=none``.
        seeds: Solvers without random numbers are run with the first one only.
        carry_out: How runs are executed, see :func:`demalib.runs.sweep`.
        notebook: The notebook that makes a run.
        then: Notebooks that make the tables, and their parameters.

    Returns:
        A row per run, as of :func:`demalib.runs.sweep`.
    """
    lexicons = list(lexicons)
    frames = [
        sweep(notebook, grid, params, carry_out).assign(lexicons=params["lexicons"])
        for grid, params in sweeps(pairs, lexicons, names, seeds)
        if grid["pair"]
    ]
    if not frames:
        raise DataError(
            f"none of these systems can be run on {', '.join(pairs)}: MUSE has lexicons for pairs "
            "with English only, and a system that learns from common words needs some"
        )
    for name, params in then:
        say(f"{Path(name).name}: {run_notebook(name, params)}")
    return pd.concat(frames, ignore_index=True)
