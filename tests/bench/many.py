"""Many languages in one space against two at a time."""

from __future__ import annotations

import os
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd

from demalib.config import REGISTRY_PAIRS, Config, preset
from demalib.data.files import write_text
from demalib.evaluation.benchmark import evaluate, load_embedding_of, load_gold, make_exclude
from demalib.evaluation.translation import paired_bootstrap
from demalib.many import align_many
from demalib.pair import make_pair
from demalib.runs import project_root
from demalib.solvers import align


class Group(NamedTuple):
    """Languages of one space, its hub, and the lexicons to judge by."""

    langs: tuple[str, ...]
    hub: str
    lexicons: str


# The hubs were chosen on train words. Of the first four languages, en gives 32.1 % in the mean of
# all directions, fr, which has 27 hints more, 31.6 %. English and Chinese share no string, but
# Japanese shares some with both.
GROUPS = (
    Group(("en", "fr", "ja", "ru"), "en", "bundled"),
    Group(("en", "ja", "zh"), "ja", "bundled"),
    Group(("en", "ja", "zh"), "ja", "muse"),
)


def many(groups: tuple[Group, ...] = GROUPS, max_vocab: int = 0) -> dict[str, Any]:
    """Align languages two at a time, and all together, without a dictionary; judge by test words.

    Test pairs are left out of all hints. Pairs without a test lexicon take part, and are not
    judged. Groups with MUSE's lexicons are left out unless ``DEMALIB_MUSE`` names their folder.

    Returns:
        P@1 under CSLS of every direction in percent; ``results/bench/many.csv`` has the paired
        differences with intervals. Its rows of groups that are not run stay.
    """
    path, found = project_root() / "results" / "bench" / "many.csv", {}
    for group in groups:
        if group.lexicons == "muse" and not os.environ.get("DEMALIB_MUSE"):
            continue
        rows = judge(group, max_vocab)
        old = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(rows[0]))
        same = (old["languages"] == rows[0]["languages"]) & (old["lexicons"] == group.lexicons)
        table = pd.concat([old[~same], pd.DataFrame(rows)])
        write_text(path, table.to_csv(index=False))
        found |= {
            f"{row['direction']} {group.lexicons}": [row["two languages"], row["one space"]]
            for row in rows
        }
    return found


def judge(group: Group, max_vocab: int = 0) -> list[dict[str, Any]]:
    """Align the languages of a group both ways; a row for every direction with a test lexicon."""
    settings: dict[str, Any] = {"max_vocab": max_vocab, "lexicons": group.lexicons}
    configs = {
        (a, b): preset(f"{a}-{b}", **settings)
        for a, b in combinations(group.langs, 2)
        if f"{a}-{b}" in REGISTRY_PAIRS
    }
    any_config: Config = next(iter(configs.values()))
    sides = {lang: load_embedding_of(lang, any_config) for lang in group.langs}
    gold = {link: load_gold(config) for link, config in configs.items()}
    exclude = {link: make_exclude(lexicons) for link, lexicons in gold.items()}
    space = align_many(list(sides.values()), any_config, group.hub, exclude=exclude)
    rows = []
    for (a, b), config in configs.items():
        pair = make_pair(sides[a], sides[b], exclude=exclude[a, b])
        alone = evaluate(align(pair, config), pair, gold[a, b], config, ("csls",))
        shared = evaluate(*space.between(a, b), gold[a, b], config, ("csls",))
        for direction in alone:
            two, all_ = alone[direction]["csls"], shared[direction]["csls"]
            gain = paired_bootstrap(all_, two)
            shares = {
                "two languages": (two["position"] <= 1).mean(),
                "one space": (all_["position"] <= 1).mean(),
                "gain": gain["difference"],
                "low": gain["ci95"][0],
                "high": gain["ci95"][1],
                "copy": two["copied"].mean(),
            }
            row = {"languages": " ".join(group.langs), "lexicons": group.lexicons}
            row |= {"direction": direction}
            row |= {name: round(100 * float(share), 2) for name, share in shares.items()}
            rows.append(row | {"queries": len(two), "hub": space.info["hub"]})
            print(rows[-1], flush=True)
    return rows
