"""An orthogonal map between centred, normalised embeddings (Artetxe et al. 2016).

It assumes that two random words should have cosine zero, hence the centring, and that distances
within a language must not change, hence the orthogonality.
"""

from __future__ import annotations

from demalib.baselines.shared import Projections, fit_both_directions, train_vectors
from demalib.config import Config
from demalib.pair import Mapping, Pair
from demalib.procrustes import procrustes


def fit(pair: Pair, config: Config) -> Mapping:
    """Solve Procrustes on the lexicon of each direction (Artetxe et al. 2016, Sections 2.1 to 2.3).

    Defaults: normalisation unit, center (Sections 2.2, 2.3), set in :data:`demalib.SOLVERS`; all
    pairs of the lexicon; retrieval by cosine (released code).

    Args:
        pair: Two spaces with a train lexicon.
        config: Only recorded; nothing is random.

    Note:
        On the same vectors this is the map of :mod:`demalib.baselines.xing`; the two systems
        differ only in the normalisation.
    """

    def fit_one(side: Pair) -> Projections:
        return procrustes(*train_vectors(side, "artetxe16")), None

    return fit_both_directions(pair, config, fit_one)
