"""Tables of the paper's figures, of ours over seeds, and of both side by side, without gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from demalib.config import PAPER_PAIRS, REGISTRY_PAIRS, Config, preset, reverse_pair
from demalib.data.files import write_text
from demalib.data.lexicon import MUSE_SPLITS
from demalib.evaluation.translation import paired_bootstrap
from demalib.runs.folder import (
    finished_runs,
    project_root,
    read_metrics,
    read_queries,
    results_dir,
    run_dir,
)
from demalib.solvers import SOLVERS, TABLED

KNOWN = (*REGISTRY_PAIRS, *PAPER_PAIRS)
# Our solver for a row of Tables 1 and 2; for DeMa-BWE itself the caller chooses it.
OURS = {"Procrustes (R)": "procrustes", "id+Procrustes (R)": "identical"}
DEMA = ("CSLS (w/o R)", "CSLS-D (w/o R)")
MATCHING = ("em", "em+gradient", "gradient")
DATA = ["vectors", "lexicons"]
KEYS = ["pair", "direction", "name", "retrieval", *DATA]
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


def command(pair: str, solver: str, data: dict[str, str] | None = None) -> str:
    """Return the command for the missing run of a pair, on its preset's data or on other data."""
    usual = preset(pair).to_dict()
    parts = [f"-p {k} {v}" for k, v in (data or {}).items() if v != usual[k]]
    sweep = " ".join([f"demalib sweep --pairs {pair} --solvers {solver}", *parts])
    fetch = f"demalib fetch muse {pair.replace('-', ' ')} && "
    return fetch * (usual["vectors"] == "muse") + sweep


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
    todo = [command(r.pair, r.name, {k: getattr(r, k) for k in DATA}) for r in table.itertuples()]
    table = table.fillna({"seeds": 0}).astype({"seeds": int, "queries": "Int64"})
    table["state"] = pd.Series(todo).radd("not run: ").where(table["seeds"] == 0, "measured")
    return table


def cells(table: pd.DataFrame) -> list[str]:
    """Format each row's P@1 with its interval, or ``not run``."""
    return [
        f"{p:.1f} [{low:.1f}, {high:.1f}]" if seeds else "not run"
        for p, low, high, seeds in table[["p@1", "low", "high", "seeds"]].to_numpy()
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
        points ``lost`` against the full model, ours and the paper's.
    """
    table = measured(runs, whole=False).query("retrieval == 'csls'")
    part = table["name"].str.extract(r"ablate=(\w+)", expand=False).fillna("nothing")
    paper = paper_table(4)[["ablate", "direction", "paper"]]
    table = table.assign(ablate=part).merge(paper, "left", ["ablate", "direction"])
    full = table[table["ablate"] == "nothing"].set_index("direction")
    for column, lost in (("p@1", "lost"), ("paper", "paper_lost")):
        table[lost] = table["direction"].map(full[column]) - table[column]
    return table


def ablations_wide(table: pd.DataFrame) -> pd.DataFrame:
    """Format what :func:`ablations` returned: ``ours [interval] | paper`` in each cell."""
    paper = table["paper"].map("{:.1f}".format).replace("nan", "none")
    both = table.assign(cell=pd.Series(cells(table), table.index) + " | " + paper)
    wide = both.pivot(index="ablate", columns="direction", values="cell")
    wide = wide.loc[table["ablate"].unique(), table["direction"].unique()]
    wide.loc["(copy the query)"] = table.groupby("direction")["copy"].max().map("{:.1f}".format)
    return wide.rename_axis(index="without", columns=None).reset_index()


def rivals(pairs: Iterable[str], against: str = "em") -> pd.DataFrame:
    """Compare every system of the paper's tables on the same vectors and test words.

    Args:
        pairs: Which pairs, on their preset's data.
        against: The solver that the others are compared with, query by query.

    Returns:
        A row per system and direction: P@1 under CSLS with its interval; ``own_p@1`` under the
        ``own`` retrieval of its row in the paper, and the ``paper``'s figure; ``gain`` over
        ``against`` with the bounds of a paired bootstrap; ``size``, its settings that the recipe
        decides; ``seconds`` of solving both directions.
    """
    printed = pd.concat([paper_table(number) for number in (1, 2)])
    printed = printed.drop_duplicates(["system", "direction"])[["system", "direction", "paper"]]
    rows = [row for pair in pairs for name in TABLED for row in _rival_rows(pair, name, against)]
    return pd.DataFrame(rows).merge(printed, "left", ["system", "direction"])


def _rival_rows(pair: str, name: str, against: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one system, a row per direction."""
    solver, config = SOLVERS[name], preset(pair, solver=name)
    done = (run_dir(config) / "queries.csv").is_file()
    for direction in (pair, reverse_pair(pair)):
        yield {
            "pair": pair,
            "direction": direction,
            "name": name,
            "system": solver.row,
            "hint": solver.hint,
            "own": solver.metric.name,
            "seeds": int(done),
            "size": str(solver.sizes.of(config)) if solver.sizes else "as published",
            "state": "measured" if done else f"not run: {command(pair, name)}",
            **(_rival_figures(config, direction, against) if done else {}),
        }


def _rival_figures(config: Config, direction: str, against: str) -> dict[str, Any]:
    """Read the figures of one system in one direction, shares in percent."""
    metrics, other = read_metrics(run_dir(config)), config.replace(solver=against)
    csls = metrics["results"][direction]["csls"]
    own = metrics["results"][direction][SOLVERS[config.solver].metric.name]
    low, high = csls["ci95"]
    shares = {"p@1": csls["p@1"], "low": low, "high": high}
    shares |= {"copy": csls["copy"], "own_p@1": own["p@1"]}
    if (run_dir(other) / "queries.csv").is_file():
        gain = paired_bootstrap(read_queries(config, direction), read_queries(other, direction))
        low, high = gain["ci95"]
        shares |= {"gain": gain["difference"], "gain_low": low, "gain_high": high}
    facts = {key: metrics[key] for key in ("seconds", "threads", "seed", "torch", "date")}
    return {k: 100 * v for k, v in shares.items()} | {"queries": csls["queries"], **facts}


def write_table(name: str, table: pd.DataFrame) -> str:
    """Write ``results/tables/<name>.csv``; return why not if figures in it would be lost."""
    path = results_dir() / "tables" / f"{name}.csv"
    keys = [key for key in ("system", *KEYS) if key in table]
    if path.is_file():
        old = pd.read_csv(path, keep_default_na=False)[[*keys, "seeds"]]
        both = old.merge(table[[*keys, "seeds"]], "left", keys, suffixes=("_old", ""))
        if lost := int((both["seeds_old"] > both["seeds"].fillna(0)).sum()):
            return f"kept: {lost} of its figures come from runs that are not on this machine"
    write_text(path, table.to_csv(index=False, float_format="%.2f"))
    return "written"
