"""Runs: ``demalib run | sweep | reproduce | compare | table``."""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from demalib import runs
from demalib.cli.common import add_command
from demalib.config import REGISTRY_PAIRS, literal, split_name
from demalib.data.files import display_path, write_text
from demalib.data.own import data_folder
from demalib.errors import DataError
from demalib.evaluation import benchmark
from demalib.evaluation.compare import compare_runs, runs_table
from demalib.plugins import use_working_folder
from demalib.retrieval import METRICS
from demalib.runs import cluster, notebooks
from demalib.solvers import TABLED

SWEPT = ("identical", "procrustes", "em")
EXAMPLES = {
    "run": "demalib run notebooks/02_train.ipynb -p pair en-ja",
    "compare": "demalib compare results/runs/en-fr/em/0 results/runs/en-fr/procrustes/0",
    "table": """demalib table
  demalib table --metric csls-d --csv table.csv""",
    "sweep": """demalib sweep --pairs en-fr en-ja --solvers em --seeds 0 1 2
  demalib sweep --pairs en-fr --solvers all --seeds 0 --scheduler local""",
    "reproduce": """demalib reproduce --scheduler local --workers 2
  demalib reproduce --pairs en-fr --systems em vecmap em,hints=none""",
}


def add(commands: Any) -> None:
    """Define the commands of this group."""

    def command(name, call, text):
        return add_command(commands, name, call, text, EXAMPLES[name])

    sub = command("run", run, "Execute a notebook headlessly and show its figures.")
    sub.add_argument("notebook", metavar="NOTEBOOK", help="an .ipynb file with a parameters cell")
    parameter(sub)

    sub = command("sweep", sweep, "Run many pairs, solvers and seeds; skip finished runs.")
    usual = f"pairs of languages (default: {' '.join(REGISTRY_PAIRS)})"
    sub.add_argument("--pairs", nargs="+", default=list(REGISTRY_PAIRS), metavar="PAIR", help=usual)
    every = f"'all' runs every system of the paper's tables (default: {' '.join(SWEPT)})"
    sub.add_argument("--solvers", nargs="+", default=list(SWEPT), metavar="SOLVER", help=every)
    seeds = "a run for each (default: 0 1 2); solvers without random numbers run once"
    sub.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED", help=seeds)
    parts = "parts to leave out, 'none' for the whole objective"
    sub.add_argument("--ablate", nargs="+", default=[""], metavar="PART", help=parts)
    train = "notebooks/02_train.ipynb"
    sub.add_argument("--notebook", default=train, help=f"what is run (default: {train})")
    scheduler(sub)
    parameter(sub)

    sub = command("reproduce", reproduce, "Make all tables anew; skip finished runs.")
    sub.add_argument("--pairs", nargs="+", default=list(REGISTRY_PAIRS), metavar="PAIR", help=usual)
    which = "bundled, muse (default: bundled, and muse if $DEMALIB_MUSE names its folder)"
    sub.add_argument("--lexicons", nargs="+", default=[], metavar="SOURCE", help=which)
    what = "names of runs, such as em,hints=none (default: all systems)"
    sub.add_argument("--systems", nargs="+", default=[], metavar="NAME", help=what)
    once = "a run for each, of solvers that use random numbers (default: 0)"
    sub.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="SEED", help=once)
    sub.add_argument("--notebook", default=train, help=f"what is run (default: {train})")
    alone = "only run what is missing, write no table"
    sub.add_argument("--no-tables", action="store_true", help=alone)
    scheduler(sub)

    sub = command("compare", compare, "Compare two runs, query by query (paired bootstrap).")
    sub.add_argument("first", metavar="RUN", help="folder of a run")
    sub.add_argument("second", metavar="RUN", help="folder of another run of the same pair")
    sub.add_argument("--metric", choices=METRICS, default="csls", help="default: csls")

    sub = command("table", table, "Show all finished runs in one table.")
    sub.add_argument("--metric", choices=METRICS, default="csls", help="default: csls")
    every = "also runs of cut vocabularies or ablated objectives"
    sub.add_argument("--all", action="store_true", help=every)
    sub.add_argument("--csv", metavar="FILE", help="write it to a file instead")


def prepare_kernels(solvers: list[str]) -> None:
    """Let kernels, whose working folder is the notebook's, find own solvers and own data."""
    use_working_folder(solvers)
    if folder := data_folder():
        os.environ["DEMALIB_DATA"] = str(folder.resolve())


def scheduler(sub: argparse.ArgumentParser) -> None:
    """Add the options that say where runs are executed."""
    dask = "run on Dask: workers on this machine, or a cluster's tcp://HOST:PORT or scheduler file "
    dask += "(default: in this process, one by one)"
    sub.add_argument("--scheduler", default="", metavar="local|ADDRESS|FILE", help=dask)
    count = "parallel runs with --scheduler local (default: 2)"
    sub.add_argument("--workers", type=int, default=0, metavar="N", help=count)


