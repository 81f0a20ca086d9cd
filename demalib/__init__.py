"""demalib: density matching for bilingual word embeddings (Zhou, Ma, Wang and Neubig, 2019).

In the order of the story: :func:`read_vectors` (a file) or :func:`load_vectors` (the package
registry) give an :class:`Embedding`; :func:`make_pair` normalises two of them and gathers hints;
:func:`align` learns a :class:`Mapping`, :func:`align_many` a :class:`Space` of more languages; :func:`translate` asks it for words;
:func:`save_alignment`, :func:`load_alignment` and :func:`export_alignment` keep it.
:func:`preset`, :func:`load_pair`, :func:`load_gold` and :func:`solve_and_judge` do the same for
pairs with known translations. The paper's own nouns are :class:`WordMixture` and
:class:`LinearFlow`; every other name is in the module it belongs to.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Threads of torch that wait sleep instead of spinning. On two idle cores EM takes a fifth longer,
# on two busy ones a tenth of the time. It has an effect if torch is imported later than this.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from demalib.alignment import load_alignment, save_alignment, translate
    from demalib.config import Config, preset
    from demalib.data.registry import load_vectors
    from demalib.data.store import read_vectors
    from demalib.embedding import Embedding
    from demalib.errors import DataError
    from demalib.evaluation.benchmark import load_gold, load_pair, solve_and_judge
    from demalib.export import export_alignment
    from demalib.flow import LinearFlow
    from demalib.many import Space, align_many
    from demalib.mixture import WordMixture
    from demalib.pair import Mapping, Pair, make_pair
    from demalib.solvers import SOLVERS, align

# Names are imported when they are first used, so that ``import demalib`` is quick and the core
# needs neither downloads nor file formats.
_HOME = {
    "read_vectors": "data.store",
    "load_vectors": "data.registry",
    "Embedding": "embedding",
    "make_pair": "pair",
    "Pair": "pair",
    "align": "solvers",
    "align_many": "many",
    "Space": "many",
    "SOLVERS": "solvers",
    "Mapping": "pair",
    "translate": "alignment",
    "save_alignment": "alignment",
    "load_alignment": "alignment",
    "export_alignment": "export",
    "preset": "config",
    "Config": "config",
    "load_pair": "evaluation.benchmark",
    "load_gold": "evaluation.benchmark",
    "solve_and_judge": "evaluation.benchmark",
    "WordMixture": "mixture",
    "LinearFlow": "flow",
    "DataError": "errors",
}
__all__ = [
    "SOLVERS",
    "Config",
    "DataError",
    "Embedding",
    "LinearFlow",
    "Mapping",
    "Pair",
    "Space",
    "WordMixture",
    "align",
    "align_many",
    "export_alignment",
    "load_alignment",
    "load_gold",
    "load_pair",
    "load_vectors",
    "make_pair",
    "preset",
    "read_vectors",
    "save_alignment",
    "solve_and_judge",
    "translate",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'demalib' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"demalib.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
