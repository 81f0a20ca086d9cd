"""Runs: their folders, headless notebooks, sweeps, Dask clusters, checkpoints."""

from demalib.runs.folder import (
    build_run,
    finished_runs,
    known_map,
    project_root,
    read_metrics,
    read_queries,
    results_dir,
    run_dir,
    save_run,
    solve,
    work_dir,
)

__all__ = [
    "build_run",
    "finished_runs",
    "known_map",
    "project_root",
    "read_metrics",
    "read_queries",
    "results_dir",
    "run_dir",
    "save_run",
    "solve",
    "work_dir",
]
