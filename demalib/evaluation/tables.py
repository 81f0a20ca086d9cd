"""Tables of the paper's figures, of ours over seeds, and of both side by side, without gaps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import pandas as pd

from demalib.config import PAPER_PAIRS, REGISTRY_PAIRS, preset, reverse_pair, split_name
from demalib.data.files import write_text
from demalib.data.lexicon import MUSE_SPLITS
from demalib.evaluation.translation import paired_bootstrap
from demalib.runs.folder import finished_runs, project_root, read_queries, results_dir
from demalib.solvers import get_solver

KNOWN = (*REGISTRY_PAIRS, *PAPER_PAIRS)
# Our solver for a row of Tables 1 and 2; for DeMa-BWE itself the caller chooses it.
OURS = {"Procrustes (R)": "procrustes", "id+Procrustes (R)": "identical"}
DEMA = ("CSLS (w/o R)", "CSLS-D (w/o R)")
MATCHING = ("em", "gradient")
DATA = ["vectors", "lexicons"]
KEYS = ["pair", "direction", "name", "retrieval", *DATA]
WHOLE = ("queries", "threads", "seed", "directions", "test_pairs_in_hint")  # columns of counts
APART = ("en-zh",)  # pairs that share no word, on the vectors of the registry
LOST = ["name", "direction", "lost_low", "lost_high"]
MEANS = ["p@1", "low", "high", "copy", "queries", "coverage"]


def paper_table(number: int) -> pd.DataFrame:
    """Read a table of the paper, 1 to 4, a row per cell; see ``results/paper/README.md``.

    The column ``paper`` is the printed value, corrected where its primary source differs.
    """
    path = project_root() / "results" / "paper" / f"table{number}.csv"
    empty = {"value": [""], "corrected_value": [""]}
    table = pd.read_csv(path, keep_default_na=False, na_values=empty)
    return table.assign(paper=table["corrected_value"].fillna(table["value"]))


def measured(runs: Iterable[dict[str, Any]] | None = None, whole: bool = True) -> pd.DataFrame:
    """Average finished runs over their seeds, in percent.

    Args:
        runs: Contents of ``metrics.json``; those of all finished runs if left out.
        whole: Leave out runs of cut vocabularies or ablated objectives.

    Returns:
        A row per run name, direction and metric: mean ``p@1``, its 95 % interval over queries
        (``low``, ``high``: mean bounds of the seeds), ``copy`` baseline, ``seed_min``,
        ``seed_max``, the number of ``seeds``, and its ``vectors`` and ``lexicons``.
    """
    runs = finished_runs() if runs is None else runs
    rows = [row for run in runs for row in _rows(run) if not whole or _is_whole(run)]
    rows = pd.DataFrame(rows, columns=[*KEYS, *MEANS, "torch", "date"])
    groups = rows.astype(dict.fromkeys(MEANS, float)).groupby(KEYS, sort=False)
    spread = groups["p@1"].agg(seed_min="min", seed_max="max", seeds="size")
    return groups[MEANS].mean().join([spread, groups[["torch", "date"]].max()]).reset_index()


def _is_whole(run: dict[str, Any]) -> bool:
    """Check that a run is of a known pair or one's own, with all words and the whole objective."""
    cut = "max_vocab=" in run["name"] or "ablate=" in run["name"]
    return (run["pair"] in KNOWN or run["vectors"] == "own") and not cut


