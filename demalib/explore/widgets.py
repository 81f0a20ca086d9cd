"""An aligned pair that one can walk through: widgets over :mod:`demalib.explore.words`.

The only module that needs ipywidgets. It computes nothing itself: every table and figure is a
function of ``lookup`` or ``plots`` that also works without widgets.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from html import escape

import ipywidgets as widgets
import pandas as pd

from demalib import plots
from demalib.config import REGISTRY_PAIRS, Config, preset
from demalib.errors import DataError
from demalib.evaluation.benchmark import load_pair
from demalib.explore.words import (
    SHOWN,
    Direction,
    around,
    clouds,
    hubs,
    neighbours,
    trace,
    translations,
)
from demalib.plots import fonts
from demalib.solvers import SOLVERS

COMPLETIONS = 5000  # most frequent words that are offered while one types
TRANSLATIONS, HUBS = 5, 8
FEW = 50  # identical words that are hardly a hint
MENDABLE = (DataError, OSError, RuntimeError, ValueError)  # what a solver may fail with


class Row:
    """A word to click on, and a line or two about it."""

    def __init__(self, go: Callable[[str], None]):
        wide = widgets.Layout(width="9.5em", flex="0 0 auto")
        self.button = widgets.Button(layout=wide)
        self.button.on_click(lambda button: go(button.description))
        self.text = widgets.HTML()
        self.box = widgets.HBox([self.button, self.text])

    def show(self, word: str, text: str) -> None:
        """Show a word; an empty one hides the row."""
        self.button.description, self.button.tooltip = word, f"go to {word}"
        self.text.value = f"<div style='line-height:1.3;font-size:0.85em'>{text}</div>"
        self.box.layout.display = "flex" if word else "none"


class Explorer:
    """Translations, neighbourhoods, hubs and the rounds of a run, one word at a time.

    Args:
        config: Pair, solver and settings to begin with; ``max_vocab`` holds for all pairs.
        word: The first word; a frequent one if left out.
        directions: What :func:`demalib.explore.words.trace` found for this config; solved here if left out.

    Attributes:
        view: The widget.
        direction: The direction that is shown, a :class:`demalib.explore.words.Direction`.
        word: The word that is shown.
    """

    def __init__(
        self, config: Config, word: str = "", directions: tuple[Direction, Direction] | None = None
    ):
        self.config, self.word, self.direction = config, "", None
        self.solved = {} if directions is None else {(config.pair, config.solver): directions}
        self._make_controls()
        self._make_view()
        self.open(config.pair, config.solver, word)
        for chooser in (self.pair, self.solver):
            chooser.observe(self._choose, "value")
        self.typed.observe(lambda change: self.go(change["new"]), "value")
        self.snapshot.observe(lambda _: self._draw(), "value")
        self.flip.on_click(lambda _: self.turn())

    def _make_controls(self) -> None:
        """What a person can set: pair, solver, direction, word, round."""
        pairs = list(dict.fromkeys([self.config.pair, *REGISTRY_PAIRS]))
        named = [(f"{name} ({solver.hint})", name) for name, solver in SOLVERS.items()]
        narrow = widgets.Layout(width="16em")
        self.pair = widgets.Dropdown(
            options=pairs, value=self.config.pair, description="pair", layout=narrow
        )
        self.solver = widgets.Dropdown(
            options=named, value=self.config.solver, description="solver", layout={"width": "20em"}
        )
        self.flip = widgets.Button(tooltip="the other direction", layout={"width": "8em"})
        self.typed = widgets.Combobox(
            description="word", placeholder="type a word, then Enter", continuous_update=False
        )
        self.snapshot = widgets.SelectionSlider(
            options=("final map",), description="map at", layout={"width": "36em"}
        )

    def _make_view(self) -> None:
        """What it looks like: controls, state, word, three lists, figure with slider, hubs."""
        self.status, self.about, self.picture = widgets.HTML(), widgets.HTML(), widgets.Image()
        self.lists = {name: [Row(self.cross) for _ in range(TRANSLATIONS)] for name in SHOWN}
        self.hubs = [Row(self.cross) for _ in range(HUBS)]
        self.hubs_title = widgets.HTML()
        third = widgets.Layout(width="33%", min_width="20em")
        columns = [
            widgets.VBox([widgets.HTML(f"<b>{name.upper()}</b>"), *(row.box for row in rows)],
                         layout=third)
            for name, rows in self.lists.items()
        ]  # fmt: skip
        wrap = widgets.Layout(flex_flow="row wrap")
        half = (len(self.hubs) + 1) // 2
        hub_columns = [self.hubs[:half], self.hubs[half:]]
        self.picture.layout.max_width = "100%"
        self.view = widgets.VBox([
            widgets.HBox([self.pair, self.solver, self.flip], layout=wrap),
            widgets.HBox([self.typed], layout=wrap),
            self.status, self.about, widgets.HBox(columns, layout=wrap), self.snapshot, self.picture,
            self.hubs_title,
            widgets.HBox([widgets.VBox([r.box for r in rows], layout={"min_width": "28em"})
                          for rows in hub_columns], layout=wrap),
        ])  # fmt: skip

    def _repr_mimebundle_(self, **kwargs) -> dict:
        """The widget; where it cannot run, a line that says so."""
        said = "the explorer: run this notebook, or 'make app', to touch it"
        return self.view._repr_mimebundle_(**kwargs) | {"text/plain": said}

    @contextmanager
    def _telling(self, working: str):
        """Say what is going on and, if it fails, what a person can do; never a traceback."""
        controls = (self.pair, self.solver, self.flip, self.typed, self.snapshot)
        self._say(f"working: {working} …", "#8a5a00")
        for control in controls:
            control.disabled = True
        try:
            yield
        except MENDABLE as error:
            self._say(f"{error}", "#b00020")
        finally:
            for control in controls:
                control.disabled = False
            self.snapshot.disabled = len(self.snapshot.options) <= 2

    def _say(self, text: str, color: str) -> None:
        self.status.value = f"<span role='status' style='color:{color}'>{escape(text)}</span>"

    def _choose(self, _) -> None:
        """A pair or a solver was picked: solve it if need be; the word stays if it can."""
        chosen, shown = (self.pair.value, self.solver.value), (self.config.pair, self.config.solver)
        if chosen != shown:
            self.open(*chosen)

    def open(self, pair: str, solver: str, word: str = "") -> None:
        """Show another pair or solver, solving it at the first time; on failure keep the old."""
        same = pair == self.config.pair
        with self._telling(f"solving {pair} with {solver}"):
            config = preset(pair, **self._settings(solver))
            if (pair, solver) not in self.solved:
                self.solved[pair, solver] = trace(load_pair(config), config)
            back = int(
                same and self.direction is not None and self.direction is self._directions()[1]
            )
            self.config, self.direction = config, None
            directions = self.solved[pair, solver]
            self._enter(directions[back], word or self.word)
        self.pair.value, self.solver.value = self.config.pair, self.config.solver

    def _settings(self, solver: str) -> dict:
        """What holds for every pair: the vocabulary, the seed, and k of CSLS."""
        kept = {name: getattr(self.config, name) for name in ("max_vocab", "seed", "knn")}
        return kept | {"solver": solver}

    def _directions(self) -> tuple[Direction, Direction]:
        return self.solved[self.config.pair, self.config.solver]

    def turn(self) -> None:
        """Ask from the other side, for the word's best translation."""
        self.cross(self.lists["csls"][0].button.description)

    def cross(self, word: str) -> None:
        """Go to a word of the other language: the direction turns round."""
        if not self.direction:  # nothing could be solved yet
            return
        forward, backward = self._directions()
        with self._telling(f"going to {word}"):
            self._enter(backward if self.direction is forward else forward, word)

    def go(self, word: str) -> None:
        """Go to a word of the language that is asked; an unknown one is told."""
        if self.direction and word.strip() and word != self.word:
            with self._telling(f"looking up {word}"):
                self._show(word)

    def _enter(self, direction: Direction, word: str) -> None:
        """Show a direction: its completions, its snapshots, its hubs, and one of its words."""
        self.direction, self.word = direction, ""
        self.flip.description = f"{direction.src.lang} → {direction.tgt.lang}  ⇄"
        self.typed.options = tuple(direction.src.words[:COMPLETIONS])
        if self.snapshot.options != tuple(direction.snapshots):
            self.snapshot.options = tuple(direction.snapshots)  # which moves it to the first one
            self.snapshot.value = direction.last()
        self._show_hubs()
        usual = direction.src.words[min(300, len(direction.src) - 1)]
        self._show(word if word in direction.src.index else usual)

    def _show(self, word: str) -> None:
        """Fill everything that depends on the word."""
        row = self.direction.row(word)
        self.word = self.direction.src.words[row]
        self.typed.value = self.word
        near = ", ".join(self.direction.src.words[i] for i in neighbours(self.direction.x, row, 8))
        self.about.value = (
            f"<h3 style='margin:0.2em 0'>{escape(self.word)}</h3>"
            f"{self.direction.src.lang}, rank {row + 1:,} · near it: {escape(near)}"
        )
        found = translations(self.direction, self.word, TRANSLATIONS)
        for name, rows in self.lists.items():
            self._fill(rows, found[found["metric"] == name], "translation", self._describe)
        self._draw()
        self._say(*self._state())

    @staticmethod
    def _fill(rows: list[Row], frame: pd.DataFrame, column: str, describe: Callable) -> None:
        for place, row in enumerate(rows):
            here = frame.iloc[place] if place < len(frame) else None
            row.show(*(("", "") if here is None else (here[column], describe(here))))

    @staticmethod
    def _describe(row: pd.Series) -> str:
        ranks = f"ranks {row['rank']:,} and {row['its rank']:,}"
        return f"cosine {row['cosine']:.2f} · {ranks}<br>near it: {escape(row['neighbours'])}"

    def _show_hubs(self) -> None:
        found = hubs(self.direction, shown=HUBS)
        self.hubs_title.value = (
            f"<b>Hubs</b>: words of {self.direction.tgt.lang} that are in most lists of the ten best "
            "translations"
        )
        self._fill(self.hubs, found, "hub", lambda row: f"rank {row['rank']:,}<br>" + " · ".join(
            f"{name.upper()} {row[name]:,}" for name in SHOWN))  # fmt: skip

    def _draw(self) -> None:
        """The figure at the chosen snapshot; while a direction is entered there is no word yet."""
        if not self.word:
            return
        langs, snapshot = (self.direction.src.lang, self.direction.tgt.lang), self.snapshot.value
        near, far = around(self.direction, self.word, snapshot), clouds(self.direction, snapshot)
        axes = plots.around_and_clouds(near, far, langs, snapshot)
        self.picture.value = plots.Picture(axes).png

    def _state(self) -> tuple[str, str]:
        """The line when nothing is wrong, or what to know before trusting what is shown."""
        direction, config = self.direction, self.config
        same = len(set(self._directions()[0].src.words) & set(self._directions()[0].tgt.words))
        if SOLVERS[config.solver].hint == "identical" and same < FEW:
            return (f"{config.pair} by {config.solver}: only {same} words are spelled alike, hardly "
                    "a hint; try a larger max_vocab, or a solver with a train lexicon"), "#8a5a00"  # fmt: skip
        if lacking := fonts.missing((direction.src.lang, direction.tgt.lang)):
            return lacking, "#8a5a00"
        sizes = f"{len(direction.src):,} and {len(direction.tgt):,} words"
        return f"{config.pair} by {config.solver}: {sizes}, {same:,} spelled alike", "#1b5e20"
