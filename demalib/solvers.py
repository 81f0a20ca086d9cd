"""Every solver by name, ours and all other systems of the paper's tables; :func:`align`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from demalib import aligner, gradient
from demalib.baselines import (
    artetxe16,
    artetxe17,
    c1,
    geomm,
    msf,
    muse,
    nonadv,
    procrustes,
    rcsls,
    selflearn,
    shigeto,
    sinkhorn,
    vecmap,
    wsprocrustes,
    xing,
)
from demalib.baselines.shared import Sizes
from demalib.config import Config
from demalib.device import make_generator
from demalib.errors import DataError
from demalib.flow import Watch
from demalib.mixture import WordMixture
from demalib.normalisation import NORMALISATION
from demalib.pair import Mapping, Pair
from demalib.plugins import find_plugin
from demalib.procrustes import dictionary_cosine
from demalib.retrieval import Metric, Retriever
from demalib.state import Checkpoint, Score

AGREEMENT = "after Zhou et al. 2019; weights by agreement, Liang et al. 2006"
NN = Metric("nn")
ISF = Metric("isf", beta=msf.INVERSE_TEMPERATURE)
UNIT, UNIT_CENTER = ("unit",), ("unit", "center")


@dataclass(frozen=True)
class Solver:
    """A solver: its function, its hint, and the normalisation and retrieval of its own paper.

    Attributes:
        fit: The function that learns the map.
        hint: What it learns from: ``none``, ``identical`` words or a ``train`` lexicon.
        paper: Who described it.
        row: Its name in Tables 1 to 3 of the paper; empty if it has none.
        normalisation: Steps of the vectors' normalisation, for :func:`demalib.make_pair`.
        metric: The retrieval of its row.
        watchable: Whether ``fit`` takes a ``watch``, which sees the map of every round.
        resumes: Whether ``fit`` takes a ``checkpoint`` to go on from.
        seeded: Whether the seed matters to it.
        sizes: How much work each recipe does, where a laptop cannot do what its paper does.
    """

    fit: Callable[..., Mapping]
    hint: str
    paper: str
    row: str = ""
    normalisation: tuple[str, ...] = NORMALISATION
    metric: Metric = Metric("csls")
    watchable: bool = False
    resumes: bool = False
    seeded: bool = False
    sizes: Sizes | None = None


def fit_gradient(
    pair: Pair,
    config: Config,
    start: Mapping | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
) -> Mapping:
    """Match densities by the paper's loop; see :func:`demalib.gradient.fit_gradient`."""
    src, tgt = mixtures(pair, config)
    given = (start.W_xy.to(pair.x), start.W_yx.to(pair.x)) if start else None
    maps = gradient.fit_gradient(
        src,
        tgt,
        *pair.hint(config),
        config.gradient,
        generator=make_generator(config.seed, pair.x.device),
        ablate=config.ablate,
        start=given,
        score=_selection(pair, config),
        watch=watch,
        checkpoint=checkpoint,
        signature=_signature(pair, config, given),
    )
    return Mapping.of_maps(maps, pair, config)


def mixtures(pair: Pair, config: Config) -> tuple[WordMixture, WordMixture]:
    """Make the two mixtures that the gradient loop samples from and scores with (Eqs. 3-5)."""
    made = []
    for embedding, words, sigma2, noise in (
        (pair.src, pair.x, config.sigma2_src, config.gradient.noise_src),
        (pair.tgt, pair.y, config.sigma2_tgt, config.gradient.noise_tgt),
    ):
        counts = None if embedding.counts is None else torch.from_numpy(np.array(embedding.counts))
        centers = words[: config.gradient.components]
        made.append(WordMixture(centers, sigma2, counts, noise=noise, tau=config.tau))
    return made[0], made[1]


def _selection(pair: Pair, config: Config) -> Score | None:
    """Choose what picks the best validation of the loop (Section 5.2)."""
    if config.gradient.selection == "last":
        return None
    if config.gradient.selection == "unsupervised":
        return lambda W_xy, W_yx: (
            dictionary_cosine(pair.x @ W_xy, pair.y, config.max_rank, config.knn),
            dictionary_cosine(pair.y @ W_yx, pair.x, config.max_rank, config.knn),
        )
    if pair.train is None or pair.train_back is None:
        raise DataError(
            "selection 'supervised' needs a train lexicon; use 'unsupervised' or 'last'"
        )
    forward, backward = pair.train, pair.train_back
    return lambda W_xy, W_yx: (
        _train_precision(Retriever(pair.x @ W_xy, pair.y, config.knn), forward),
        _train_precision(Retriever(pair.y @ W_yx, pair.x, config.knn), backward),
    )


