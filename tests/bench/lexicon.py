"""What a dictionary adds, judged by words of it that are held out in turn: no test word is used."""

from __future__ import annotations

from typing import Any

import pandas as pd

from demalib.config import preset
from demalib.data.files import write_text
from demalib.data.lexicon import load_lexicon
from demalib.embedding import Embedding
from demalib.evaluation.benchmark import Gold, evaluate, load_gold, load_pair, make_exclude
from demalib.evaluation.translation import paired_bootstrap
from demalib.hints import Lexicon
from demalib.pair import make_pair
from demalib.runs import project_root
from demalib.solvers import align, get_solver

CASES = (("en-fr", 0), ("en-fr", 3000))  # pair, and most frequent words a side; 0 is all
FOLDS = 5
SOLVERS = ("em", "em+lexicon")


def lexicon(cases: tuple[tuple[str, int], ...] = CASES) -> dict[str, Any]:
    """Align without a dictionary and with four fifths of it, and ask for the other fifth.

    Every fifth word by frequency of either side is held out with all its pairs, as the bundled
    lexicons were split into train and test. Pairs that are held out are left out of all hints.

    Returns:
        P@1 in percent without and with the dictionary, over the queries of all folds, by direction;
        ``results/bench/lexicon.csv`` has the paired difference with its interval.
    """
    rows = []
    for name, max_vocab in cases:
        config = preset(name, max_vocab=max_vocab)
        sides, gold = load_pair(config), load_gold(config)
        known = load_lexicon(*config.langs, "train", config.lexicons).pairs
        known = [(a, b) for a, b in known if a in sides.src.index and b in sides.tgt.index]
        folds = []
        for fold in range(FOLDS):
            rest, held = hold_out(known, sides.src, sides.tgt, fold)
            hidden = Lexicon(make_exclude(gold).pairs + make_exclude(held).pairs, "held out")
            folds.append({})
            for solver in SOLVERS:
                some = (rest, rest.reverse()) if solver == "em+lexicon" else (None, None)
                usual = get_solver(solver).normalisation
                pair = make_pair(sides.src, sides.tgt, *some, hidden, usual)
                this = config.replace(solver=solver)
                folds[-1][solver] = evaluate(align(pair, this), pair, held, this, ("csls",))
        for direction in folds[0]["em"]:
            without, given = (
                pd.concat([fold[solver][direction]["csls"] for fold in folds]) for solver in SOLVERS
            )
            gain = paired_bootstrap(given, without)
            shares = [(frame["position"] <= 1).mean() for frame in (without, given)]
            figures = [*shares, gain["difference"], *gain["ci95"], without["copied"].mean()]
            columns = (*SOLVERS, "gain", "low", "high", "copy")
            percent = {c: round(100 * float(v), 2) for c, v in zip(columns, figures, strict=True)}
            facts = {"direction": direction, "words": max_vocab or "all", "queries": len(given)}
            rows.append(facts | percent)
            print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    write_text(project_root() / "results" / "bench" / "lexicon.csv", table.to_csv(index=False))
    return {
        f"{row['direction']} {row['words']}": [row[solver] for solver in SOLVERS] for row in rows
    }


def hold_out(
    known: list[tuple[str, str]], src: Embedding, tgt: Embedding, fold: int
) -> tuple[Lexicon, Gold]:
    """Split a dictionary: pairs without a word that is held out, and the pairs of those words."""
    asked = {src.words[i] for i in sorted({src.index[a] for a, _ in known})[fold::FOLDS]}
    back = {tgt.words[j] for j in sorted({tgt.index[b] for _, b in known})[fold::FOLDS]}
    rest = [(a, b) for a, b in known if a not in asked and b not in back]
    forward = [(a, b) for a, b in known if a in asked]
    backward = [(b, a) for a, b in known if b in back]
    return Lexicon(rest, "train"), Gold(Lexicon(forward, "fold"), Lexicon(backward, "fold"))
