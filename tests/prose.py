"""Numbers and words of prose, and where they must be found: outputs, code, committed tables.

A number is a claim. In a notebook it must be in an output or in a code cell of that notebook, or in a
committed table; in the README only the tables count. With thousands of figures in the tables some
figure always fits, so only rows of the systems and languages that the paragraph names are looked at;
in a table with a direction in its header, only rows of that direction.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from demalib.solvers import SOLVERS

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = {
    **{"english": "en", "french": "fr", "japanese": "ja", "russian": "ru", "finnish": "fi"},
    **{"turkish": "tr", "chinese": "zh", "german": "de", "spanish": "es"},
}
SMALL = 12  # integers up to here count things in the sentence itself
NUMBER = re.compile(r"(?<![\w.,/@^-])[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w^/]|[.,]\d|-\d)")
# What is no claim: references, years, the level of an interval, links, formulas, dates.
NO_CLAIM = re.compile(
    r"(?:Sections?|Tables?|Eqs?\.|Equations?|Figures?|Issue|Python|seeds?|Seeds?) "
    r"\d[\d.]*(?:(?:,| and| to|-) ?\d[\d.]*)*"
    r"|95 %|\((?:19|20)\d\d[a-z]?\)|\b(?:19|20)\d\d[a-z]?\b|P@\d+|\$[^$]*\$|\]\([^)]*\)|https?://\S+"
    r"|0 (?:to|and|or) 1\b|1[.,] 2[.,] 3|<[^>]*>"
)
SYSTEM_COLUMNS, PLACE_COLUMNS = ("name", "system", "solver"), ("pair", "direction")


@dataclass(frozen=True)
class Row:
    """A row of a committed table: who, where, and its figures."""

    systems: frozenset[str]
    langs: frozenset[str]
    direction: str
    values: tuple[float, ...]


@dataclass
class Context:
    """What a paragraph or a cell of a table speaks about."""

    systems: set[str] = field(default_factory=set)
    langs: set[str] = field(default_factory=set)
    direction: str = ""

    def covers(self, row: Row) -> bool:
        """Say whether a row is about the same systems and languages."""
        if self.direction and row.direction != self.direction:
            return False
        if self.systems and row.systems and not self.systems & row.systems:
            return False
        return not (self.langs and row.langs and not row.langs <= self.langs | {"en"})


@cache
def rows() -> list[Row]:
    """Read all committed tables."""
    out = []
    for path in sorted((ROOT / "results").glob("*/*.csv")):
        for cells in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
            names = {cells[c].split(",")[0] for c in SYSTEM_COLUMNS if cells.get(c)}
            places = [cells[c] for c in PLACE_COLUMNS if cells.get(c)]
            langs = {lang for place in places for lang in place.split("-")}
            values = [float(v) for v in cells.values() if _is_number(v)]
            if path.parent.name == "bench":  # shares, there
                values += [100 * v for v in values if abs(v) <= 1]
            out.append(
                Row(frozenset(names), frozenset(langs), cells.get("direction", ""), tuple(values))
            )
    return out


def _is_number(text: object) -> bool:
    return isinstance(text, str) and bool(re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text.strip()))


def fits(number: str, values: Iterable[float]) -> bool:
    """Say whether a number as printed is one of the values, rounded as it is; signs are free."""
    plain = number.replace(",", "").replace("−", "-").lstrip("+-")
    places = len(plain.partition(".")[2])
    return any(f"{abs(value):.{places}f}" == plain for value in values)


def in_tables(number: str, context: Context) -> bool:
    """Say whether a number is a figure of a committed table that the context covers."""
    return any(fits(number, row.values) for row in rows() if context.covers(row))


def numbers(text: str) -> list[str]:
    """List the numbers of a paragraph that claim something."""
    text = re.sub(r"```.*?```|`[^`]*`", " ", text, flags=re.S)
    found = NUMBER.findall(NO_CLAIM.sub(" ", text))
    return [n for n in found if "." in n or "," in n or abs(int(n.replace("−", "-"))) > SMALL]


def read_context(text: str) -> Context:
    """Find out which systems and languages a paragraph names."""
    spans = re.findall(r"`([^`]*)`", text)
    systems = {span for span in spans if span in SOLVERS}
    pairs = re.findall(r"\b([a-z]{2}) ?(?:-|→|↔) ?([a-z]{2})\b", text)
    langs = {lang for pair in pairs for lang in pair if lang in LANGUAGES.values()}
    langs |= {code for name, code in LANGUAGES.items() if re.search(rf"\b{name}\b", text.lower())}
    return Context(systems, langs)


def claims(markdown: str) -> Iterator[tuple[str, Context, str]]:
    """Yield every number of a text with its context and the line or paragraph that it is in."""
    markdown = re.sub(r"^```.*?^```|^    .*?$", "", markdown, flags=re.S | re.M)
    header: list[str] = []
    for block in re.split(r"\n\s*\n", markdown):
        if re.match(r"#+ |\*Reads\*|.*\*takes\*", block, flags=re.S) and "*takes*" in block:
            continue  # how long a notebook takes is no result
        lines = block.splitlines()
        if lines and lines[0].startswith("|"):
            header = [cell.strip() for cell in lines[0].strip("|").split("|")]
            for line in lines[2:]:
                yield from _cells(line, header)
            continue
        block = re.sub(r"^#+ .*$", "", block, flags=re.M)
        yield from ((number, read_context(block), block) for number in numbers(block))


def _cells(line: str, header: list[str]) -> Iterator[tuple[str, Context, str]]:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    label = read_context(cells[0])
    for name, cell in zip(header, cells, strict=False):
        context = Context(set(label.systems), set(label.langs))
        if found := re.fullmatch(r"([a-z]{2}) ?(?:-|→) ?([a-z]{2})", name):
            context.direction = f"{found[1]}-{found[2]}"
        yield from ((number, context, line) for number in numbers(cell))


# ---------------------------------------------------------------- notebooks


def outputs(path: Path) -> str:
    """Join all that a notebook's code cells show as text."""
    shown = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            data = {**output.get("data", {}), "stream": output.get("text", "")}
            shown += ["".join(data.get(kind, "")) for kind in ("stream", "text/plain", "text/html")]
    return "\n".join(shown)


def code(path: Path) -> str:
    """Join a notebook's code cells."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def markdown(path: Path) -> str:
    """Join a notebook's markdown cells."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def values_in(text: str) -> list[float]:
    """List all numbers of a text; shares count in percent too."""
    text = text.replace("_", "").replace("−", "-")
    found = [float(n.replace(",", "")) for n in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]
    return found + [100 * value for value in found if abs(value) <= 1]


def italics(text: str) -> list[str]:
    """List the italic words of a text: one word each, in lower case, not bold, no formula."""
    text = re.sub(r"```.*?```|`[^`]*`|\$[^$]*\$|\*\*[^*]*\*\*", " ", text, flags=re.S)
    groups = re.findall(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])", text)
    words = [word.strip() for group in groups for word in group.split(",")]
    return [word for word in words if re.fullmatch(r"[^\W\d_]+", word) and word == word.lower()]
