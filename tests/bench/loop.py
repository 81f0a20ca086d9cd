"""The paper's loop, plain and annealed, beside EM with either pairing: what each finds, and when."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch

from demalib import plots
from demalib.config import REGISTRY_PAIRS, Config, preset, reverse_pair
from demalib.data.files import write_text
from demalib.evaluation.benchmark import evaluate, load_gold, load_pair, summarise
from demalib.pair import Mapping
from demalib.plots.common import arrow, label_ends
from demalib.runs import project_root, solve
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.solvers import align

IDENTICAL = {"hints": "identical,numerals", "last": "free"}  # the loop's own hint; Eq. 10's M-step
WAYS: dict[str, dict[str, Any]] = {
    "annealed loop": {"solver": "gradient"},
    "plain loop": {"solver": "gradient", "anneal": False, "steps": 500, "components": 10_000},
    "agreement EM": {"solver": "em", **IDENTICAL},
    "EM of Eq. 10": {"solver": "em", "pairing": "sum", **IDENTICAL},
}
SEEDS = 3  # of the annealed loop on MUSE's words; one elsewhere
NAMES = {"laptop": "plain loop", "paper": "paper's recipe"}
FIELDS = ("pair", "lexicons", "way", "seed")


def loop() -> dict[str, Any]:
    """Judge every way on the registry's pairs, with identical words as the only hint.

    Test pairs are left out of the hints. MUSE's test words are used beside the bundled ones for
    pairs with English if ``DEMALIB_MUSE`` names their folder. Rows that are in the table already
    are kept, so a stopped run goes on.

    Returns:
        Number of rows of ``results/bench/loop.csv``.
    """
    path = project_root() / "results" / "bench" / "loop.csv"
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {tuple(row[name] for name in FIELDS) for row in rows}
    for way, config in cases():
        if (config.pair, config.lexicons, way, config.seed) in done:
            continue
        rows += judge(way, config)
        write_text(path, pd.DataFrame(rows).round(4).to_csv(index=False))
        print(rows[-2:], flush=True)
    return {"rows": len(rows)}


def cases() -> Iterator[tuple[str, Config]]:
    """Yield every way with its settings: MUSE's words first, then the bundled ones."""
    pairs = [pair for pair in REGISTRY_PAIRS if pair != "en-zh"]  # which share no word
    if os.environ.get("DEMALIB_MUSE"):
        for way, settings in WAYS.items():
            for pair in ("en-fr", "en-ja", "en-ru"):
                for seed in range(SEEDS if way == "annealed loop" else 1):
                    yield way, preset(pair, lexicons="muse", seed=seed, **settings)
    for way, settings in WAYS.items():
        for pair in pairs:
            yield way, preset(pair, **settings)


def judge(way: str, config: Config) -> list[dict[str, Any]]:
    """Solve a pair, or read its finished run; a row for either direction.

    Other work on the machine slows a run down, so seconds are of the CPU, of all threads.
    """
    run, rows = solve(config), []
    for direction, by_metric in run["results"].items():
        figures = by_metric["csls"]
        row = dict(zip(FIELDS, (config.pair, config.lexicons, way, config.seed), strict=True))
        row |= {"direction": direction, "p@1": figures["p@1"]}
        row["low"], row["high"] = figures["ci95"]
        row |= {name: figures[name] for name in ("copy", "queries")}
        row |= {"cpu_seconds": round(run["cpu_seconds"]), "threads": run["threads"]}
        rows.append(row)
    return rows


def curve(path: Path, **settings: Any) -> None:
    """Write P@1 of the loop at every validation; a stopped run goes on from its checkpoint.

    Args:
        path: A ``.csv``; the checkpoint is of the same name in ``results/runs``.
        **settings: Of :func:`demalib.preset`.
    """
    config = preset(solver="gradient", exclude_test=True, **settings)
    pair, gold = load_pair(config), load_gold(config)

    def watch(_: int, W_xy: torch.Tensor, W_yx: torch.Tensor) -> dict[str, float]:
        judged = evaluate(Mapping.of(W_xy, W_yx, pair, config), pair, gold, config, ("csls",))
        results = summarise(judged, gold)
        return {direction: figures["csls"]["p@1"] for direction, figures in results.items()}

    class Written(DiskCheckpoint):
        def save(self, signature: str, tensors: Any, facts: Any) -> None:
            super().save(signature, tensors, facts)
            write_text(path, pd.DataFrame(facts["history"]).round(4).to_csv(index=False))

    kept = project_root() / "results" / "runs" / f"{path.stem}.safetensors"
    kept.parent.mkdir(parents=True, exist_ok=True)
    align(pair, config, watch=watch, checkpoint=Written(kept))


def draw(folder: Path) -> None:
    """Draw every curve of the folder, a panel each, with the annealed loop's P@1 as lines."""
    plots.style()
    table, paths = pd.read_csv(folder / "loop.csv"), sorted(folder.glob("loop_*_*.csv"))
    annealed = table[(table["way"] == "annealed loop") & (table["lexicons"] == "muse")]
    level = 100 * annealed.groupby("direction")["p@1"].mean()
    _, axes = plt.subplots(1, len(paths), figsize=(5.2 * len(paths), 3.4), squeeze=False)
    for ax, path in zip(axes[0], paths, strict=True):
        _, recipe, pair = path.stem.split("_")
        curves, ends = pd.read_csv(path), []
        for i, direction in enumerate((pair, reverse_pair(pair))):
            ax.plot(curves["step"], 100 * curves[direction], marker=".", color=f"C{i}")
            ax.axhline(level[direction], color=f"C{i}", linestyle="--", linewidth=1.2)
            ends.append((level[direction], f"{arrow(direction)}, annealed", f"C{i}"))
        steps, name = int(curves["step"].iloc[-1]), NAMES[recipe]
        ax.set(xlabel="step", ylabel="P@1 (%)", ylim=(-2, 88))
        ax.set_title(f"{name}, {pair}, {steps:,} steps")
        label_ends(ax, ends)
    plots.save(axes[0, 0], folder.parent / "figures" / "loop.png")


if __name__ == "__main__":
    pair, recipe, steps, *rest = sys.argv[1:]
    folder = project_root() / "results" / "bench"
    settings = {"pair": pair, "recipe": recipe, "steps": int(steps), "validate_every": int(rest[0])}
    if os.environ.get("DEMALIB_MUSE"):
        settings["lexicons"] = "muse"
    if recipe == "laptop":
        settings |= {"anneal": False, "components": 10_000}
    curve(folder / f"loop_{recipe}_{pair}.csv", **settings)
    draw(folder)
