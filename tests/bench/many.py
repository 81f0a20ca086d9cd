"""Many languages in one space against two at a time."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd

from demalib.config import preset
from demalib.data.files import write_text
from demalib.evaluation.benchmark import evaluate, load_embedding_of, load_gold, make_exclude
from demalib.evaluation.translation import paired_bootstrap
from demalib.many import align_many
from demalib.pair import make_pair
from demalib.runs import project_root
from demalib.solvers import align

LANGS = ("en", "fr", "ja", "ru")


def many(langs: tuple[str, ...] = LANGS, max_vocab: int = 0) -> dict[str, Any]:
    """Align languages two at a time, and all together, without a dictionary; judge by test words.

    Test pairs are left out of all hints.

    Returns:
        P@1 under CSLS of every direction in percent; ``results/bench/many.csv`` has the paired
        differences with intervals.
    """
    names = {f"{a}-{b}": (a, b) for a, b in combinations(langs, 2)}
    configs = {name: preset(name, max_vocab=max_vocab) for name in names}
    sides = {
        lang: load_embedding_of(lang, next(c for n, c in configs.items() if lang in names[n]))
        for lang in langs
    }
    gold = {name: load_gold(config) for name, config in configs.items()}
    exclude = {names[name]: make_exclude(found) for name, found in gold.items()}
    space = align_many(list(sides.values()), next(iter(configs.values())), exclude=exclude)
    rows = []
    for name, (a, b) in names.items():
        pair = make_pair(sides[a], sides[b], exclude=exclude[a, b])
        alone = evaluate(align(pair, configs[name]), pair, gold[name], configs[name], ("csls",))
        shared = evaluate(*space.between(a, b), gold[name], configs[name], ("csls",))
        for direction in alone:
            two, all_ = alone[direction]["csls"], shared[direction]["csls"]
            gain = paired_bootstrap(all_, two)
            low, high = gain["ci95"]
            row = {
                "direction": direction,
                "two languages": (two["position"] <= 1).mean(),
                "one space": (all_["position"] <= 1).mean(),
                "gain": gain["difference"],
                "low": low,
                "high": high,
                "copy": two["copied"].mean(),
            }
            share = {k: v if k == "direction" else round(100 * float(v), 2) for k, v in row.items()}
            rows.append(share | {"queries": len(two), "hub": space.info["hub"]})
            print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    write_text(project_root() / "results" / "bench" / "many.csv", table.to_csv(index=False))
    return {row["direction"]: [row["two languages"], row["one space"]] for row in rows}
