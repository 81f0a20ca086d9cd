"""The settings of a run: one frozen :class:`Config`, and presets by pair."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from demalib.files import DataError

REGISTRY_PAIRS = ("en-fr", "en-ja", "en-ru", "fr-ja", "fr-ru", "ja-ru")
PAPER_PAIRS = tuple(
    f"en-{lang}"
    for lang in ["es", "de", "fr", "ru", "zh", "ja", "et", "fi", "el", "hu", "pl", "tr", "it", "fa"]
)


@dataclass(frozen=True)
class Config:
    """Everything that decides the outcome of a run.

    Attributes:
        pair: Source and target language, ``en-fr``.
        solver: How the map is found; see :data:`demalib.SOLVERS`.
        seed: Seeds sampling and initialisation.
        vectors: ``registry`` (wheels of the package registry) or ``muse`` (the paper's).
        max_vocab: Words kept per side; 0 keeps the preset of the language.
        exclude_test: Leave identical pairs of the test lexicon out of the hint.
        refinements: Rounds of Procrustes refinement; -1 is the solver's own default.
        dictionary: How refinement pairs words: s2t, t2s, union or mutual.
        max_rank: Only so many of the most frequent words take part in refinement.
        knn: Neighbours k of CSLS.
        sigma2: Variance of the Gaussian components (Eq. 4).
        tau: Temperature of the rank prior (Section 3.3).
    """

    pair: str = "en-fr"
    solver: str = "identical"
    seed: int = 0
    vectors: str = "registry"
    max_vocab: int = 0
    exclude_test: bool = False
    refinements: int = -1
    dictionary: str = "mutual"
    max_rank: int = 10_000
    knn: int = 10
    sigma2: float = 0.01
    tau: float = 2.0

    @property
    def langs(self) -> tuple[str, str]:
        """Source and target language."""
        src, _, tgt = self.pair.partition("-")
        return src, tgt

    def to_dict(self) -> dict[str, Any]:
        """All settings, for ``config.json``."""
        return asdict(self)


def preset(pair: str, **overrides: Any) -> Config:
    """The settings for a pair, known to the registry or to the paper; overrides win.

    Raises:
        DataError: The pair is unknown; the message lists the known ones.
    """
    backward = "-".join(reversed(pair.split("-")))
    if pair in REGISTRY_PAIRS or backward in REGISTRY_PAIRS:
        vectors = "registry"
    elif pair in PAPER_PAIRS or backward in PAPER_PAIRS:
        vectors = "muse"
    else:
        raise DataError(
            f"unknown pair {pair!r}; the package registry has vectors for "
            f"{', '.join(REGISTRY_PAIRS)}; MUSE for {', '.join(PAPER_PAIRS)}; "
            "both directions of each; for your own files use 'demalib align'"
        )
    return replace(Config(pair=pair, vectors=vectors), **overrides)
