"""Every other system of the paper's tables: one function ``fit(pair, config) -> Mapping`` each."""

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
from demalib.rivals.shared import Rival

NN = Metric("nn")
ISF = Metric("isf", beta=msf.INVERSE_TEMPERATURE)
UNIT, UNIT_CENTER = ("unit",), ("unit", "center")

RIVALS: dict[str, Rival] = {
    # learned from a train lexicon
    # Table 1 calls its Procrustes row refined, but prints the figures without refinement.
    "procrustes": Rival(fit_procrustes, "train", "Conneau et al. 2018", "Procrustes (R)",
                        settings={"refinements": 0}),
    "procrustes-r": Rival(fit_procrustes, "train", "Conneau et al. 2018", "5k+Procrustes (R)",
                          settings={"refinements": 5}),
    "msf-isf": Rival(msf.fit, "train", "Artetxe et al. 2018a", "MSF-ISF", UNIT_CENTER, ISF),
    "msf": Rival(msf.fit, "train", "Artetxe et al. 2018a", "MSF", UNIT_CENTER),
    "rcsls": Rival(rcsls.fit, "train", "Joulin et al. 2018", "CSLS-Sp"),
    "rcsls-spectral": Rival(rcsls.fit_spectral, "train", "Joulin et al. 2018", ""),
    "geomm": Rival(geomm.fit, "train", "Jawanpuria et al. 2018", "GeoMM", UNIT_CENTER),
    "xing": Rival(xing.fit, "train", "Xing et al. 2015", "Xing et al.", UNIT, NN),
    "shigeto": Rival(shigeto.fit, "train", "Shigeto et al. 2015", "Shigeto et al.", (), NN),
    "artetxe16": Rival(artetxe16.fit, "train", "Artetxe et al. 2016", "Artetxe et al. (2016)",
                       UNIT_CENTER, NN),
    "artetxe17": Rival(artetxe17.fit, "train", "Artetxe et al. 2017", "Artetxe et al. (2017)",
                       UNIT_CENTER, NN),
    # learned without one: from words of the same spelling, or from nothing
    "id-procrustes": Rival(fit_identical, "identical", "Soegaard et al. 2018",
                           "id+Procrustes (R)"),
    "sl-unsup-id": Rival(selflearn.fit_identical, "identical", "Artetxe et al. 2018b",
                         "SL-unsup-ID"),
    "sl-unsup": Rival(selflearn.fit, "none", "Artetxe et al. 2018b", "SL-unsup"),
    "muse": Rival(muse.fit, "none", "Conneau et al. 2018", "MUSE (U+R)"),
    "sinkhorn": Rival(sinkhorn.fit, "none", "Xu et al. 2018", "Sinkhorn", metric=NN),
    "non-adv": Rival(nonadv.fit, "none", "Hoshen and Wolf 2018", "Non-Adv"),
    "non-adv-r": Rival(nonadv.fit, "none", "Hoshen and Wolf 2018", "Non-Adv (R)",
                       settings={"refinements": 5}),
    "ws-procrustes": Rival(wsprocrustes.fit, "none", "Grave et al. 2018", "WS-Procrustes (R)"),
}  # fmt: skip

__all__ = ["RIVALS", "Rival"]
