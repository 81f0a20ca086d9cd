"""Cross-lingual word similarity: human scores (Table 3), and graded pairs from a lexicon."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from demalib.config import Config, preset, reverse_pair
from demalib.data.registry import MUSE_VECTORS, WORDSIM, find_muse, muse_dir
from demalib.data.tensors import load_mapping
from demalib.embedding import Embedding, Policy
from demalib.errors import DataError
from demalib.evaluation.benchmark import load_pair
from demalib.evaluation.tables import command, paper_table
from demalib.hints import Lexicon
from demalib.pair import Pair, retrievers
from demalib.retrieval import Retriever
from demalib.runs.folder import run_dir

TRANSLATION, NEIGHBOUR, CHANCE = 2.0, 1.0, 0.0  # scores of graded pairs
COLUMNS = ["system", "direction", "name", "seeds", "paper", "pearson", "low", "high", "spearman"]
COLUMNS += ["pairs", "coverage", "multiword", "oov", "difference", "state"]  # of Table 3


def read_similarity(path: str | Path, policy: Policy = Policy()) -> pd.DataFrame:
    """Read ``word<TAB>word<TAB>score`` lines into columns ``first``, ``second``, ``score``."""
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file; give one with 'word<TAB>word<TAB>score' lines")
    rows = []
    with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip("\r\n").split("\t")
            try:
                first, second, score = fields
                rows.append((first.strip(), second.strip(), float(score)))
                if "\ufffd" in line or not np.isfinite(rows[-1][-1]):
                    raise ValueError
            except ValueError:
                if line.strip():
                    raise DataError(
                        f"{path}:{number}: expected 'word<TAB>word<TAB>score' in UTF-8, found "
                        f"{line.strip()[:60]!r}"
                    ) from None
    frame = pd.DataFrame(rows, columns=["first", "second", "score"])
    if policy.case == "lower":
        frame[["first", "second"]] = frame[["first", "second"]].apply(lambda c: c.str.lower())
    return frame


def word_similarity(
    frame: pd.DataFrame,
    first: Callable[[str], np.ndarray | None],
    second: Callable[[str], np.ndarray | None],
) -> dict:
    """Correlate cosines with human scores, cross-lingually (Section 5.5).

    Args:
        frame: What :func:`read_similarity` read.
        first: Returns the vector (d,) of a word of the first language in the shared space, or
            None if it is out of vocabulary.
        second: The same for the second language.

    Returns:
        ``pearson``, ``spearman``, ``pairs`` used, ``coverage``, and how many were left out
        because one of them is a phrase (``multiword``) or is out of vocabulary (``oov``).
    """
    gold, cosine, report = [], [], {"multiword": 0, "oov": 0}
    for a, b, score in frame.itertuples(index=False):
        if len(a.split()) > 1 or len(b.split()) > 1:
            report["multiword"] += 1
            continue
        u, v = first(a), second(b)
        if u is None or v is None:
            report["oov"] += 1
            continue
        gold.append(score)
        cosine.append(float(u @ v) / max(float(np.linalg.norm(u) * np.linalg.norm(v)), 1e-12))
    if len(gold) < 2:
        raise DataError(
            f"word similarity: only {len(gold)} of {len(frame)} pairs are in the "
            "vocabularies; are these the right languages?"
        )
    gold, cosine = pd.Series(gold), pd.Series(cosine)
    return {
        "pearson": gold.corr(cosine),
        "spearman": gold.rank().corr(cosine.rank()),
        "pairs": len(gold),
        "coverage": len(gold) / len(frame),
        **report,
    }


def graded_pairs(pair: Pair, lexicon: Lexicon, neighbour: int = 10, seed: int = 0) -> pd.DataFrame:
    """Make three pairs for each query of a lexicon: its translation, a near word, a random word.

    The near word is the ``neighbour``-th nearest one of the translation in the target's own
    space; the random word is another query's translation. Neither is a gold translation of the
    query. Translations identical to their query are left out: they may have been hints.

    Returns:
        Columns ``first``, ``second`` and ``score`` (2, 1 or 0), for :func:`word_similarity`; the
        queries are in the same order for each score.
    """
    src, tgt = pair.src, pair.tgt
    rows = lexicon.rows(src, tgt)
    rows = rows[[src.words[i] != tgt.words[j] for i, j in rows]]
    rows = rows[np.unique(rows[:, 0], return_index=True)[1]]  # the first translation of each
    golds = [lexicon.gold[src.words[i]] | {src.words[i]} for i in rows[:, 0]]
    cosine = (pair.y[rows[:, 1]] @ pair.y.T).cpu().numpy()  # (n, M), in the target's own space
    for row, gold in zip(cosine, golds, strict=True):
        row[[tgt.index[word] for word in gold if word in tgt.index]] = -np.inf
    close = np.argsort(-cosine, axis=1)[:, neighbour - 1]
    rng = np.random.default_rng(seed)
    chance, bad = rows[:, 1].copy(), np.ones(len(rows), dtype=bool)
    while bad.any():
        chance[bad] = rng.choice(rows[:, 1], bad.sum())
        bad = np.array([tgt.words[j] in gold for j, gold in zip(chance, golds, strict=True)])
    kinds = ((TRANSLATION, rows[:, 1]), (NEIGHBOUR, close), (CHANCE, chance))
    queries = [src.words[i] for i in rows[:, 0]]
    frames = [
        pd.DataFrame({"first": queries, "second": [tgt.words[j] for j in column], "score": score})
        for score, column in kinds
    ]
    return pd.concat(frames, ignore_index=True)


def cosines(
    frame: pd.DataFrame, retriever: Retriever, src: Embedding, tgt: Embedding
) -> np.ndarray:
    """Compute cosines of word pairs in the shared space, (n,); all words must be in vocabulary."""
    rows = torch.tensor([src.index[word] for word in frame["first"]])
    columns = torch.tensor([tgt.index[word] for word in frame["second"]])
    return (retriever.mapped[rows] * retriever.targets[columns]).sum(dim=1).cpu().numpy()


def correlate(frame: pd.DataFrame, retriever: Retriever, src: Embedding, tgt: Embedding) -> dict:
    """Compute :func:`word_similarity` of mapped source words and target words."""
    mapped, targets = (side.cpu().numpy() for side in (retriever.mapped, retriever.targets))
    return word_similarity(
        frame,
        lambda word: mapped[src.index[word]] if word in src.index else None,
        lambda word: targets[tgt.index[word]] if word in tgt.index else None,
    )


def auc(higher: np.ndarray, lower: np.ndarray, seed: int = 0, resamples: int = 1000) -> dict:
    """Compute how often a ``higher`` number beats a ``lower`` one; ties count half.

    Args:
        higher: A number per query, (n,).
        lower: The same for pairs that should score lower, (n,), queries in the same order.

    Returns:
        ``auc``, 0.5 for no better than chance, and ``ci95``, by resampling queries.
    """
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(higher), size=(resamples, len(higher)))
    low, high = np.quantile([_auc(higher[d], lower[d]) for d in draws], (0.025, 0.975))
    return {"auc": _auc(higher, lower), "ci95": [float(low), float(high)]}


def _auc(higher: np.ndarray, lower: np.ndarray) -> float:
    lower = np.sort(lower)
    wins = np.searchsorted(lower, higher, "left") + np.searchsorted(lower, higher, "right")
    return float(wins.mean() / (2 * len(lower)))


def correlation_interval(r: float, n: int) -> tuple[float, float]:
    r"""Compute Fisher's 95 % interval of Pearson's r over n pairs.

    .. math:: \tanh(\mathrm{artanh}\,r \pm 1.96 / \sqrt{n - 3})
    """
    z, half = math.atanh(r), 1.96 / math.sqrt(n - 3)
    return math.tanh(z - half), math.tanh(z + half)


# ---------------------------------------------------------------- Table 3


def similarity_path(src: str, tgt: str) -> Path | None:
    """Find the SemEval-2017 file of two languages in the user's own copy of MUSE, if any."""
    return find_muse(f"{src}-{tgt}-SEMEVAL17.txt")


