"""Is the verdict right? Alignments that work and alignments that were spoiled on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.curve import usable_pairs, with_lexicon
from demalib.aligner import fit
from demalib.config import Config, preset
from demalib.data.files import write_text
from demalib.embedding import Embedding
from demalib.evaluation.benchmark import evaluate, load_gold, load_pair, summarise
from demalib.hints import Lexicon
from demalib.pair import Pair, make_pair
from demalib.runs import project_root

PAIRS = ("en-fr", "en-ja", "en-ru", "fr-ja", "fr-ru")
UNHINTED = ("en-fr", "en-ru")  # aligned without any hint too, which takes longest
WORDS = 10_000


class Case(NamedTuple):
    """A pair to be aligned, and what was done to it."""

    name: str
    what: str  # what is known, or how it was spoiled
    pair: Pair
    hints: str = Config.hints


def verdicts(pairs: tuple[str, ...] = PAIRS) -> dict[str, Any]:
    """Align every case; compare the verdict with P@1 on the test words.

    Returns:
        How often each answer was given, to sound and to spoiled pairs; the table is
        ``results/bench/verdicts.csv``.
    """
    rows = []
    for case in cases(pairs):
        config = preset(case.name, hints=case.hints, max_vocab=WORDS)
        mapping = fit(case.pair, config)
        gold = load_gold(config)
        results = summarise(evaluate(mapping, case.pair, gold, config, ("csls",)), gold)
        verdict = mapping.info["verdict"]
        row = {"pair": case.name, "what": case.what, "verdict": verdict["answer"]}
        row |= {key: verdict[key] for key in ("p1", "p10", "queries", "agreement")}
        row |= {key: verdict[key] for key in ("criterion", "by_chance")}
        for way, found in zip(("to", "back"), results.values(), strict=True):
            row[f"test p@1 {way}"] = found["csls"]["p@1"]
        rows.append(row)
        print(row, flush=True)
        table = pd.DataFrame(rows)  # written after every case: all of them take half an hour
        path = project_root() / "results" / "bench" / "verdicts.csv"
        write_text(path, table.round(3).to_csv(index=False))
    spoiled = table["what"].str.startswith("spoiled")
    return {
        kind: some["verdict"].value_counts().to_dict()
        for kind, some in (("sound", table[~spoiled]), ("spoiled", table[spoiled]))
    }


def cases(pairs: tuple[str, ...]) -> Iterator[Case]:
    """Every pair with four or five kinds of knowledge, and spoiled in four ways."""
    whole = {name: load_pair(preset(name, max_vocab=WORDS)) for name in pairs}
    rng = np.random.default_rng(0)
    for name, pair in whole.items():
        config = preset(name)
        order, usable = usable_pairs(config.langs, load_gold(config))
        yield Case(name, "like spelling", pair)
        if name in UNHINTED:
            yield Case(name, "no hint", pair, hints="none")
        for n in (100, 1000, 3000):
            chosen = set(order[:n])
            lexicon = Lexicon([(q, t) for q, t in usable if q in chosen], "some")
            yield Case(name, f"{n} known words", with_lexicon(pair, lexicon))
        words, vectors = pair.tgt.words, pair.tgt.vectors
        other = next(p for n, p in whole.items() if n != name and p.tgt.lang != pair.tgt.lang)
        size = min(len(words), len(other.tgt))
        for what, wrong in (
            ("shuffled", rng.permutation(vectors)),
            ("noise", rng.standard_normal(vectors.shape).astype(np.float32)),
            ("each word has the vector of another", np.roll(vectors, 37, axis=0)),
            (f"vectors of {other.tgt.lang}", other.tgt.vectors[:size]),
        ):
            target = Embedding(words[: len(wrong)], wrong, pair.tgt.lang)
            yield Case(name, f"spoiled: {what}", make_pair(pair.src, target, exclude=pair.exclude))
