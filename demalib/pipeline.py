"""The one way data flows: load a pair, run a solver, judge both directions."""

from __future__ import annotations

import platform
import time
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from demalib.config import Config
from demalib.device import on_device
from demalib.evaluate import bootstrap, check_pairs, judge, paired_bootstrap, summarise
from demalib.files import DataError
from demalib.lexicon import Lexicon, load_lexicon
from demalib.mapping import Mapping, Pair, candidates, make_pair
from demalib.refine import iter_refine
from demalib.retrieval import Metric, Retriever
from demalib.solvers import solver_named
from demalib.sources import REGISTRY, fetch_muse_vectors, load_vectors
from demalib.store import read_vectors
from demalib.vectors import Embedding, Policy

VOCAB = {"ru": 50_000}  # the registry's Russian has 250,000 words; the paper's sides 200,000
PAPER_VOCAB = 200_000


class Gold(NamedTuple):
    """Test lexicons of both directions, query word first in each."""

    forward: Lexicon
    backward: Lexicon


def load_embedding_of(lang: str, config: Config) -> Embedding:
    """The vectors of one language by the config: from the registry, or the paper's."""
    if config.vectors == "registry":
        return load_vectors(lang, Policy(max_vocab=config.max_vocab or VOCAB.get(lang, 0)))
    if config.vectors == "muse":
        policy = Policy(max_vocab=config.max_vocab or PAPER_VOCAB)
        return read_vectors(fetch_muse_vectors(lang), policy, lang)
    raise DataError(
        f"unknown vectors {config.vectors!r}; use 'registry' ({', '.join(REGISTRY)}) or 'muse'"
    )


def load_gold(config: Config) -> Gold:
    """The test lexicons of a pair, both directions."""
    return Gold(*_both_lexicons(config, "test"))


def _both_lexicons(config: Config, split: str) -> list[Lexicon]:
    ways = (config.langs, config.langs[::-1])
    return [load_lexicon(*langs, split, config.lexicons) for langs in ways]


def load_pair(config: Config) -> Pair:
    """Load and normalise both sides of a pair and gather its hints: which, ``config`` says."""
    src, tgt = (load_embedding_of(lang, config) for lang in config.langs)
    exclude = None
    if config.exclude_test:
        gold = load_gold(config)
        exclude = Lexicon(gold.forward.pairs + gold.backward.pairs, "test lexicons")
    solver, train, back = solver_named(config.solver), None, None
    if solver.hint == "train" or config.selection == "supervised":
        train, back = _both_lexicons(config, "train")
    return make_pair(src, tgt, train, back, exclude, solver.steps)


@on_device
def align(
    pair: Pair, config: Config | None = None, checkpoint: str | Path | None = None
) -> Mapping:
    """Learn the map with the solver that ``config`` names; same seed, same map.

    Args:
        pair: What :func:`load_pair` or :func:`demalib.make_pair` made.
        config: Solver, seed and settings; the usual ones for vectors of one's own if left out.
        checkpoint: A file from which a solver that can run for hours goes on where it was
            stopped; others start anew.
    """
    config = config or Config(f"{pair.src.lang}-{pair.tgt.lang}", vectors="files")
    solver = solver_named(config.solver)
    return solver.fit(pair, config, **({"checkpoint": checkpoint} if solver.resumes else {}))


def retrievers(mapping: Mapping, pair: Pair, knn: int = 10) -> tuple[Retriever, Retriever]:
    """Both directions of translation, forward and backward."""
    return (
        Retriever(pair.x @ mapping.W_xy.to(pair.x), candidates(pair.y, mapping.C_y), knn),
        Retriever(pair.y @ mapping.W_yx.to(pair.y), candidates(pair.x, mapping.C_x), knn),
    )


