"""Benchmark pairs with gold lexicons: load, solve, judge both directions, record the figures."""

from __future__ import annotations

import time
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd
from torch import Tensor

from demalib.config import Config
from demalib.data.lexicon import load_lexicon
from demalib.data.own import find_own_vectors
from demalib.data.registry import REGISTRY, fetch_muse_vectors, fetch_wheels, load_vectors
from demalib.data.store import read_vectors
from demalib.embedding import Embedding, Policy
from demalib.errors import DataError
from demalib.evaluation.record import COSTS, peak_gb, reset_peak, run_record
from demalib.evaluation.translation import (
    bootstrap,
    check_pairs,
    figures,
    judge,
    paired_bootstrap,
)
from demalib.hints import Lexicon
from demalib.pair import Mapping, Pair, make_pair, retrievers
from demalib.procrustes import iter_refine
from demalib.retrieval import Metric, Retriever
from demalib.solvers import align, fit_gradient, get_metric, get_solver
from demalib.state import Checkpoint

VOCAB = {"ru": 50_000, "fi": 50_000}  # the registry has 250,000 and 700,000 words of them
PAPER_VOCAB = 200_000  # words per language in the paper
FEW_QUERIES, LOW_COVERAGE = 50, 0.2  # below these a figure comes with a caution

Judged = dict[str, dict[str, pd.DataFrame]]  # by direction and metric, a row per query


class Gold(NamedTuple):
    """Test lexicons of both directions, query word first in each."""

    forward: Lexicon
    backward: Lexicon


class Solved(NamedTuple):
    """The result of :func:`solve_and_judge`."""

    mapping: Mapping
    judged: Judged
    metrics: dict[str, Any]  # the content of metrics.json


class Known(NamedTuple):
    """The map of an earlier run, which needs no solving, and the ``metrics.json`` of that run."""

    mapping: Mapping
    metrics: dict[str, Any]


def load_embedding_of(lang: str, config: Config) -> Embedding:
    """Load the vectors of one language from the source that ``config.vectors`` names."""
    if config.vectors == "registry":
        policy = Policy(max_vocab=config.max_vocab or VOCAB.get(lang, 0))
        return load_vectors(source_name(lang, config), policy)
    if config.vectors == "muse":
        policy = Policy(max_vocab=config.max_vocab or PAPER_VOCAB)
        return read_vectors(fetch_muse_vectors(lang), policy, lang)
    if config.vectors == "own":
        return read_vectors(find_own_vectors(lang), Policy(max_vocab=config.max_vocab), lang)
    raise DataError(
        f"unknown vectors {config.vectors!r}; use 'registry' ({', '.join(REGISTRY)}), 'muse' or 'own'"
    )


def source_name(lang: str, config: Config) -> str:
    """Name the registry's source of a language; English has several."""
    return f"en-{config.english}" if lang == "en" and config.english else lang


def load_gold(config: Config) -> Gold:
    """Load the test lexicons of a pair, both directions."""
    return Gold(*_both_lexicons(config, "test"))


def _both_lexicons(config: Config, split: str) -> list[Lexicon]:
    directions = (config.langs, config.langs[::-1])
    return [load_lexicon(*langs, split, config.lexicons) for langs in directions]


def make_exclude(gold: Gold) -> Lexicon:
    """Join the test pairs of both directions, source word first: no hint may contain them."""
    return Lexicon(gold.forward.pairs + gold.backward.reverse().pairs, "test lexicons")


def load_pair(config: Config) -> Pair:
    """Load and normalise both sides of a pair, and gather the hints that its solver needs."""
    if config.vectors == "registry":
        fetch_wheels(source_name(lang, config) for lang in config.langs)  # both at once
    src, tgt = (load_embedding_of(lang, config) for lang in config.langs)
    exclude = None
    if config.exclude_test:
        exclude = make_exclude(load_gold(config))
    solver, train, back = get_solver(config.solver), None, None
    selects = solver.fit is fit_gradient and config.gradient.selection == "supervised"
    if solver.hint == "train" or selects:
        train, back = _both_lexicons(config, "train")
    return make_pair(src, tgt, train, back, exclude, solver.normalisation)


def evaluate(
    mapping: Mapping, pair: Pair, gold: Gold, config: Config, metrics: tuple[str, ...] = ()
) -> Judged:
    """Translate every test query in both directions and find its best gold translation.

    Args:
        mapping: The maps between the spaces.
        pair: The two spaces.
        gold: Test lexicons.
        config: k of CSLS; for CSLS-D the variance of the components that are searched, and tau.
        metrics: Names of the metrics; CSLS, CSLS-D, CSLS-S and the solver's own if left out.

    Returns:
        What :func:`demalib.evaluation.translation.judge` returns, by direction and metric.
    """
    own, judged = get_solver(config.solver).metric.name, {}
    metrics = metrics or tuple(dict.fromkeys(("csls", "csls-d", "csls-s", own)))
    both = zip(retrievers(mapping, pair, config.knn), gold, strict=True)
    for reverse, (retriever, lexicon) in enumerate(both):
        src, tgt = (pair.tgt, pair.src) if reverse else (pair.src, pair.tgt)
        judged[f"{src.lang}-{tgt.lang}"] = {
            name: judge(retriever, src, tgt, lexicon, get_metric(config, name, bool(reverse)))
            for name in metrics
        }
    return judged


def summarise(judged: Judged, gold: Gold) -> dict[str, dict[str, dict]]:
    """Compute :func:`~demalib.evaluation.translation.figures` by direction and metric."""
    return {
        direction: {name: figures(frame, lexicon) for name, frame in frames.items()}
        for (direction, frames), lexicon in zip(judged.items(), gold, strict=True)
    }


