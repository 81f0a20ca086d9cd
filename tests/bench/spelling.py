"""What reading the words adds: CSLS beside CSLS-S, on every registry pair."""

from __future__ import annotations

from typing import Any

import pandas as pd

from demalib.config import REGISTRY_PAIRS, preset
from demalib.data.files import write_text
from demalib.evaluation.benchmark import evaluate, load_gold, load_pair
from demalib.evaluation.translation import paired_bootstrap
from demalib.runs import project_root
from demalib.solvers import align

LEXICONS = ("bundled", "muse")


def spelling(pairs: tuple[str, ...] = REGISTRY_PAIRS, max_vocab: int = 0) -> dict[str, Any]:
    """Align without a dictionary; judge by all test words and by those of another spelling.

    Test pairs are left out of all hints. MUSE has no dictionaries of pairs without English. Rows that
    are in the table already are kept, so a stopped run goes on.

    Returns:
        P@1 in percent under CSLS and CSLS-S of every direction and lexicon;
        ``results/bench/spelling.csv`` has the paired differences with intervals.
    """
    path = project_root() / "results" / "bench" / "spelling.csv"
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {(row["direction"], row["lexicon"]) for row in rows}
    for lexicons in LEXICONS:
        for name in pairs:
            if (name, lexicons) in done or (lexicons == "muse" and "en" not in name.split("-")):
                continue
            config = preset(name, lexicons=lexicons, max_vocab=max_vocab)
            pair, gold = load_pair(config), load_gold(config)
            judged = evaluate(align(pair, config), pair, gold, config, ("csls", "csls-s"))
            for direction, by_metric in judged.items():
                rows.append({"direction": direction, "lexicon": lexicons} | _row(by_metric))
                print(rows[-1], flush=True)
            write_text(path, pd.DataFrame(rows).to_csv(index=False))
    return {f"{row['direction']} {row['lexicon']}": [row["csls"], row["csls-s"]] for row in rows}


def _row(by_metric: dict[str, pd.DataFrame]) -> dict[str, float]:
    """P@1 of both metrics over all queries, then over those without a gold word of their own."""
    plain, read = by_metric["csls"], by_metric["csls-s"]
    row: dict[str, float] = {"queries": len(plain), "copy": _percent(plain["copied"].mean())}
    for suffix, some in (("", plain["rank"] > 0), (" other", ~plain["identical"])):
        gain = paired_bootstrap(read[some], plain[some])
        row[f"csls{suffix}"], row[f"csls-s{suffix}"] = (
            _percent((frame[some]["position"] <= 1).mean()) for frame in (plain, read)
        )
        row[f"low{suffix}"], row[f"high{suffix}"] = map(_percent, gain["ci95"])
    return row


def _percent(share: float) -> float:
    return round(100 * float(share), 2)
