"""Two runs side by side, and all runs in one table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from demalib.data.files import display_path
from demalib.errors import DataError
from demalib.evaluation.tables import cells, measured
from demalib.evaluation.translation import holm, paired_bootstrap
from demalib.runs.folder import read_metrics, read_queries


def compare_runs(first: Path, second: Path, retrieval: str = "csls") -> pd.DataFrame:
    """Compare two finished runs on the queries that both of them answered.

    Args:
        first: Folder of a run, with its ``metrics.json`` and ``queries.csv``.
        second: Folder of another run of the same pair.
        retrieval: Metric.

    Returns:
        A row per direction: ``queries`` in common, P@1 of both in percent (``first``, ``second``),
        their ``difference`` with its 95 % interval (``low``, ``high``) and ``p``, two-sided, by a
        paired bootstrap over queries; ``holm`` is that p corrected for the number of directions.

    Raises:
        DataError: They have no direction or no query in common.
    """
    results = [read_metrics(folder).get("results", {}) for folder in (first, second)]
    rows = []
    for direction in [name for name in results[0] if name in results[1]]:
        a, b = (read_queries(folder, direction, retrieval) for folder in (first, second))
        both = a.merge(b, on="query", suffixes=("_a", "_b"))
        if not len(both):
            continue
        a, b = (both.rename(columns={f"position_{x}": "position"}) for x in ("a", "b"))
        gain = paired_bootstrap(a, b)
        low, high = (100 * end for end in gain["ci95"])
        rows.append(
            {
                "direction": direction,
                "queries": len(both),
                "first": 100 * (a["position"] <= 1).mean(),
                "second": 100 * (b["position"] <= 1).mean(),
                "difference": 100 * gain["difference"],
                "low": low,
                "high": high,
                "p": gain["p"],
            }
        )
    if not rows:
        raise DataError(
            f"{display_path(first)} and {display_path(second)}: no query in common under "
            f"{retrieval}; are they runs of the same pair?"
        )
    found = pd.DataFrame(rows)
    return found.assign(holm=holm(found["p"]))


def runs_table(retrieval: str = "csls", whole: bool = True) -> pd.DataFrame:
    """Put all finished runs into one table: a row per direction and data, a column per run name.

    Args:
        retrieval: Metric.
        whole: Leave out runs of cut vocabularies or ablated objectives.

    Returns:
        P@1 in percent with its 95 % interval over queries in each cell, ``-`` where nothing was run.

    Raises:
        DataError: There is no such run.
    """
    table = measured(whole=whole).query("retrieval == @retrieval")
    if not len(table):
        raise DataError("no finished run; 'demalib sweep' makes some")
    table = table.assign(cell=cells(table), data=table["vectors"] + ", " + table["lexicons"])
    wide = table.pivot(index=["direction", "data"], columns="name", values="cell")
    wide = wide.reindex(table["direction"].unique(), level=0)[table["name"].unique()]
    return wide.fillna("-").reset_index().rename_axis(columns=None)