def _train_precision(retriever: Retriever, train: np.ndarray) -> float:
    """Compute P@1 under CSLS on 1,000 held-out queries of a train lexicon (Section 5.2)."""
    queries = torch.from_numpy(np.unique(train[:, 0]))
    queries = queries[torch.randperm(len(queries), generator=make_generator(0, queries.device))]
    queries = queries[:1000]
    _, best = retriever.translate(queries, Metric("csls"), 1)
    gold = {tuple(row) for row in train.tolist()}
    answers = zip(queries.tolist(), best[:, 0].tolist(), strict=True)
    return sum(answer in gold for answer in answers) / len(queries)


def _signature(pair: Pair, config: Config, given: tuple[Tensor, ...] | None) -> str:
    """Sum up what must agree for a checkpoint to be of the same run."""
    facts = [config.to_dict(), len(pair.src), len(pair.tgt), len(pair.identical)]
    facts += [float(side.sum(dtype=torch.float64)) for side in (pair.x, pair.y, *(given or ()))]
    return json.dumps(facts, sort_keys=True)


SOLVERS: dict[str, Solver] = {
    # density matching
    # em is not the paper's own system: it weighs pairs by the agreement of both directions
    "em": Solver(aligner.fit, "identical", AGREEMENT, "CSLS (w/o R)", watchable=True),
    "em+lexicon": Solver(aligner.fit_with_lexicon, "train", AGREEMENT, watchable=True),
    "gradient": Solver(fit_gradient, "identical", "Zhou et al. 2019", "CSLS (w/o R)",
                       watchable=True, resumes=True, seeded=True),
    # learned from words of the same spelling, or from nothing
    "identical": Solver(procrustes.fit_identical, "identical", "Søgaard et al. 2018",
                        "id+Procrustes (R)"),
    "sl-unsup-id": Solver(selflearn.fit_identical, "identical", "Artetxe et al. 2018b",
                          "SL-unsup-ID", sizes=selflearn.SIZES, seeded=True),
    # the row SL-unsup-ID under the name of its program, VecMap's --identical
    "vecmap-identical": Solver(selflearn.fit_identical, "identical", "Artetxe et al. 2018b",
                               sizes=selflearn.SIZES, seeded=True),
    "sl-unsup": Solver(selflearn.fit, "none", "Artetxe et al. 2018b", "SL-unsup",
                       sizes=selflearn.SIZES, seeded=True),
    "muse": Solver(muse.fit, "none", "Conneau et al. 2018", "MUSE (U+R)",
                   sizes=muse.SIZES, seeded=True),
    "sinkhorn": Solver(sinkhorn.fit, "none", "Xu et al. 2018", "Sinkhorn", metric=NN,
                       sizes=sinkhorn.SIZES, seeded=True),
    "non-adv": Solver(nonadv.fit, "none", "Hoshen and Wolf 2018", "Non-Adv",
                      sizes=nonadv.SIZES, seeded=True),
    "non-adv-r": Solver(partial(nonadv.fit, rounds=5), "none", "Hoshen and Wolf 2018",
                        "Non-Adv (R)", sizes=nonadv.SIZES, seeded=True),
    "ws-procrustes": Solver(wsprocrustes.fit, "none", "Grave et al. 2018", "WS-Procrustes (R)",
                            sizes=wsprocrustes.SIZES, seeded=True),
    # learned from a train lexicon
    # Table 1 calls its Procrustes row refined, but prints the figures without refinement.
    "procrustes": Solver(procrustes.fit, "train", "Conneau et al. 2018", "Procrustes (R)"),
    "procrustes-r": Solver(partial(procrustes.fit, rounds=5), "train", "Conneau et al. 2018",
                           "5k+Procrustes (R)"),
    "msf-isf": Solver(msf.fit, "train", "Artetxe et al. 2018a", "MSF-ISF", UNIT_CENTER, ISF),
    "msf": Solver(msf.fit, "train", "Artetxe et al. 2018a", "MSF", UNIT_CENTER),
    "rcsls": Solver(rcsls.fit, "train", "Joulin et al. 2018", "CSLS-Sp", seeded=True),
    "geomm": Solver(geomm.fit, "train", "Jawanpuria et al. 2019", "GeoMM", UNIT_CENTER,
                    seeded=True),
    "vecmap": Solver(vecmap.fit, "train", "Artetxe et al. 2018a, 2018b"),
    "vecmap-semi": Solver(vecmap.fit_semi, "train", "Artetxe et al. 2018b",
                          sizes=selflearn.SIZES, seeded=True),
    "c1": Solver(c1.fit, "train", "Li et al. 2022", sizes=c1.SIZES),
    "xing": Solver(xing.fit, "train", "Xing et al. 2015", "Xing et al.", UNIT, NN),
    "shigeto": Solver(shigeto.fit, "train", "Shigeto et al. 2015", "Shigeto et al.", (), NN),
    "artetxe16": Solver(artetxe16.fit, "train", "Artetxe et al. 2016", "Artetxe et al. (2016)",
                        UNIT_CENTER, NN),
    "artetxe17": Solver(artetxe17.fit, "train", "Artetxe et al. 2017", "Artetxe et al. (2017)",
                        UNIT_CENTER, NN),
}  # fmt: skip


