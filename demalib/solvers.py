"""Every way to find a map, by name: ours, and every other system of the paper's tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from demalib.config import Config
from demalib.em import fit_em
from demalib.files import DataError
from demalib.mapping import Mapping, Pair
from demalib.refine import fit_identical, fit_procrustes
from demalib.retrieval import Metric
from demalib.rivals import (
    artetxe16,
    artetxe17,
    geomm,
    msf,
    muse,
    nonadv,
    rcsls,
    selflearn,
    shigeto,
    sinkhorn,
    wsprocrustes,
    xing,
)
from demalib.train import fit_gradient
from demalib.vectors import NORMALISATION

POLISH = {"steps": 200, "rate": 1e-3, "schedule": "one-cycle"}  # after EM, gentle steps
NN = Metric("nn")
ISF = Metric("isf", beta=msf.INVERSE_TEMPERATURE)
UNIT, UNIT_CENTER = ("unit",), ("unit", "center")


@dataclass(frozen=True)
class Solver:
    """A way to find a map, and what its own paper asks for around it.

    Attributes:
        fit: The function that learns the map.
        hint: What it learns from: ``none``, ``identical`` words or a ``train`` lexicon.
        paper: Who described it.
        row: Its name in Tables 1 to 3 of the paper; empty if it has none.
        steps: Normalisation of the vectors, for :func:`demalib.make_pair`.
        metric: The retrieval of its row.
        resumes: Whether ``fit`` takes a ``checkpoint`` to go on from.
        seeded: Whether the seed matters to it.
        size: How much work the ``laptop`` recipe does, where that is less than its paper does.
    """

    fit: Callable[..., Mapping]
    hint: str
    paper: str
    row: str = ""
    steps: tuple[str, ...] = NORMALISATION
    metric: Metric = Metric("csls")
    resumes: bool = False
    seeded: bool = False
    size: NamedTuple | None = None


def fit_em_gradient(pair: Pair, config: Config) -> Mapping:
    """EM, then a short polish with the paper's full loss, free of the orthogonality constraint."""
    start = fit_em(pair, config)
    return fit_gradient(pair, replace(config, **POLISH), start)


SOLVERS: dict[str, Solver] = {
    # density matching
    "em": Solver(fit_em, "identical", "Zhou et al. 2019", "CSLS (w/o R)"),
    "em+gradient": Solver(fit_em_gradient, "identical", "Zhou et al. 2019", seeded=True),
    "gradient": Solver(fit_gradient, "identical", "Zhou et al. 2019", "CSLS (w/o R)",
                       resumes=True, seeded=True),
    # learned from words of the same spelling, or from nothing
    "identical": Solver(fit_identical, "identical", "Søgaard et al. 2018", "id+Procrustes (R)"),
    "sl-unsup-id": Solver(selflearn.fit_identical, "identical", "Artetxe et al. 2018b",
                          "SL-unsup-ID", size=selflearn.LAPTOP, seeded=True),
    "sl-unsup": Solver(selflearn.fit, "none", "Artetxe et al. 2018b", "SL-unsup",
                       size=selflearn.LAPTOP, seeded=True),
    "muse": Solver(muse.fit, "none", "Conneau et al. 2018", "MUSE (U+R)",
                   size=muse.LAPTOP, seeded=True),
    "sinkhorn": Solver(sinkhorn.fit, "none", "Xu et al. 2018", "Sinkhorn", metric=NN,
                       size=sinkhorn.LAPTOP, seeded=True),
    "non-adv": Solver(nonadv.fit, "none", "Hoshen and Wolf 2018", "Non-Adv",
                      size=nonadv.LAPTOP, seeded=True),
    "non-adv-r": Solver(partial(nonadv.fit, rounds=5), "none", "Hoshen and Wolf 2018",
                        "Non-Adv (R)", size=nonadv.LAPTOP, seeded=True),
    "ws-procrustes": Solver(wsprocrustes.fit, "none", "Grave et al. 2018", "WS-Procrustes (R)",
                            size=wsprocrustes.LAPTOP, seeded=True),
    # learned from a train lexicon
    # Table 1 calls its Procrustes row refined, but prints the figures without refinement.
    "procrustes": Solver(fit_procrustes, "train", "Conneau et al. 2018", "Procrustes (R)"),
    "procrustes-r": Solver(partial(fit_procrustes, rounds=5), "train", "Conneau et al. 2018",
                           "5k+Procrustes (R)"),
    "msf-isf": Solver(msf.fit, "train", "Artetxe et al. 2018a", "MSF-ISF", UNIT_CENTER, ISF),
    "msf": Solver(msf.fit, "train", "Artetxe et al. 2018a", "MSF", UNIT_CENTER),
    "rcsls": Solver(rcsls.fit, "train", "Joulin et al. 2018", "CSLS-Sp", seeded=True),
    "geomm": Solver(geomm.fit, "train", "Jawanpuria et al. 2019", "GeoMM", UNIT_CENTER,
                    seeded=True),
    "xing": Solver(xing.fit, "train", "Xing et al. 2015", "Xing et al.", UNIT, NN),
    "shigeto": Solver(shigeto.fit, "train", "Shigeto et al. 2015", "Shigeto et al.", (), NN),
    "artetxe16": Solver(artetxe16.fit, "train", "Artetxe et al. 2016", "Artetxe et al. (2016)",
                        UNIT_CENTER, NN),
    "artetxe17": Solver(artetxe17.fit, "train", "Artetxe et al. 2017", "Artetxe et al. (2017)",
                        UNIT_CENTER, NN),
}  # fmt: skip


TABLED = tuple(name for name, solver in SOLVERS.items() if solver.row)  # systems of the tables


def solver_named(name: str) -> Solver:
    """The solver of a name; an unknown one is told, with all there are."""
    if name not in SOLVERS:
        raise DataError(f"unknown solver {name!r}; use one of {', '.join(SOLVERS)}")
    return SOLVERS[name]


def seed_matters(config: Config) -> bool:
    """Whether another seed would give another map; EM needs chance only without its hint."""
    return solver_named(config.solver).seeded or config.ablate == "identical"
