"""Evaluation of word translation: per query, with intervals, baselines and coverage.

A query counts once, however many translations it has, and any gold translation counts. A
query is *covered* if it and at least one of its translations are in the vocabularies; the
figures are over covered queries (the policy of MUSE and of the paper) and ``coverage`` is their
share. All target words are candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import comb

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from demalib.embedding import Embedding
from demalib.hints import Lexicon
from demalib.retrieval import Metric, Retriever
from demalib.trial import interval

RESAMPLES = 10_000
PAIRED = 100_000  # draws of a paired comparison
STEM_LETTERS, STEM_SHARE = 4, 0.6  # of the common beginning of two forms of one word


def judge(
    retriever: Retriever, src: Embedding, tgt: Embedding, lexicon: Lexicon, metric: Metric
) -> pd.DataFrame:
    """Translate every covered query of a test lexicon and find its best gold translation.

    Args:
        retriever: All source words in the target space, and all target words.
        src: The source words.
        tgt: The target words.
        lexicon: Test pairs, query first.
        metric: Retrieval metric.

    Returns:
        A row per covered query: ``query``, its frequency ``rank`` from 1, the ``answer``, the
        ``position`` of the best gold word among all candidates from 1 (equal scores in the order
        of the vocabulary), ``identical``, whether a gold word is the query itself, and
        ``copied``, whether copying the query would be right, and ``stem``, whether the answer is
        a gold word or seems to be another form of one, see :func:`same_stem`.
    """
    rows = lexicon.rows(src, tgt)
    queries = np.unique(rows[:, 0])
    golds = [rows[rows[:, 0] == q, 1] for q in queries]
    positions, answers = [], []
    for part, scores in retriever.iter_scores(torch.from_numpy(queries), metric):
        for row, gold in zip(scores, golds[part], strict=True):
            positions.append(_position(row, torch.from_numpy(gold).to(row.device)))
            answers.append(tgt.words[int(row.argmax())])
    words = [src.words[q] for q in queries]
    return pd.DataFrame(
        {
            "query": words,
            "rank": queries + 1,
            "answer": answers,
            "position": positions,
            "identical": [word in lexicon.gold[word] for word in words],
            "copied": [word in lexicon.gold[word] and word in tgt.index for word in words],
            "stem": [
                any(same_stem(answer, gold) for gold in lexicon.gold[word])
                for word, answer in zip(words, answers, strict=True)
            ],
        }
    )


def same_stem(a: str, b: str) -> bool:
    """Guess from the spelling whether two words are forms of one: do they begin alike?

    They do if their common beginning has at least four letters and at least 60 % of the longer
    word; a word is always a form of itself. It is a heuristic and so an upper bound: it takes
    *nation* for a form of *national*, and knows nothing of prefixes or changing vowels.

    Example:
        >>> same_stem("программой", "программа"), same_stem("кот", "кота")
        (True, False)
    """
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    return a == b or (common >= STEM_LETTERS and common >= STEM_SHARE * max(len(a), len(b)))


def _position(scores: Tensor, gold: Tensor) -> int:
    """Find the position of the best gold word, from 1; equal scores in order of the vocabulary."""
    best = scores[gold].max()
    first = int(gold[scores[gold] == best].min())
    return 1 + int((scores > best).sum()) + int((scores[:first] == best).sum())


def figures(judged: pd.DataFrame, lexicon: Lexicon, seed: int = 0) -> dict:
    """Compute the figures of one direction under one metric, as shares between 0 and 1.

    Returns:
        ``p@1``, ``p@5``, ``p@10``, ``mrr``, ``queries`` (covered), ``coverage``, ``ci95`` of
        p@1 (bootstrap over queries), ``copy`` (p@1 of answering with the query itself),
        ``p@1_not_identical`` over the ``queries_not_identical`` whose gold is another string,
        ``stem_p@1``, where another form of a gold word counts too (:func:`same_stem`), and
        ``by_frequency``, the rows of :func:`by_frequency`.
    """
    position = judged["position"].to_numpy()
    other = judged[~judged["identical"]]
    return {
        **{f"p@{k}": float((position <= k).mean()) for k in (1, 5, 10)},
        "mrr": float((1 / position).mean()),
        "queries": len(judged),
        "coverage": len(judged) / len(lexicon.gold),
        "ci95": bootstrap(position <= 1, seed=seed),
        "copy": float(judged["copied"].mean()),
        "p@1_not_identical": float((other["position"] <= 1).mean()) if len(other) else None,
        "queries_not_identical": len(other),
        "stem_p@1": float(judged["stem"].mean()),
        "by_frequency": by_frequency(judged).to_dict(orient="records"),
    }


def check_pairs(pairs: Tensor, src: Embedding, tgt: Embedding, lexicon: Lexicon) -> tuple[int, int]:
    """Count how many pairs of an induced dictionary are right, and how many could be judged.

    Args:
        pairs: Row numbers, source first, ``(n, 2)``.
        src: The source words.
        tgt: The target words.
        lexicon: Test pairs, query first; only pairs of its covered queries are judged.
    """
    known = {(int(q), int(t)) for q, t in lexicon.rows(src, tgt)}
    covered = {query for query, _ in known}
    judged = [(q, t) for q, t in pairs.tolist() if q in covered]
    return sum(pair in known for pair in judged), len(judged)


def by_frequency(
    judged: pd.DataFrame, edges: tuple[int, ...] = (1000, 5000, 10_000)
) -> pd.DataFrame:
    """Compute P@1 by frequency rank of the query: a row per bin, with queries and interval."""
    bins = pd.cut(judged["rank"], [0, *edges, np.inf], right=True)
    out = []
    for ranks, group in judged.groupby(bins, observed=True):
        low, high = bootstrap(group["position"] <= 1)
        top = "" if np.isinf(ranks.right) else f"{ranks.right:,.0f}"
        out.append(
            {
                "ranks": f"{ranks.left + 1:,.0f}-{top}",
                "queries": len(group),
                "p@1": (group["position"] <= 1).mean(),
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(out)


def bootstrap(hits, seed: int = 0, resamples: int = RESAMPLES) -> list[float]:
    """Compute the 95 % interval of a share by resampling its queries.

    Args:
        hits: A boolean per query, (n,).

    Returns:
        The 2.5 and 97.5 percentiles. If all hits are alike, so that all resamples are, too,
        Wilson's interval: none right of 100 may still be 3.7 %.

    Note:
        Resampling n booleans with replacement is a binomial draw, so no (resamples, n)
        table is needed.
    """
    hits = np.asarray(hits, dtype=bool)
    if hits.all() or not hits.any():
        return list(interval(float(hits.mean()), len(hits)))
    rng = np.random.default_rng(seed)
    means = rng.binomial(len(hits), hits.mean(), size=resamples) / len(hits)
    return [float(q) for q in np.quantile(means, (0.025, 0.975))]


def paired_bootstrap(a: pd.DataFrame, b: pd.DataFrame, k: int = 1, seed: int = 0) -> dict:
    """Test whether one system is better than another on the same queries.

    Args:
        a: What :func:`judge` returned for one system.
        b: The same for another system, on the same lexicon.
        k: Compare precision at k.

    Returns:
        ``difference`` of p@k (a minus b), its ``ci95`` by resampling queries, and ``p`` of
        McNemar's exact test: of the queries that only one of the two answers rightly, each is
        like a coin's fall if neither is better, so p is the chance that at least as many as
        here fall to one side.
    """
    if list(a["query"]) != list(b["query"]):
        raise ValueError("paired_bootstrap: the two systems were judged on different queries")
    first, second = ((frame["position"] <= k).to_numpy() for frame in (a, b))
    return paired_gain(first, second, seed)


def paired_gain(a: np.ndarray, b: np.ndarray, seed: int = 0) -> dict:
    """Compare which of the same queries two systems answer rightly, ``(n,)`` bool each.

    Returns:
        As :func:`paired_bootstrap`, which says the same of two tables of queries.
    """
    gain = a.astype(int) - b.astype(int)
    n, wins, losses = len(gain), (gain > 0).sum(), (gain < 0).sum()
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(n, [wins / n, losses / n, 1 - (wins + losses) / n], size=PAIRED)
    means = (draws[:, 0] - draws[:, 1]) / n
    low, high = np.quantile(means, (0.025, 0.975))
    apart, fewer = int(wins + losses), int(min(wins, losses))
    p = 2 * sum(comb(apart, i) for i in range(fewer + 1)) / 2**apart
    return {"difference": float(gain.mean()), "ci95": [float(low), float(high)], "p": min(1.0, p)}


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for the number of comparisons (Holm's step-down method).

    The smallest of n is multiplied by n, the next by n - 1 and so on; none falls below one before
    it, none passes 1. Values that are not numbers are no comparisons and stay.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=float)
    order = [i for i in np.argsort(values) if not np.isnan(values[i])]
    out, least = values.copy(), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * values[i]))
        out[i] = least
    return [float(value) for value in out]