def parameter(sub: argparse.ArgumentParser) -> None:
    """Add the option ``-p NAME VALUE``, as papermill has it."""
    names, text = ("NAME", "VALUE"), "set a parameter of the notebook"
    sub.add_argument("-p", nargs=2, action="append", default=[], metavar=names, help=text)


def run(args: argparse.Namespace) -> None:
    """Execute a notebook into its run folder; print the table and the files."""
    started = time.perf_counter()
    params = {name: literal(value) for name, value in args.p}
    prepare_kernels([str(params.get("solver", ""))])
    folder = notebooks.run_notebook(args.notebook, params)
    out = folder / Path(args.notebook).name
    if not (folder / "metrics.json").is_file():
        print(f"{time.perf_counter() - started:.0f} s: {display_path(out)}")
        return
    metrics = runs.read_metrics(folder)
    print(f"\n{metrics['pair']}, solver {metrics['solver']}, seed {metrics['seed']}, in percent:\n")
    print(benchmark.results_table(metrics["results"]).to_string(index=False))
    print(f"\nsolved in {metrics['seconds']:.1f} s, {time.perf_counter() - started:.0f} s in all")
    for path in (out, folder / "metrics.json", *sorted(folder.glob("*.png"))):
        print(f"  {display_path(path)}")


def sweep(args: argparse.Namespace) -> None:
    """Execute every combination and print a summary; fail if a run failed."""
    prepare_kernels(args.solvers)
    names = TABLED if args.solvers == ["all"] else args.solvers
    parts = ["" if part == "none" else part for part in args.ablate]
    grid = {"pair": args.pairs, "solver": names, "seed": args.seeds, "ablate": parts}
    params = {"max_vocab": 0} | {name: literal(value) for name, value in args.p}
    summarise(notebooks.sweep(args.notebook, grid, params, executor(args)))


def executor(args: argparse.Namespace) -> Any:
    """Choose how runs are executed: in this process, or on Dask."""
    if args.workers < 0 or (args.workers and args.scheduler != "local"):
        raise DataError("--workers: must be at least 1, and needs --scheduler local")
    on_dask = partial(cluster.on_dask, scheduler=args.scheduler, workers=args.workers)
    return on_dask if args.scheduler else notebooks.run_in_process


def summarise(table: pd.DataFrame) -> None:
    """Print how many runs were done, skipped and failed, and the time; fail if one failed."""
    failed = table[table["outcome"] == "failed"]
    print("\n" + table["outcome"].value_counts().to_string() + f"\n{table['seconds'].sum():.0f} s")
    if len(failed):
        raise DataError(f"{len(failed)} runs failed:\n  " + "\n  ".join(failed["detail"]))


def reproduce(args: argparse.Namespace) -> None:
    """Run every system that is not finished, then write the tables from all runs."""
    from demalib.evaluation import unhinted
    from demalib.runs import reproduce as plan

    lexicons = args.lexicons or plan.default_lexicons()
    names = args.systems or plan.RIVALS
    prepare_kernels([split_name(name)[0] for name in names])
    tables = (*plan.TABLES, *(plan.ABLATIONS if "muse" in lexicons else ()))
    then = () if args.no_tables else tables
    found = plan.reproduce(
        args.pairs, lexicons, names, args.seeds, executor(args), args.notebook, then
    )
    if not args.no_tables:
        unhinted.measure_all(say=notebooks.say)
    summarise(found)


def compare(args: argparse.Namespace) -> None:
    """Print the figures of both runs, their difference, its interval and its p-value."""
    found = compare_runs(Path(args.first), Path(args.second), args.metric)
    found["95 % interval"] = [
        f"{low:+.1f} to {high:+.1f}" for low, high in found[["low", "high"]].to_numpy()
    ]
    print(
        f"P@1 in percent under {args.metric}, on the queries that both have; difference: first - second; "
        "holm: p corrected for the number of directions"
    )
    shown = found.drop(columns=["low", "high", "p", "holm"])
    for name in ("p", "holm"):
        shown[name] = found[name].map("{:.3f}".format)
    print(shown.round(1).to_string(index=False))


def table(args: argparse.Namespace) -> None:
    """Print all finished runs, or write them to a file."""
    found = runs_table(args.metric, whole=not args.all)
    if args.csv:
        write_text(args.csv, found.to_csv(index=False))
        print(display_path(args.csv))
        return
    print(f"P@1 in percent under {args.metric}, with 95 % intervals over queries")
    print(found.to_string(index=False))
