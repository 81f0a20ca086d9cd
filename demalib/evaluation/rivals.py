"""Every system on the same data: figures, paired comparisons with ours, settings and cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from demalib.config import PAPER_PAIRS, Config, preset, reverse_pair, split_name
from demalib.evaluation.record import COSTS, settings
from demalib.evaluation.tables import command, not_measured, paper_table
from demalib.evaluation.translation import holm, paired_gain
from demalib.runs.folder import read_metrics, read_queries, run_dir
from demalib.solvers import SOLVERS, TABLED

# The systems of the paper's tables, the strongest since, and ours with more and with less.
# vecmap-identical is not among them: it is the row sl-unsup-id.
RIVALS = (*TABLED, "em+lexicon", "em,hints=none", "vecmap", "vecmap-semi", "c1")
OURS = {"gain": "em", "lexicon_gain": "em+lexicon"}  # what all others are compared with
SHARES = ("p@1_not_identical", "stem_p@1", "coverage", "copy")
# The table of the README: ours, the paper's loop, and the strongest of the others.
PEERS = ("em", "em,hints=none", "gradient", "sl-unsup-id", "identical", "em+lexicon", "vecmap",
         "c1", "geomm", "rcsls", "procrustes")  # fmt: skip
HINTS = {"train": "train words", "identical": "no dictionary", "none": "no hint at all"}
FOUND = 1.0  # P@1 in percent; where ours finds less, any dictionary would dominate a mean
STALE = 0.03  # points; older rows of a table have two decimals


def named_config(pair: str, name: str, **data: str) -> Config:
    """Make the settings of a run from its name, such as ``em,hints=none``."""
    solver, changed = split_name(name)
    return preset(pair, solver=solver, **changed, **data)


def rivals(
    pairs: Iterable[str], lexicons: Iterable[str] = ("bundled",), names: Iterable[str] = RIVALS
) -> pd.DataFrame:
    """Compare every system on the same vectors and test words.

    Args:
        pairs: Which pairs, on the vectors of their presets.
        lexicons: Which train and test lexicons, ``bundled`` or ``muse``, which has English pairs only.
        names: Names of runs.

    Returns:
        A row per system, direction and lexicon: P@1 under CSLS with its interval; ``own_p@1``
        under the ``own`` retrieval of its row in the paper, and the ``paper``'s figure; P@1 where
        no gold word is the query (``p@1_not_identical``) and counting other forms of a gold word
        (``stem_p@1``); ``gain`` over ``em`` and ``lexicon_gain`` over ``em+lexicon`` with the
        bounds of a paired bootstrap, ``p`` and ``holm``, that p corrected for all comparisons of
        the column; ``right``, which queries were answered rightly (:func:`pack_right`);
        ``settings`` (published, reduced or ours) and ``size``, the numbers; hints and how many
        test pairs are among them; cost; the command of the run.
    """
    printed = pd.concat([paper_table(number) for number in (1, 2)])
    printed = printed.drop_duplicates(["system", "direction"])[["system", "direction", "paper"]]
    rows = [
        row
        for pair in pairs
        for source in lexicons
        if source != "muse" or pair in PAPER_PAIRS  # MUSE's all have English
        for name in names
        for row in _rows(pair, source, name)
    ]
    return correct(pd.DataFrame(rows).merge(printed, "left", ["system", "direction"]))


def pack_right(frame: pd.DataFrame) -> str:
    """Note in a line which queries were answered rightly, so that a table can be compared later.

    Args:
        frame: ``query`` and ``position``, a row per query.

    Returns:
        A check sum of the queries, a colon, and a bit per query, both hexadecimal.
    """
    right = np.packbits(frame["position"].to_numpy() <= 1)
    return f"{crc32(' '.join(frame['query']).encode()):08x}:{right.tobytes().hex()}"


def correct(table: pd.DataFrame) -> pd.DataFrame:
    """Compare all rows of a table with ours, query by query, and correct for their number.

    Rows that note which queries they answered rightly are compared anew with each call, so it does
    not matter when and where they were run. A row of an older table without that note keeps its
    comparison as long as the difference is still that of the two P@1, and loses it otherwise.
    """
    table, keys = table.reset_index(drop=True), ["direction", "lexicons"]
    if "right" not in table:
        return table
    for gain, name in OURS.items():
        columns = [gain, f"{gain}_low", f"{gain}_high", f"{gain}_p"]
        table[columns] = table.reindex(columns=columns).astype(float)
        ours = table[table["name"] == name].set_index(keys)
        base = ours.reindex(pd.MultiIndex.from_frame(table[keys])).reset_index(drop=True)
        stale = ~((table[gain] - (table["p@1"] - base["p@1"])).abs() < STALE)
        table.loc[stale, columns] = float("nan")
        for i, both in enumerate(zip(table["right"], base["right"], strict=True)):
            if table["seeds"][i] and all(isinstance(text, str) for text in both):
                table.loc[i, columns] = _compare(*both, int(table["queries"][i]))
        table.loc[table["name"] == name, f"{gain}_p"] = float("nan")  # nothing to test
        table[f"{gain}_holm"] = holm(table[f"{gain}_p"])
    return table


def _compare(one: str, other: str, queries: int) -> list[float]:
    """Compare what :func:`pack_right` noted of two systems: gain, its bounds and p, in points."""
    (check, bits), (same, others) = one.split(":"), other.split(":")
    if check != same:  # other words were asked
        return [float("nan")] * 4
    a, b = (
        np.unpackbits(np.frombuffer(bytes.fromhex(part), np.uint8), count=queries).astype(bool)
        for part in (bits, others)
    )
    found = paired_gain(a, b)
    return [100 * value for value in (found["difference"], *found["ci95"])] + [found["p"]]


def _rows(pair: str, source: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one system, a row per direction."""
    config = named_config(pair, name, lexicons=source)
    solver, (said, size) = SOLVERS[config.solver], settings(config)
    seeds = sorted(int(path.parent.name) for path in run_dir(config).parent.glob("*/queries.csv"))
    done = config.seed in seeds
    changed = split_name(name)[1]
    how = command(pair, f"{config.solver} --seeds {config.seed}", changed | {"lexicons": source})
    for direction in (pair, reverse_pair(pair)):
        yield {
            "pair": pair,
            "direction": direction,
            "lexicons": source,
            "name": name,
            "system": "" if changed else solver.row,  # the paper has no such row
            "hint": "none" if config.hints == "none" else solver.hint,
            "own": solver.metric.name,
            "seeds": len(seeds) if done else 0,
            "settings": said,
            "size": size,
            "command": how,
            "state": "measured" if done else not_measured(pair, name, how),
            **(_figures(config, direction, seeds) if done else {}),
        }