def missing(config: Config) -> list[str]:
    """List what must be done before the similarity of a pair can be measured; fetch nothing."""
    steps = []
    needed = [muse_dir() / MUSE_VECTORS.format(lang) for lang in config.langs]
    if not all(path.is_file() for path in [*needed, run_dir(config) / "mapping.safetensors"]):
        steps.append(command(config.pair, config.solver))
    if similarity_path(*config.langs) is None:
        steps.append(f"put {config.pair}-SEMEVAL17.txt into $DEMALIB_MUSE/{WORDSIM}")
    return steps


def table3(solver: str = "em", seed: int = 0) -> pd.DataFrame:
    """Compare Pearson and Spearman (x 100) of a finished run of each pair with the paper's figures.

    Returns:
        A row per pair: the ``paper``'s Pearson, ours with its interval, the number of ``pairs``
        used, and ``state``: measured, or not run and what to do.
    """
    rows = []
    for cell in paper_table(3).query("group == 'DeMa-BWE'").itertuples():
        config = preset(reverse_pair(cell.direction), solver=solver, seed=seed)
        steps = missing(config)
        ours: dict[str, Any] = {} if steps else _measure(config)
        state = f"not run: {'; '.join(steps)}" if steps else "measured"
        keys = {"system": cell.system, "direction": cell.direction, "name": solver}
        keys |= {"seeds": int(not steps), "paper": cell.paper}
        rows.append({**keys, **ours, "state": state})
    table = pd.DataFrame(rows).reindex(columns=COLUMNS)
    table = table.astype(dict.fromkeys(("pairs", "multiword", "oov"), "Int64"))
    return table.assign(difference=table["pearson"] - table["paper"])


def _measure(config: Config) -> dict[str, Any]:
    """Measure similarity under the map from the other language to English, as the paper does."""
    pair = load_pair(config)
    mapping = load_mapping(run_dir(config) / "mapping.safetensors")
    path = similarity_path(*config.langs)
    assert path is not None, "missing() names this file"
    frame = read_similarity(path)
    frame = frame.rename(columns={"first": "second", "second": "first"})
    frame = frame[["first", "second", "score"]]
    r = correlate(frame, retrievers(mapping, pair)[1], pair.tgt, pair.src)
    low, high = correlation_interval(r["pearson"], r["pairs"])
    shares = {key: r[key] for key in ("pearson", "spearman", "coverage")}
    shares |= {"low": low, "high": high}
    counts = {key: r[key] for key in ("pairs", "multiword", "oov")}
    return {key: 100 * value for key, value in shares.items()} | counts