def summarise_untrained(judged: Judged, gold: Gold, trained: Lexicon) -> dict[str, dict]:
    """Compute the figures over queries whose word is not in the lexicon that was learned from.

    Args:
        judged: What :func:`evaluate` returned.
        gold: Test lexicons.
        trained: Pairs that the map was learned from, source word first.

    Returns:
        Figures as of :func:`summarise`, without a direction of which no query is left.
    """
    out = {}
    both = zip(judged.items(), gold, (trained, trained.reverse()), strict=True)
    for (direction, frames), lexicon, seen in both:
        rest = Lexicon([(q, t) for q, t in lexicon.pairs if q not in seen.gold])
        kept = {name: frame[~frame["query"].isin(seen.gold)] for name, frame in frames.items()}
        if len(next(iter(kept.values()))):
            out[direction] = {name: figures(frame, rest) for name, frame in kept.items()}
    return out


def cautions(results: dict[str, dict[str, dict]]) -> list[str]:
    """Say which figures are of too few queries to mean anything, a line each."""
    lines = []
    for direction, by_metric in results.items():
        r = next(iter(by_metric.values()))
        few = r["queries"] < FEW_QUERIES
        if few or r["coverage"] < LOW_COVERAGE:
            why = "too few to mean much" if few else "they may not be like the others"
            lines.append(
                f"{direction}: only {r['queries']:,} queries, {r['coverage']:.0%} of the lexicon's, "
                f"are in both vocabularies; {why}"
            )
    return lines


def solve_and_judge(
    pair: Pair,
    gold: Gold,
    config: Config,
    checkpoint: Checkpoint | None = None,
    known: Known | None = None,
) -> Solved:
    """Align a pair, judge both directions and record the figures: what every run does.

    Args:
        pair: The two spaces.
        gold: Test lexicons, used only to judge.
        config: Solver and settings.
        checkpoint: See :func:`demalib.align`.
        known: The map, if an earlier run has found it; its cost is recorded as it was then.
    """
    reset_peak()
    started, used = time.perf_counter(), time.process_time()
    mapping = known.mapping if known else align(pair, config, checkpoint=checkpoint)
    seconds, used, peak = time.perf_counter() - started, time.process_time() - used, peak_gb()
    judged = evaluate(mapping, pair, gold, config)
    metrics = run_record(config, pair, gold, summarise(judged, gold), mapping, seconds, peak)
    metrics["cpu_seconds"] = round(used, 2)  # of all threads; other work does not slow it down
    if known:
        metrics |= {name: known.metrics[name] for name in ("cpu_seconds", *COSTS)}
    return Solved(mapping, judged, metrics)


def follow_refinement(
    pair: Pair, W: Tensor, config: Config, rounds: int, lexicon: Lexicon
) -> pd.DataFrame:
    """Refine a map and judge it after every round, source to target under CSLS.

    Args:
        pair: The two spaces.
        W: The map to start from, ``(d, d)``.
        config: Mode, rank cut-off and k of the dictionaries.
        rounds: Number of rounds; round 0 is the start, which has no dictionary.
        lexicon: Test pairs, used only to judge.

    Returns:
        A row per round: ``p@1`` with ``low`` and ``high``, and that of the ``copy`` baseline; its
        ``gain`` over the start with ``gain_low`` and ``gain_high`` (paired bootstrap); the number
        of ``pairs`` in the dictionary, their mean ``cosine`` under the new map, how many of them
        could be ``judged``, and how many of those are ``right``.
    """
    rows: list[dict[str, Any]] = []
    start, W = None, W.to(pair.x)
    refined = iter_refine(pair.x, pair.y, W, rounds, **config.refinement)
    for W, found in chain([(W, None)], refined):  # noqa: B020
        retriever = Retriever(pair.x @ W, pair.y, config.knn)
        frame = judge(retriever, pair.src, pair.tgt, lexicon, Metric())
        start = frame if start is None else start
        gain = paired_bootstrap(frame, start)
        row = {"round": len(rows), "p@1": (frame["position"] <= 1).mean()}
        row["copy"] = frame["copied"].mean()
        row["low"], row["high"] = bootstrap(frame["position"] <= 1)
        row["gain"], (row["gain_low"], row["gain_high"]) = gain["difference"], gain["ci95"]
        if found is not None:
            row["right"], row["judged"] = check_pairs(found, pair.src, pair.tgt, lexicon)
            row["pairs"], (i, j) = len(found), found.T
            row["cosine"] = float((retriever.mapped[i] * retriever.targets[j]).sum(dim=1).mean())
        rows.append(row)
    return pd.DataFrame(rows)


def results_table(results: dict[str, dict[str, dict]]) -> pd.DataFrame:
    """Format the figures of ``metrics.json`` as a table, in percent."""
    rows = []
    for direction, by_metric in results.items():
        for metric, r in by_metric.items():
            low, high = (100 * v for v in r["ci95"])
            rows.append(
                {
                    "direction": direction,
                    "metric": metric,
                    "P@1": 100 * r["p@1"],
                    "95 % interval": f"{low:.1f} - {high:.1f}",
                    "P@5": 100 * r["p@5"],
                    "P@10": 100 * r["p@10"],
                    "MRR": 100 * r["mrr"],
                    "copy P@1": 100 * r["copy"],
                    "queries": r["queries"],
                    "coverage": f"{r['coverage']:.0%}",
                }
            )
    return pd.DataFrame(rows).round(1)
