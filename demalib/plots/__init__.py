"""Figures: data frames in, Axes out, one style. Many share the name of the function of their data.

One import serves them all: ``from demalib import plots``. The modules:

- ``common``: the style and the parts that several figures share;
- ``fonts``: fonts for Japanese and Chinese;
- ``runs``: one run: its precision, history, refinement and hubs;
- ``tables``: the paper's tables beside ours, ablations, effects, rivals, systems without a hint;
- ``similarity``: cosines of word pairs, and what is left of a search;
- ``words``: words and their translations in the shared space;
- ``plane``: the toy world in the plane;
- ``bench``: the benchmarks.
"""

from demalib.plots.bench import growth, precision_over_time
from demalib.plots.common import Picture, save, style
from demalib.plots.plane import SRC, TGT, cloud, curves, landscapes, panels, snapshots
from demalib.plots.runs import by_frequency, history, hubness, precision, rounds
from demalib.plots.similarity import cosines, recall, separation
from demalib.plots.tables import ablations, beside_paper, effects, rivals, unhinted
from demalib.plots.words import around_and_clouds, joined_words, meeting

__all__ = [
    "SRC",
    "TGT",
    "Picture",
    "ablations",
    "around_and_clouds",
    "beside_paper",
    "by_frequency",
    "cloud",
    "cosines",
    "curves",
    "effects",
    "growth",
    "history",
    "hubness",
    "joined_words",
    "landscapes",
    "meeting",
    "panels",
    "precision",
    "precision_over_time",
    "recall",
    "rivals",
    "rounds",
    "save",
    "separation",
    "snapshots",
    "style",
    "unhinted",
]
