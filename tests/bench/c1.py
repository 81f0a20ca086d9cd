"""Does C1 find more at its published size? Beside its reduced size and ours, on MUSE's words."""

from __future__ import annotations

from typing import Any

import pandas as pd

from demalib.data.files import write_text
from demalib.evaluation.rivals import named_config
from demalib.evaluation.translation import paired_bootstrap
from demalib.runs import project_root, read_queries, solve

PAIRS = ("en-ja",)  # half an hour of one core for each
SYSTEMS = ("em+lexicon", "c1", "c1,recipe=paper")


def c1(pairs: tuple[str, ...] = PAIRS) -> dict[str, Any]:
    """Learn from MUSE's 5,000 train words and judge by its test words; finished runs are kept.

    Returns:
        P@1 in percent by direction and system; ``results/bench/c1.csv`` has the intervals, the
        settings, and the difference from `em+lexicon` on the same queries.
    """
    rows = []
    for pair in pairs:
        for name in SYSTEMS:
            config = named_config(pair, name, lexicons="muse")
            metrics = solve(config)
            for direction, by_metric in metrics["results"].items():
                found = by_metric["csls"]
                ours = read_queries(named_config(pair, SYSTEMS[0], lexicons="muse"), direction)
                gain = paired_bootstrap(read_queries(config, direction), ours)
                shares = [
                    found["p@1"],
                    *found["ci95"],
                    found["copy"],
                    gain["difference"],
                    *gain["ci95"],
                ]
                columns = ("p@1", "low", "high", "copy", "gain", "gain_low", "gain_high")
                row = {"pair": pair, "direction": direction, "name": name}
                row |= {c: round(100 * v, 2) for c, v in zip(columns, shares, strict=True)}
                row |= {"p": gain["p"], "queries": found["queries"], "size": metrics["size"]}
                rows.append(row | {key: metrics[key] for key in ("cpu_seconds", "cpu", "commit")})
                print(row, flush=True)
    table = pd.DataFrame(rows)
    write_text(project_root() / "results" / "bench" / "c1.csv", table.to_csv(index=False))
    return {f"{row['direction']} {row['name']}": row["p@1"] for row in rows}
