"""demalib: density matching for bilingual word embeddings (Zhou, Ma, Wang and Neubig, 2019).

In reading order: vectors of two languages come from :func:`load_vectors` or
:func:`read_vectors`; :func:`make_pair` (or :func:`load_pair` for a known pair) normalises them
and gathers hints; :func:`align` learns a :class:`Mapping`; :func:`translate` asks it for words,
:class:`Retriever` for scores; :func:`measure` judges; :func:`save_aligned` and
:func:`export_aligned` keep it.
"""

from demalib.aligned import load_aligned, save_aligned, translate
from demalib.config import Config, preset
from demalib.export import export_aligned
from demalib.files import DataError
from demalib.lexicon import Lexicon, load_lexicon, read_lexicon
from demalib.mapping import Mapping, Pair, make_pair
from demalib.pipeline import (
    Gold,
    align,
    judge_both,
    load_gold,
    load_pair,
    measure,
    record,
    results_table,
    retrievers,
)
from demalib.retrieval import Metric, Retriever
from demalib.solvers import SOLVERS, Solver
from demalib.sources import load_vectors
from demalib.store import load_embedding, read_vectors, save_embedding
from demalib.vectors import Embedding, Policy

__version__ = "0.1.0"
__all__ = [
    "SOLVERS", "Config", "DataError", "Embedding", "Gold", "Lexicon", "Mapping", "Metric",
    "Pair", "Policy", "Retriever", "Solver", "align", "export_aligned", "judge_both",
    "load_aligned", "load_embedding", "load_gold", "load_lexicon", "load_pair", "load_vectors",
    "make_pair", "measure", "preset", "read_lexicon", "read_vectors", "record", "results_table",
    "retrievers", "save_aligned", "save_embedding", "translate",
]  # fmt: skip