TABLED = tuple(name for name, solver in SOLVERS.items() if solver.row)  # systems of the tables


def get_solver(name: str) -> Solver:
    """Look up a solver by name; the error lists the valid names.

    One's own is ``module:function``, or the name of an entry point of the group
    ``demalib.solvers``: a function ``fit(pair, config) -> Mapping``, or a :class:`Solver`. A plain
    function is given a train lexicon, unless its attribute ``hint`` says ``identical`` or ``none``.
    """
    if name in SOLVERS:
        return SOLVERS[name]
    found = find_plugin("demalib.solvers", name)
    if found is None:
        raise DataError(
            f"unknown solver {name!r}; use one of {', '.join(SOLVERS)}, or module:function"
        )
    if isinstance(found, Solver):
        return found
    return Solver(found, getattr(found, "hint", "train"), "your own", seeded=True)


def get_metric(config: Config, name: str, reverse: bool = False) -> Metric:
    """Make a retrieval metric with the constants of a config, for one direction."""
    sigma2 = config.sigma2_src if reverse else config.sigma2_tgt  # of the words searched
    return Metric(name, get_solver(config.solver).metric.beta, sigma2, config.tau)


def seed_matters(config: Config) -> bool:
    """Say whether another seed would give another map; EM is random only without its hint."""
    return get_solver(config.solver).seeded or config.ablate == "identical"


def align(
    pair: Pair,
    config: Config | None = None,
    *,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
) -> Mapping:
    """Learn the map with the solver that ``config`` names; same seed, same map.

    Args:
        pair: What :func:`demalib.make_pair` or :func:`demalib.load_pair` made.
        config: Solver, seed and settings; the usual ones for vectors of one's own if left out.
        watch: Called with every round's number, W_xy and W_yx by solvers that can be watched.
        checkpoint: Where a solver that can run for hours goes on if it was stopped; others
            start anew.

    Raises:
        DataError: The solver lacks a hint, or a setting makes no sense for it.

    Example:
        >>> from demalib import Embedding, make_pair, translate
        >>> x = np.random.default_rng(0).standard_normal((60, 3)).astype("float32")
        >>> words = [f"w{i}" for i in range(60)]
        >>> turn = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]], dtype="float32")
        >>> pair = make_pair(Embedding(words, x, "aa"), Embedding(words, x @ turn, "bb"))
        >>> mapping = align(pair)
        >>> translate(mapping, pair, "w7", k=1)["translation"].item()
        'w7'
        >>> mapping.transform(x[:2]).shape
        (2, 3)
    """
    config = config or Config(f"{pair.src.lang}-{pair.tgt.lang}", vectors="files")
    solver = get_solver(config.solver)
    options: dict[str, Any] = {}
    if solver.watchable:
        options["watch"] = watch
    if solver.resumes:
        options["checkpoint"] = checkpoint
    try:
        return solver.fit(pair, config, **options)
    except DataError:
        raise
    except ValueError as error:  # the core rejected a setting or a hint
        raise DataError(str(error)) from error
