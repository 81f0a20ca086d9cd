"""When does an alignment need no hint? The hint-free systems on spaces made more and less alike.

``python -m demalib.evaluation.unhinted`` measures what ``results/tables/unhinted.csv`` lacks, a row at
a time, so it can be stopped and started again. Vectors of the same sentences come from
:mod:`demalib.data.corpora` (npm and gensim needed), those of other texts by one program from a folder
with ``en.npz`` and ``de.npz`` that ``DEMALIB_MADE`` names, with MUSE's lexicons.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from demalib.config import Config, preset, reverse_pair, split_name
from demalib.data.corpora import Recipe, load_made
from demalib.data.files import write_text
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.evaluation.benchmark import load_embedding_of, load_gold, make_exclude, solve_and_judge
from demalib.evaluation.record import COSTS
from demalib.pair import make_pair
from demalib.runs.folder import results_dir
from demalib.solvers import get_solver

COMMAND = "python -m demalib.evaluation.unhinted"
KEYS = ["spaces", "direction", "name"]
WORDS, MANY = 5_000, 20_000  # most frequent words per side; the second where the first find nothing
# Ours first, then the rivals that take no hint; for comparison ours with words of the same spelling.
SYSTEMS = ("em,hints=none", "sl-unsup", "ws-procrustes", "non-adv-r", "muse", "sinkhorn")
HINTED = ("em",)
Sides = tuple[Embedding, Embedding]


class Spaces(NamedTuple):
    """Two spaces: how alike they were made, the pair, its test lexicons, and how they are loaded."""

    alike: str  # what the two have in common
    pair: str
    lexicons: str
    load: Callable[[int], Sides]
    words: int = WORDS  # most frequent words per side


def _made(german: Recipe, french: Recipe) -> Callable[[int], Sides]:
    return lambda words: (load_made("de", german, words), load_made("fr", french, words))


def _registry(pair: str) -> Callable[[int], Sides]:
    def load(words: int) -> Sides:
        config = preset(pair, max_vocab=words)
        src, tgt = (load_embedding_of(lang, config) for lang in config.langs)
        return src, tgt

    return load


def _other_texts(words: int) -> Sides:
    folder = os.environ.get("DEMALIB_MADE")
    if not folder:
        raise DataError("no folder with en.npz and de.npz; DEMALIB_MADE names it")
    sides = []
    for lang in ("en", "de"):
        with np.load(Path(folder, f"{lang}.npz"), allow_pickle=False) as data:
            vectors = data["codes"][:words] * data["scale"][:words].reshape(-1, 1)
            sides.append(Embedding(data["words"][:words].tolist(), vectors.astype("f4"), lang))
    return sides[0], sides[1]


COUNTS = Recipe(program="counts")
BOTH, PROGRAM, SENTENCES, NEITHER = "sentences and program", "program", "sentences", "neither"
SPACES = {
    "same sentences": Spaces(BOTH, "de-fr", "bundled", _made(COUNTS, COUNTS)),
    "same sentences, skip-gram": Spaces(BOTH, "de-fr", "bundled", _made(Recipe(), Recipe())),
    "other sentences": Spaces(
        PROGRAM, "de-fr", "bundled", _made(Recipe(0, "counts"), Recipe(1, "counts"))
    ),
    "other texts": Spaces(PROGRAM, "en-de", "muse", _other_texts, MANY),
    "two programs": Spaces(SENTENCES, "de-fr", "bundled", _made(Recipe(), COUNTS)),
    **{
        f"registry {pair}": Spaces(NEITHER, pair, "bundled", _registry(pair))
        for pair in ("en-fr", "en-ja", "en-ru")
    },
}


def measure(name: str, system: str, words: int = 0) -> list[dict[str, Any]]:
    """Align two spaces with one system and judge both directions.

    Args:
        name: One of :data:`SPACES`.
        system: A solver, perhaps with settings: ``em,hints=none``.
        words: Most frequent words per side; 0 takes the number of the spaces.

    Returns:
        A row per direction, shares in percent.
    """
    spaces = SPACES[name]
    words = words or spaces.words
    solver, changed = split_name(system)
    config = Config(spaces.pair, vectors="files", lexicons=spaces.lexicons).replace(
        solver=solver, max_vocab=words, **changed
    )
    gold = load_gold(config)
    sides, how = spaces.load(words), get_solver(solver).normalisation
    pair = make_pair(*sides, exclude=make_exclude(gold), normalisation=how)
    metrics = solve_and_judge(pair, gold, config).metrics
    rows = []
    for direction, by_metric in metrics["results"].items():
        csls = by_metric["csls"]
        shares = {"p@1": csls["p@1"], "low": csls["ci95"][0], "high": csls["ci95"][1]}
        shares |= {"copy": csls["copy"], "p@1_not_identical": csls["p@1_not_identical"]}
        row = {"spaces": name, "alike": spaces.alike, "pair": spaces.pair, "direction": direction}
        row |= {"name": system, "lexicons": spaces.lexicons, "words": words, "seeds": 1}
        row["state"] = "measured"
        row |= {key: round(100 * share, 2) for key, share in shares.items()}
        row |= {"queries": csls["queries"], "verdict": metrics.get("verdict", {}).get("answer", "")}
        row |= {key: metrics[key] for key in ("settings", "size", "seed", *COSTS)}
        rows.append(row)
    return rows


def read_table() -> pd.DataFrame:
    """Read ``results/tables/unhinted.csv``; rows that it lacks name the command that is missing.

    Its rows are in the order of :data:`SPACES` and of the systems.
    """
    rows = []
    for name, spaces in SPACES.items():
        for direction in (spaces.pair, reverse_pair(spaces.pair)):
            for system in (*SYSTEMS, *HINTED):
                row: dict[str, Any] = {"spaces": name, "alike": spaces.alike, "pair": spaces.pair}
                row |= {"direction": direction, "name": system, "lexicons": spaces.lexicons}
                row |= dict.fromkeys(("p@1", "low", "high", "copy"), float("nan"))
                rows.append(row | {"seeds": 0, "state": f'not run: {COMMAND} "{name}"'})
    every, path = pd.DataFrame(rows), results_dir() / "tables" / "unhinted.csv"
    if path.is_file():
        done = pd.read_csv(path, keep_default_na=False, na_values=[""])
        done = done[done["seeds"] > 0]
        found = set(map(tuple, done[KEYS].to_numpy()))
        missing = [tuple(row) not in found for row in every[KEYS].to_numpy()]
        every = pd.concat([done, every[missing]], ignore_index=True)
    order = {name: i for i, name in enumerate((*SPACES, *SYSTEMS, *HINTED))}
    return every.sort_values(
        ["spaces", "name"], key=lambda column: column.map(order), kind="stable", ignore_index=True
    )


def measure_all(
    names: Iterable[str] = tuple(SPACES),
    systems: Iterable[str] = (*SYSTEMS, *HINTED),
    words: int = 0,
    say: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Measure what the table lacks, and write it after every system; report what cannot be measured here.

    Returns:
        The whole table, also with what was measured before.
    """
    path, systems = results_dir() / "tables" / "unhinted.csv", tuple(systems)
    table = read_table()
    for name in names:
        for system in systems:
            same = (table["spaces"] == name) & (table["name"] == system)
            if (table.loc[same, "seeds"] > 0).any():
                continue
            try:
                rows = measure(name, system, words)
            except DataError as error:
                say(f"{name}, {system}: not measured: {error}")
                break
            say(f"{name}, {system}: " + " / ".join(f"{row['p@1']:.1f}" for row in rows))
            table = pd.concat([table[~same], pd.DataFrame(rows)], ignore_index=True)
            write_text(path, table.convert_dtypes().to_csv(index=False))
    return table


if __name__ == "__main__":  # pragma: no cover
    if unknown := set(sys.argv[1:]) - SPACES.keys():
        sys.exit(f"no spaces {', '.join(sorted(unknown))}; use {', '.join(SPACES)}")
    measure_all(sys.argv[1:] or tuple(SPACES))
