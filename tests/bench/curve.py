"""What known pairs are worth: P@1 by their number, ours beside the systems with a dictionary."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from demalib.config import Config, preset
from demalib.data.files import write_text
from demalib.data.lexicon import load_lexicon
from demalib.errors import DataError
from demalib.evaluation.benchmark import Judged, evaluate, load_gold, load_pair, summarise
from demalib.evaluation.translation import paired_bootstrap
from demalib.hints import Lexicon
from demalib.pair import Pair
from demalib.runs import project_root
from demalib.solvers import align

PAIRS = ("en-fr", "en-ja", "en-ru", "ja-ru")
KNOWN = (0, 25, 100, 500, 1000, 5000)
SYSTEMS = ("em", "vecmap", "vecmap-semi", "geomm", "c1", "procrustes", "procrustes-r")
BEST = 5  # systems in the figure


def curve(pairs: tuple[str, ...] = PAIRS, known: tuple[int, ...] = KNOWN) -> dict[str, Any]:
    """Align with some words of the bundled train lexicons, judge by the test lexicons.

    The words are drawn at random, with all their translations; a smaller set is part of a larger
    one. Pairs of either direction's test lexicon are left out of them, and of all other hints.

    Rows that ``results/bench/curve.csv`` has are kept, so a stopped run goes on; delete the file to
    start afresh. A lexicon with fewer words than asked for is used whole, once. Some systems need
    more words than a few. All get the vectors that `em` gets: unit, center, unit.

    Returns:
        P@1 by pair and by system and number of known words, both directions; the table is
        ``results/bench/curve.csv``, with intervals, and for `em` with its ``gain`` over `em`
        without known words on the same queries.
    """
    folder = project_root() / "results"
    path = folder / "bench" / "curve.csv"
    rows = pd.read_csv(path).to_dict(orient="records") if path.is_file() else []
    for name in pairs:
        for row in _rows(name, known, {(r["pair"], r["system"], r["known"]) for r in rows}):
            rows.append(row)
            write_text(path, pd.DataFrame(rows).to_csv(index=False))
    table = pd.DataFrame(rows)
    draw(table).savefig(folder / "figures" / "curve.png", dpi=150, bbox_inches="tight")
    return {f"{r['direction']} {r['system']} {r['known']}": r["p@1"] for r in rows}


def best_systems(table: pd.DataFrame) -> list[str]:
    """Choose the systems with the highest mean P@1 where all of them have a figure."""
    wide = table.pivot_table(index=["direction", "known"], columns="system", values="p@1")
    means = wide.dropna().mean().sort_values(ascending=False)
    return list(means.index[:BEST])


def draw(table: pd.DataFrame) -> plt.Figure:
    """Draw P@1, the mean of both directions, over the number of known words, a panel per pair."""
    pairs = list(dict.fromkeys(table["pair"]))
    chosen = best_systems(table)
    figure, axes = plt.subplots(1, len(pairs), figsize=(3 * len(pairs), 2.8), sharex=True)
    for axis, pair in zip(np.atleast_1d(axes), pairs, strict=True):
        mean = table[table["pair"] == pair].groupby(["system", "known"])["p@1"].mean()
        for i, system in enumerate(chosen):
            if system in mean.index:
                line = mean[system]
                axis.plot(line.index, line.to_numpy(), marker="o", color=f"C{i}", label=system)
        axis.set(title=pair, xlabel="known words", ylim=(0, None))
        axis.set_xscale("symlog", linthresh=25)
        axis.minorticks_off()
        axis.set_xticks(KNOWN, ["0", "25", "100", "", "1k", "5k"], fontsize=8)  # 500 would touch 1k
    np.atleast_1d(axes)[0].set_ylabel("P@1, mean of both directions")
    figure.legend(
        *np.atleast_1d(axes)[0].get_legend_handles_labels(),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=len(chosen),
        frameon=False,
    )
    plt.close(figure)
    return figure


def _rows(
    name: str, known: tuple[int, ...], done: set[tuple[str, str, int]]
) -> Iterator[dict[str, Any]]:
    config = preset(name)
    pair, gold = load_pair(config), load_gold(config)
    order, usable = usable_pairs(config.langs, gold)
    start: Judged = {}  # what `em` answers without known words
    for n in dict.fromkeys(min(n, len(order)) for n in known):
        chosen = set(order[:n])
        lexicon = Lexicon([(q, t) for q, t in usable if q in chosen], f"{n} known words")
        side = with_lexicon(pair, lexicon) if n else pair
        for system in SYSTEMS if n else SYSTEMS[:1]:
            settings = config.replace(solver=system)
            if (name, system, n) in done:
                continue
            if system == SYSTEMS[0] and n and not start:  # an earlier run has its rows
                start, _ = _judge(pair, gold, settings)
            judged, seconds = _judge(side, gold, settings)
            if not judged:
                continue
            if not n:
                start = judged
            for direction, found in summarise(judged, gold).items():
                figures = found["csls"]
                low, high = figures["ci95"]
                row = {"pair": name, "direction": direction, "system": system, "known": n}
                percent = {"p@1": figures["p@1"], "low": low, "high": high}
                if system == SYSTEMS[0] and n:
                    gain = paired_bootstrap(judged[direction]["csls"], start[direction]["csls"])
                    names = ("gain", "gain_low", "gain_high")
                    percent |= dict(zip(names, (gain["difference"], *gain["ci95"]), strict=True))
                row |= {key: round(100 * share, 2) for key, share in percent.items()}
                yield row | {"seconds": seconds}
                print(row, flush=True)


def _judge(side: Pair, gold: Any, config: Config) -> tuple[Judged, float]:
    """Align with one system and judge it; nothing if it cannot learn from so few words."""
    started = time.perf_counter()
    try:
        mapping = align(side, config)
    except DataError as error:
        print(f"{config.pair} {config.solver}: {error}", flush=True)
        return {}, 0.0
    seconds = round(time.perf_counter() - started, 1)
    return evaluate(mapping, side, gold, config, ("csls",)), seconds


def with_lexicon(pair: Pair, lexicon: Lexicon) -> Pair:
    """The same pair with a train lexicon, for both directions."""
    rows = lexicon.rows(pair.src, pair.tgt)
    return replace(pair, train=rows, train_back=rows[:, ::-1])


def usable_pairs(langs: tuple[str, str], gold: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the query words of a train lexicon in a random order, and its pairs without test."""
    test = set(gold.forward.pairs) | {(q, t) for t, q in gold.backward.pairs}
    train = load_lexicon(*langs, "train", "bundled")
    usable = [pair for pair in train.pairs if pair not in test]
    words = list(dict.fromkeys(query for query, _ in usable))
    return [words[i] for i in np.random.default_rng(0).permutation(len(words))], usable
