"""The table of ``make chaos``: what was tried, and how often a promise was broken."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from demalib.data.files import path_lock, write_text

PATH = Path(__file__).resolve().parents[2] / "results" / "bench" / "chaos.csv"
KEY = ["part", "what"]
COUNTS = ["tried", "lost", "garbage", "outside"]
COLUMNS = [*KEY, *COUNTS, "seconds", "seed", "notes"]
LOST = re.compile(r"had returned|next try|exit code \S+ is not|: runs \[|kept \[")
GARBAGE = re.compile(r" is not |found|neither|damaged|mixed|other")


@dataclass(frozen=True)
class Row:
    """One thing that was tried, how often, each breach of the contract, and a remark."""

    what: str
    tried: int
    wrong: list[str]
    notes: str = ""


def sort_of(breach: str) -> str:
    """A result that is ``lost``, ``garbage`` that is read, or something ``outside`` the contract.

    Example:
        >>> sort_of("align had returned, but its result was not there: nothing")
        'lost'
    """
    if LOST.search(breach):
        return "lost"
    return "garbage" if GARBAGE.search(breach) else "outside"


class Table:
    """Prints rows and keeps them in a file, where each replaces the one of the same name."""

    def __init__(self, path: Path, seed: int):
        self.path, self.seed, self.rows, self.broken = path, seed, [], []
        self.line(*KEY, *COUNTS, "seconds", "notes")

    def line(self, part: object, what: object, *cells: object) -> None:
        """Print a row."""
        *numbers, notes = map(str, cells)
        print(f"{part:<10} {what:<18}", *(f"{n:>8}" for n in numbers), f" {notes}", flush=True)

    def extend(self, part: str, rows: Iterator[Row]) -> None:
        """Take rows as they are made, and the seconds that each took."""
        began = time.monotonic()
        for row in rows:
            sorts = [sort_of(breach) for breach in row.wrong]
            counts = [row.tried, *(sorts.count(sort) for sort in COUNTS[1:])]
            seconds = round(time.monotonic() - began)
            self.line(part, row.what, *counts, seconds, row.notes)
            cells = (part, row.what, *counts, seconds, self.seed, row.notes)
            self.rows.append(dict(zip(COLUMNS, cells, strict=True)))
            self.broken += row.wrong
            self.keep()
            began = time.monotonic()

    def keep(self) -> None:
        """Write the last row to the file; other processes may write theirs at the same time."""
        with path_lock(self.path):
            new = pd.DataFrame(self.rows[-1:], columns=COLUMNS)
            old = pd.read_csv(self.path, keep_default_na=False) if self.path.exists() else new
            every = pd.concat([old, new]).drop_duplicates(KEY, keep="last").sort_values(KEY)
            write_text(self.path, every.to_csv(index=False, lineterminator="\n"))

    def close(self) -> None:
        """Print the sums and every breach."""
        total = [sum(row[name] for row in self.rows) for name in COUNTS]
        self.line("all", "", *total, "", "")
        print("\nlost: results that are gone; garbage: read as if it were whole;")
        print("outside: exceptions, memory or files left behind, outside the contract")
        print("\n".join(self.broken) + f"\nseed {self.seed}; the table is in {self.path}")