def _rows(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one run: a row per direction and metric."""
    facts = {key: run[key] for key in ("pair", "name", "vectors", "torch", "date")}
    for direction, by_metric in run["results"].items():
        muse = MUSE_SPLITS["test"] in run["lexicons"][direction]
        source = run.get("lexicon_source", "muse" if muse else "bundled")
        facts |= {"direction": direction, "lexicons": source}
        for metric, r in by_metric.items():
            shares = {k: r[k] for k in ("p@1", "copy", "coverage")}
            shares |= {"low": r["ci95"][0], "high": r["ci95"][1]}
            percent = {k: 100 * v for k, v in shares.items()}
            yield {**facts, **percent, "retrieval": metric, "queries": r["queries"]}


def command(pair: str, solver: str, settings: dict[str, str] | None = None) -> str:
    """Return the command for a run of a pair, on its preset's data and settings or on others."""
    usual = preset(pair).to_dict()
    parts = [f"-p {k} {v}" for k, v in (settings or {}).items() if v != usual[k]]
    sweep = " ".join([f"demalib sweep --pairs {pair} --solvers {solver}", *parts])
    fetch = f"demalib fetch muse {pair.replace('-', ' ')} && "
    return fetch * (usual["vectors"] == "muse") + sweep


def possible(pair: str, name: str) -> bool:
    """Say whether a system has what it learns from: some can only learn from common words."""
    solver = split_name(name)[0]
    return solver == "em" or pair not in APART or get_solver(solver).hint != "identical"


def not_measured(pair: str, name: str, how: str, vectors: str = "registry") -> str:
    """Say why a row has no figures: the command that is missing, or that none can help."""
    if vectors == "registry" and not possible(pair, name):
        return "not possible: no common word"
    return f"not run: {how}"


def registry_table(figures: pd.DataFrame, solvers: list[str]) -> pd.DataFrame:
    """Select the figures of the registry's pairs.

    Args:
        figures: What :func:`measured` returned.
        solvers: Solvers that have a row for every pair, direction and metric, even if not run.

    Returns:
        The rows of these solvers, then of their other runs and of those of density matching.
    """
    directions = [(pair, d) for pair in REGISTRY_PAIRS for d in (pair, reverse_pair(pair))]
    wanted = [
        (pair, direction, solver, metric, "registry", "bundled")
        for pair, direction in directions
        for solver in solvers
        for metric in ("csls", "csls-d")
    ]
    figures = figures[(figures[DATA] != "own").all(axis=1)]
    base = figures["name"].str.split(",").str[0]
    found = figures[figures["pair"].isin(REGISTRY_PAIRS) & base.isin([*solvers, *MATCHING])]
    others = found.loc[~found["name"].isin(solvers), KEYS]
    keys = pd.concat([pd.DataFrame(wanted, columns=KEYS), others])
    return _state(keys.merge(found, how="left"))


def beside_paper(number: int, figures: pd.DataFrame, solver: str = "em") -> pd.DataFrame:
    """Set our figures beside those of Table 1 or 2, for the rows that we have a solver for.

    Args:
        number: 1 or 2.
        figures: What :func:`measured` returned.
        solver: The solver for DeMa-BWE without refinement.

    Returns:
        A row per row of the paper, direction and data: the ``paper``'s number, ours, their
        ``difference``, and ``state``: measured, or the command that is missing.
    """
    figures = figures[(figures[DATA] != "own").all(axis=1)]
    names = OURS | dict.fromkeys(DEMA, solver)
    paper = paper_table(number).query("system in @names")
    back = paper["direction"].map(reverse_pair)
    pairs = paper["direction"].where(paper["direction"].isin(KNOWN), back)
    paper = paper.assign(name=paper["system"].map(names), pair=pairs)
    paper = paper[["system", "pair", "direction", "name", "retrieval", "paper"]]
    base = figures["name"].str.replace(r",(lexicons|vectors)=\w+", "", regex=True)
    found = figures.assign(name=base)[base.isin(names.values())]
    usual = [(pair, preset(pair).vectors, preset(pair).lexicons) for pair in paper["pair"]]
    data = pd.concat([pd.DataFrame(usual, columns=["pair", *DATA]), found[["pair", *DATA]]])
    table = paper.merge(data.drop_duplicates(), on="pair").merge(found, how="left")
    same = (table[DATA] == "muse").all(axis=1)
    table["same_data"] = same.map({True: "yes", False: "no"})
    table["difference"] = table["p@1"] - table["paper"]
    return _state(table)


def _state(table: pd.DataFrame) -> pd.DataFrame:
    """Add the column ``state``: measured, or the command that measures the row."""
    todo = [
        not_measured(
            r.pair, r.name, command(r.pair, r.name, {k: getattr(r, k) for k in DATA}), r.vectors
        )
        for r in table.itertuples()
    ]
    table = table.fillna({"seeds": 0}).astype({"seeds": int, "queries": "Int64"})
    table["state"] = pd.Series(todo).where(table["seeds"] == 0, "measured")
    return table


def cells(table: pd.DataFrame) -> list[str]:
    """Format each row's P@1 with its interval, or its state: ``not run`` or ``not possible``."""
    every = table.assign(state=table.get("state", "not run"))
    columns = ["p@1", "low", "high", "seeds", "state"]
    return [
        f"{p:.1f} [{low:.1f}, {high:.1f}]" if seeds else state.partition(":")[0]
        for p, low, high, seeds, state in every[columns].to_numpy()
    ]


def side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """Format what :func:`beside_paper` returned: ``paper | ours [interval]`` in each cell."""
    both = table["paper"].map("{:.1f} | ".format) + cells(table)
    both = table.assign(cell=both, data=table["vectors"] + ", " + table["lexicons"])
    wide = both.pivot(index=["direction", "data"], columns="system", values="cell")
    wide = wide.reindex(table["direction"].unique(), level=0)[table["system"].unique()]
    return wide.reset_index().rename_axis(columns=None)


def ablations(runs: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Make Table 4: P@1 under CSLS with a part of the objective left out, beside the paper's.

    Args:
        runs: Contents of ``metrics.json``, all of one solver.

    Returns:
        A row per part and direction, as :func:`measured`, with the ``paper``'s value and the
        points ``lost`` against the full model, ours and the paper's; ``lost_low`` and
        ``lost_high`` bound ours by a paired bootstrap over queries (mean bounds of the seeds).
    """
    runs = list(runs)
    table = measured(runs, whole=False).query("retrieval == 'csls'")
    part = table["name"].str.extract(r"ablate=(\w+)", expand=False).fillna("nothing")
    paper = paper_table(4)[["ablate", "direction", "paper"]]
    table = table.assign(ablate=part).merge(paper, "left", ["ablate", "direction"])
    full = table[table["ablate"] == "nothing"].set_index("direction")
    for column, lost in (("p@1", "lost"), ("paper", "paper_lost")):
        table[lost] = table["direction"].map(full[column]) - table[column]
    bounds = pd.DataFrame(chain.from_iterable(map(_lost_bounds, runs)), columns=LOST)
    return table.merge(bounds.groupby(LOST[:2], as_index=False).mean(), "left", LOST[:2])


def _lost_bounds(run: dict[str, Any]) -> Iterator[tuple[str, str, float, float]]:
    """Yield the bounds of what a run loses against the full model of its seed, if that is there."""
    folder = results_dir() / "runs" / run["pair"] / run["name"] / str(run["seed"])
    full = folder.parents[1] / re.sub(r",ablate=\w+", "", run["name"]) / folder.name
    if (folder / "queries.csv").is_file() and (full / "queries.csv").is_file():
        for direction in run["results"]:
            both = (read_queries(one, direction) for one in (full, folder))
            low, high = paired_bootstrap(*both)["ci95"]
            yield run["name"], direction, 100 * low, 100 * high


def ablations_wide(table: pd.DataFrame) -> pd.DataFrame:
    """Format what :func:`ablations` returned: ``ours [interval] | paper`` in each cell."""
    paper = table["paper"].map("{:.1f}".format).replace("nan", "none")
    both = table.assign(cell=pd.Series(cells(table), table.index) + " | " + paper)
    wide = both.pivot(index="ablate", columns="direction", values="cell")
    wide = wide.loc[table["ablate"].unique(), table["direction"].unique()]
    wide.loc["(copy the query)"] = table.groupby("direction")["copy"].max().map("{:.1f}".format)
    return wide.rename_axis(index="without", columns=None).reset_index()


def write_table(
    name: str, table: pd.DataFrame, finish: Callable[[pd.DataFrame], pd.DataFrame] | None = None
) -> str:
    """Write ``results/tables/<name>.csv``, and keep its rows that rest on more seeds than are here.

    So a table can grow run by run, on several machines. Nothing is written where no row is new.

    Args:
        name: Name of the file, without its ending.
        table: The rows of this machine; ``seeds`` is 0 where there is no run.
        finish: Called with the new and the kept rows together; returns what is written.

    Returns:
        What was done: ``written`` and how many rows were kept, or ``kept`` and why.
    """
    path, kept = results_dir() / "tables" / f"{name}.csv", 0
    if table.empty:
        return "kept: there is no row to write"
    if path.is_file():
        old = pd.read_csv(path, keep_default_na=False, na_values=[""]).query("seeds > 0")
        keys = [key for key in ("system", *KEYS, "spaces") if key in table and key in old]
        old[keys] = old[keys].astype(object).fillna("")  # as they were written
        both = pd.concat([table, old], ignore_index=True)
        both["place"] = both.groupby(keys, sort=False, dropna=False).ngroup()
        both = both.sort_values(["place", "seeds"], ascending=[True, False], kind="stable")
        both = both.drop_duplicates("place").drop(columns="place")
        kept = int((both.index >= len(table)).sum())
        if kept and not (both.loc[both.index < len(table), "seeds"] > 0).any():
            return f"kept: {kept} of its figures come from runs that are not on this machine"
        table = both
    write_csv(name, finish(table) if finish else table)
    return "written" + f"; {kept} figures of other runs are kept" * bool(kept)


def write_csv(name: str, table: pd.DataFrame) -> None:
    """Write ``results/tables/<name>.csv`` as it is, for what is made from another table alone.

    Counts are whole, p-values have four digits, other numbers three decimals. An empty table is not
    written.
    """
    if table.empty:
        return
    table = table.infer_objects()
    whole = [column for column in WHOLE if column in table]
    table[whole] = table[whole].astype("Int64")
    exact = [column for column in table if column.endswith(("_p", "_holm"))]
    table[exact] = table[exact].map("{:.4g}".format, na_action="ignore")  # corrected anew when read
    path = results_dir() / "tables" / f"{name}.csv"
    write_text(path, table.to_csv(index=False, float_format="%.3f"))