def _figures(config: Config, direction: str, seeds: list[int]) -> dict[str, Any]:
    """Read the figures of one system in one direction, shares in percent."""
    metrics = read_metrics(run_dir(config))
    csls = metrics["results"][direction]["csls"]
    own = metrics["results"][direction][SOLVERS[config.solver].metric.name]
    every = [
        read_metrics(run_dir(config.replace(seed=seed)))["results"][direction]["csls"]["p@1"]
        for seed in seeds
    ]
    low, high = csls["ci95"]
    shares = {"p@1": csls["p@1"], "low": low, "high": high, "own_p@1": own["p@1"]}
    shares |= {"seed_min": min(every), "seed_max": max(every)}
    shares |= {name: csls[name] for name in SHARES if csls.get(name) is not None}
    out: dict[str, Any] = {"right": pack_right(read_queries(config, direction))}
    hints = metrics.get("hint_sizes", {})
    out["hints"] = ", ".join(f"{count} {kind}" for kind, count in hints.items())
    out["test_pairs_in_hint"] = metrics.get("test_pairs_in_hint", {}).get(direction)
    facts = {key: metrics.get(key) for key in COSTS}
    facts["seconds"] = metrics.get("cpu_seconds", metrics["seconds"])  # not slowed by other work
    facts |= {"settings": metrics.get("settings"), "size": metrics.get("size")}
    facts = {key: value for key, value in facts.items() if value is not None}
    percent = {key: 100 * value for key, value in shares.items()}
    return percent | {"queries": csls["queries"], "seed": config.seed} | out | facts