@on_device
def judge_both(
    ways: tuple[Retriever, Retriever],
    pair: Pair,
    gold: Gold,
    config: Config,
    metrics: tuple[str, ...] = (),
) -> dict[str, dict[str, pd.DataFrame]]:
    """What :func:`demalib.evaluate.judge` says of every query, by direction and metric.

    Args:
        ways: What :func:`retrievers` made.
        pair: The two spaces.
        gold: Test lexicons.
        config: Constants of CSLS-D: the variance of the components that are searched, and tau.
        metrics: Names of the metrics; CSLS, CSLS-D and the solver's own if left out.
    """
    own, judged = solver_named(config.solver).metric, {}
    metrics = metrics or tuple(dict.fromkeys(("csls", "csls-d", own.name)))
    sides = ((pair.src, pair.tgt, config.sigma2_tgt), (pair.tgt, pair.src, config.sigma2_src))
    for way, (src, tgt, sigma2), lexicon in zip(ways, sides, gold, strict=True):
        judged[f"{src.lang}-{tgt.lang}"] = {
            name: judge(way, src, tgt, lexicon, Metric(name, own.beta, sigma2, config.tau))
            for name in metrics
        }
    return judged


def measure(judged: dict[str, dict[str, pd.DataFrame]], gold: Gold) -> dict[str, dict[str, dict]]:
    """Figures by direction and metric, see :func:`demalib.evaluate.summarise`."""
    return {
        direction: {name: summarise(frame, lexicon) for name, frame in frames.items()}
        for (direction, frames), lexicon in zip(judged.items(), gold, strict=True)
    }


def follow_refinement(
    pair: Pair, W: Tensor, config: Config, rounds: int, lexicon: Lexicon
) -> pd.DataFrame:
    """Refine a map and judge it after every round, source to target under CSLS; a report only.

    Args:
        pair: The two spaces.
        W: The map to start from, ``(d, d)``.
        config: Mode, rank cut-off and k of the dictionaries.
        rounds: How many; round 0 is the start, which has no dictionary.
        lexicon: Test pairs; nothing is chosen by them.

    Returns:
        A row per round: ``p@1`` with ``low`` and ``high``, and that of the ``copy`` baseline; its
        ``gain`` over the start with ``gain_low`` and ``gain_high`` (paired bootstrap); the ``pairs`` of the dictionary, their
        mean ``cosine`` under the new map, how many could be ``judged`` and are ``right``.
    """
    rows, start = [], None
    for W, found in chain([(W, None)], iter_refine(pair, W, config, rounds)):  # noqa: B020
        way = Retriever(pair.x @ W, pair.y, config.knn)
        frame = judge(way, pair.src, pair.tgt, lexicon, Metric())
        start = frame if start is None else start
        gain = paired_bootstrap(frame, start)
        row = {"round": len(rows), "p@1": (frame["position"] <= 1).mean()}
        row["copy"] = frame["copied"].mean()
        row["low"], row["high"] = bootstrap(frame["position"] <= 1)
        row["gain"], (row["gain_low"], row["gain_high"]) = gain["difference"], gain["ci95"]
        if found is not None:
            row["right"], row["judged"] = check_pairs(found, pair.src, pair.tgt, lexicon)
            row["pairs"], (i, j) = len(found), found.T
            row["cosine"] = float((way.mapped[i] * way.targets[j]).sum(dim=1).mean())
        rows.append(row)
    return pd.DataFrame(rows)


def record(config: Config, pair: Pair, gold: Gold, results: dict, seconds: float) -> dict:
    """The content of ``metrics.json``: figures, and what a reader needs to trust them."""
    return {
        "pair": config.pair,
        "name": config.name,
        "solver": config.solver,
        "seed": config.seed,
        "seconds": round(seconds, 2),
        "results": results,
        "ablate": config.ablate,
        "vectors": config.vectors,
        "words": {e.lang: len(e) for e in (pair.src, pair.tgt)},
        "identical_words": len(pair.identical),
        "lexicons": {d: lexicon.name for d, lexicon in zip(results, gold, strict=True)},
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def results_table(results: dict[str, dict[str, dict]]) -> pd.DataFrame:
    """Figures of ``metrics.json`` as a table for people, in percent."""
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
