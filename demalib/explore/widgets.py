"""An interactive explorer of aligned pairs: widgets over :mod:`demalib.explore.words`.

The only module that needs ipywidgets. It computes nothing itself: every table comes from ``words``
and every figure from ``plots``, and both work without widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

import ipywidgets as widgets
import pandas as pd

from demalib import plots
from demalib.config import REGISTRY_PAIRS, Config, preset
from demalib.errors import DataError, harmless
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

COMPLETIONS = 5000  # most frequent words that are offered as completions
TRANSLATIONS, HUBS = 5, 8
WEAK_HINT = 50  # with fewer identical words than this, a warning is shown
ERRORS = (DataError, OSError, RuntimeError, ValueError)  # shown to the user in the status line
OK, WARNING, ERROR = "#1b5e20", "#8a5a00", "#b00020"  # colours of the status line
COLOURS = {"yes": OK, "doubtful": WARNING, "no": ERROR}  # of a verdict


def shown(text: str) -> str:
    """Make a text from a file harmless in a page."""
    return escape(harmless(text))


class Row:
    """A button with a word, and a line or two of text about it."""

    def __init__(self, go: Callable[[str], None]):
        wide = widgets.Layout(width="9.5em", flex="0 0 auto")
        self.button = widgets.Button(layout=wide)
        self.word = ""
        self.button.on_click(lambda _: go(self.word))
        self.text = widgets.HTML()
        self.box = widgets.HBox([self.button, self.text])

    def show(self, word: str, text: str) -> None:
        """Show a word and its text; an empty word hides the row."""
        self.word, self.button.description = word, harmless(word)
        self.button.tooltip = f"go to {harmless(word)}"
        self.text.value = f"<div style='line-height:1.3;font-size:0.85em'>{text}</div>"
        self.box.layout.display = "flex" if word else "none"


class Explorer:
    """A widget that shows translations, neighbours, hubs and the snapshots of a run for any word.

    Args:
        config: Pair, solver and settings to start with. ``max_vocab``, ``seed`` and ``knn`` apply
            to all pairs that are opened later.
        word: The first word; a frequent one if left out.
        directions: Result of :func:`demalib.explore.words.trace` for this config; the pair is
            solved here if left out.

    Attributes:
        view: The widget.
        direction: The direction on display; None until a pair could be solved.
        word: The word on display.
    """

    def __init__(
        self, config: Config, word: str = "", directions: tuple[Direction, Direction] | None = None
    ):
        self.config, self.word = config, ""
        self.direction: Direction | None = None
        self.solved: dict[tuple[str, str], tuple[Direction, Direction]] = {}
        if directions is not None:
            self.solved[config.pair, config.solver] = directions
        self._make_controls()
        self._make_view()
        self.open(config.pair, config.solver, word)
        for chooser in (self.pair, self.solver):
            chooser.observe(self._choose, "value")
        self.typed.observe(lambda change: self.go(change["new"]), "value")
        self.snapshot.observe(lambda _: self._draw(), "value")
        self.flip.on_click(lambda _: self.swap())

    def _make_controls(self) -> None:
        """Make the controls: pair, solver, direction, word, snapshot."""
        pairs = list(dict.fromkeys([self.config.pair, *REGISTRY_PAIRS]))
        named = [(f"{name} ({solver.hint})", name) for name, solver in SOLVERS.items()]
        narrow = widgets.Layout(width="16em")
        self.pair = widgets.Dropdown(
            options=pairs, value=self.config.pair, description="pair", layout=narrow
        )
        self.solver = widgets.Dropdown(
            options=named, value=self.config.solver, description="solver", layout={"width": "20em"}
        )
        self.flip = widgets.Button(tooltip="swap the direction", layout={"width": "8em"})
        self.typed = widgets.Combobox(
            description="word", placeholder="type a word, then Enter", continuous_update=False
        )
        self.snapshot = widgets.SelectionSlider(
            options=("final map",), description="map at", layout={"width": "36em"}
        )

    def _make_view(self) -> None:
        """Lay out the page: controls, status, word, three lists, slider, figure, hubs."""
        self.status, self.about, self.picture = widgets.HTML(), widgets.HTML(), widgets.Image()
        self.lists = {name: [Row(self.cross) for _ in range(TRANSLATIONS)] for name in SHOWN}
        self.hubs = [Row(self.cross) for _ in range(HUBS)]
        self.hubs_title = widgets.HTML()
        third = widgets.Layout(width="33%", min_width="20em")
        columns = []
        for name, rows in self.lists.items():
            heading = widgets.HTML(f"<b>{name.upper()}</b>")
            columns.append(widgets.VBox([heading, *(row.box for row in rows)], layout=third))
        wrap = widgets.Layout(flex_flow="row wrap")
        half = (len(self.hubs) + 1) // 2
        hub_columns = [
            widgets.VBox([row.box for row in rows], layout={"min_width": "28em"})
            for rows in (self.hubs[:half], self.hubs[half:])
        ]
        self.picture.layout.max_width = "100%"
        parts = [
            widgets.HBox([self.pair, self.solver, self.flip], layout=wrap),
            widgets.HBox([self.typed], layout=wrap),
            self.status,
            self.about,
            widgets.HBox(columns, layout=wrap),
            self.snapshot,
            self.picture,
            self.hubs_title,
            widgets.HBox(hub_columns, layout=wrap),
        ]
        self.view = widgets.VBox(parts)

    def _repr_mimebundle_(self, **kwargs) -> dict:
        """Return the widget, and a line of text for places where widgets cannot run."""
        text = "the explorer: run this notebook or 'make app' to use it"
        return self.view._repr_mimebundle_(**kwargs) | {"text/plain": text}

    @contextmanager
    def _working(self, task: str) -> Iterator[None]:
        """Disable the controls during a task; show an error as a line, without a traceback."""
        controls = (self.pair, self.solver, self.flip, self.typed, self.snapshot)
        self._set_status(f"working: {task} …", WARNING)
        for control in controls:
            control.disabled = True
        try:
            yield
        except ERRORS as error:
            self._set_status(str(error), ERROR)
        finally:
            for control in controls:
                control.disabled = False
            self.snapshot.disabled = len(self.snapshot.options) <= 2

    def _set_status(self, text: str, color: str) -> None:
        self.status.value = f"<span role='status' style='color:{color}'>{shown(text)}</span>"

    def _choose(self, _: object) -> None:
        """Open the pair and solver that the dropdowns show, unless they are open already."""
        chosen, shown = (self.pair.value, self.solver.value), (self.config.pair, self.config.solver)
        if chosen != shown:
            self.open(*chosen)

    def open(self, pair: str, solver: str, word: str = "") -> None:
        """Show a pair, solved when it is first opened; if that fails, the old one stays.

        The direction stays too if the pair is the same, and the word if the new pair has it.
        """
        same = pair == self.config.pair
        with self._working(f"solving {pair} with {solver}"):
            kept = {name: getattr(self.config, name) for name in ("max_vocab", "seed", "knn")}
            config = preset(pair, solver=solver, **kept)
            if (pair, solver) not in self.solved:
                self.solved[pair, solver] = trace(load_pair(config), config)
            backward = same and self.direction is not None and self._is_backward()
            self.config, self.direction = config, None
            self._enter(self._directions()[backward], word or self.word)
        self.pair.value, self.solver.value = self.config.pair, self.config.solver

    def _directions(self) -> tuple[Direction, Direction]:
        return self.solved[self.config.pair, self.config.solver]

    def _is_backward(self) -> bool:
        return self.direction is self._directions()[1]

    def swap(self) -> None:
        """Swap the direction and go to the word's best translation."""
        self.cross(self.lists["csls"][0].word)

    def cross(self, word: str) -> None:
        """Go to a word of the other language and swap the direction."""
        if self.direction is None:  # no pair could be solved yet
            return
        with self._working(f"going to {word}"):
            self._enter(self._directions()[not self._is_backward()], word)

    def go(self, word: str) -> None:
        """Go to a word of the source language; the status line says if it is unknown."""
        if self.direction is not None and word.strip() and word != self.word:
            with self._working(f"looking up {word}"):
                self._show(self.direction, word)

    def _enter(self, direction: Direction, word: str) -> None:
        """Show a direction: its completions, snapshots and hubs, and one of its words."""
        self.direction, self.word = direction, ""
        self.flip.description = f"{direction.src.lang} → {direction.tgt.lang}  ⇄"
        self.typed.options = tuple(direction.src.words[:COMPLETIONS])
        if self.snapshot.options != tuple(direction.snapshots):
            self.snapshot.options = tuple(direction.snapshots)  # also moves the slider to the first
            self.snapshot.value = direction.last()
        self._show_hubs(direction)
        default = direction.src.words[min(300, len(direction.src) - 1)]
        self._show(direction, word if word in direction.src.index else default)

    def _show(self, direction: Direction, word: str) -> None:
        """Fill everything that depends on the word."""
        row = direction.row(word)
        self.word = direction.src.words[row]
        self.typed.value = self.word
        near = ", ".join(direction.src.words[i] for i in neighbours(direction.x, row, 8))
        self.about.value = (
            f"<h3 style='margin:0.2em 0'>{shown(self.word)}</h3>"
            f"{shown(direction.src.lang)}, rank {row + 1:,} · neighbours: {shown(near)}"
        )
        found = translations(direction, self.word, TRANSLATIONS)
        for name, rows in self.lists.items():
            of_metric = found[found["metric"] == name]
            self._fill(rows, of_metric, "translation", self._describe_translation)
        self._draw()
        self._set_status(*self._summary(direction))

    @staticmethod
    def _fill(
        rows: list[Row], frame: pd.DataFrame, column: str, describe: Callable[[pd.Series], str]
    ) -> None:
        """Show a line of the frame in each row; hide the rows that are left over."""
        for place, row in enumerate(rows):
            if place < len(frame):
                line = frame.iloc[place]
                row.show(line[column], describe(line))
            else:
                row.show("", "")

    @staticmethod
    def _describe_translation(line: pd.Series) -> str:
        ranks = f"ranks {line['rank']:,} and {line['its rank']:,}"
        near = shown(line["neighbours"])
        return f"cosine {line['cosine']:.2f} · {ranks}<br>neighbours: {near}"

    @staticmethod
    def _describe_hub(line: pd.Series) -> str:
        counts = " · ".join(f"{name.upper()} {line[name]:,}" for name in SHOWN)
        return f"rank {line['rank']:,}<br>{counts}"

    def _show_hubs(self, direction: Direction) -> None:
        self.hubs_title.value = (
            f"<b>Hubs</b>: {shown(direction.tgt.lang)} words that are among the ten best "
            f"translations of the most {shown(direction.src.lang)} words"
        )
        self._fill(self.hubs, hubs(direction, shown=HUBS), "hub", self._describe_hub)

    def _draw(self) -> None:
        """Draw the figure at the chosen snapshot, unless a new direction has no word yet."""
        if self.direction is None or not self.word:
            return
        langs, snapshot = (self.direction.src.lang, self.direction.tgt.lang), self.snapshot.value
        near, far = around(self.direction, self.word, snapshot), clouds(self.direction, snapshot)
        axes = plots.around_and_clouds(near, far, langs, snapshot)
        self.picture.value = plots.Picture(axes).png

    def _summary(self, direction: Direction) -> tuple[str, str]:
        """Return a status line and its colour: a warning, or sizes; and whether it worked."""
        solved = f"{self.config.pair} by {self.config.solver}"
        same = len(set(direction.src.words) & set(direction.tgt.words))
        if verdict := direction.verdict:
            missing = fonts.missing((direction.src.lang, direction.tgt.lang))
            text = f"{solved}. Did it work? {verdict}" + (f". {missing}" if missing else "")
            return text, COLOURS[verdict.answer]
        if SOLVERS[self.config.solver].hint == "identical" and same < WEAK_HINT:
            advice = "try a larger max_vocab, or a solver that learns from a dictionary"
            return f"{solved}: only {same} identical words, a weak hint; {advice}", WARNING
        if warning := fonts.missing((direction.src.lang, direction.tgt.lang)):
            return warning, WARNING
        sizes = f"{len(direction.src):,} and {len(direction.tgt):,} words"
        return f"{solved}: {sizes}, {same:,} identical", OK