def verdicts(table: pd.DataFrame, gain: str = "gain", level: float = 0.05) -> pd.DataFrame:
    """Count in how many directions each system is better or worse than ours, corrected for many.

    Args:
        table: What :func:`rivals` returned.
        gain: ``gain`` (against ``em``) or ``lexicon_gain`` (against ``em+lexicon``).
        level: A difference counts as shown if its Holm-corrected p is below this.

    Returns:
        A row per system, lexicon and hint: the number of ``better``, ``worse`` and ``undecided``
        directions from that system's view; its ``mean`` gain in points over the ``directions`` in
        which ours finds at least :data:`FOUND`, and the bounds ``low`` and ``high`` of that mean.
        Every direction has queries of its own, so half the width of the mean of n is the root of
        the sum of squares of theirs, divided by n.
    """
    if f"{gain}_holm" not in table:
        return pd.DataFrame(columns=["lexicons", "hint", "name", "better", "worse", "undecided"])
    done = table[table[f"{gain}_holm"].notna()]
    shown = done[f"{gain}_holm"] < level
    counted = done.assign(
        better=shown & (done[gain] > 0), worse=shown & (done[gain] < 0), undecided=~shown
    )
    groups = counted.groupby(["lexicons", "hint", "name"], sort=False)
    sums = groups[["better", "worse", "undecided"]].sum()
    usual = counted[counted["p@1"] - counted[gain] >= FOUND].assign(
        square=lambda rows: ((rows[f"{gain}_high"] - rows[f"{gain}_low"]) / 2) ** 2
    )
    over = usual.groupby(["lexicons", "hint", "name"], sort=False)
    mean, n = over[gain].mean(), over.size()
    half = over["square"].sum() ** 0.5 / n
    bounds = {"mean": mean, "low": mean - half, "high": mean + half}
    return sums.assign(directions=n, **{k: v.round(2) for k, v in bounds.items()}).reset_index()


def peers(table: pd.DataFrame, lexicons: str = "muse") -> pd.DataFrame:
    """Select the strongest systems: the table of the README.

    Args:
        table: What :func:`rivals` returned.
        lexicons: Which test words.

    Returns:
        A row per system of :data:`PEERS` and direction, where measured, and of copying the query:
        P@1 in percent with its interval, queries and seeds.
    """
    done = table[(table["seeds"] > 0) & (table["lexicons"] == lexicons)]
    columns = ["direction", "p@1", "low", "high", "copy", "queries", "coverage", "seeds"]
    frames = [
        rows[columns].assign(name=name, hint=HINTS[rows["hint"].iloc[0]])
        for name in PEERS
        if len(rows := done[done["name"] == name])
    ]
    if not frames:
        return pd.DataFrame()
    copied = frames[0].assign(name="copy the query", hint="", low=float("nan"), high=float("nan"))
    copied["p@1"] = copied["copy"]
    return pd.concat([*frames, copied])[["name", "hint", *columns]]


def cost(table: pd.DataFrame) -> pd.DataFrame:
    """Set the cost of each system beside its quality, over the pairs that it was run on.

    Args:
        table: What :func:`rivals` returned.

    Returns:
        A row per system and lexicon: mean ``seconds`` of the CPU that solving a pair took, the
        largest ``peak_gb``, the number of ``directions``, mean ``p@1`` over them, and how far that
        is from ``em+lexicon`` on the same directions (``lexicon_gain``), threads and settings. Rows
        of runs that did not count the seconds of the CPU, those without a ``commit``, are left out.
    """
    done = table[(table["seeds"] > 0) & table["commit"].notna()]
    keys, best = ["lexicons", "direction"], OURS["lexicon_gain"]
    ours = done[done["name"] == best].set_index(keys)["p@1"].rename("ours")
    done = done.join(ours, on=keys)
    done = done.assign(lexicon_gain=done["p@1"] - done["ours"])
    groups = done.groupby(["lexicons", "hint", "name", "settings"], sort=False)
    found = groups.agg(
        seconds=("seconds", "mean"),
        peak_gb=("peak_gb", "max"),
        threads=("threads", "max"),
        directions=("direction", "nunique"),
        **{"p@1": ("p@1", "mean")},
        lexicon_gain=("lexicon_gain", "mean"),
    )
    return found.sort_values(["lexicons", "lexicon_gain"], ascending=[True, False]).reset_index()
