"""Dictionaries on disk: a user's own, the bundled ones, MUSE's."""

from __future__ import annotations

import os
from collections import Counter
from importlib import resources
from pathlib import Path

from demalib.data.files import plain_name
from demalib.data.own import find_own_lexicon
from demalib.data.registry import fetch_muse_lexicon, find_muse
from demalib.embedding import Policy
from demalib.errors import DataError
from demalib.hints import Lexicon

BUNDLED = resources.files("demalib") / "data" / "lexicons"
MUSE_SPLITS = {"train": "0-5000", "test": "5000-6500"}


def read_lexicon(path: str | Path, policy: Policy = Policy()) -> Lexicon:
    """Read a dictionary in MUSE's format: a query and a translation on every line.

    Fields are separated by a tab, or else by white space. Words go through the same policy
    as those of the vectors, so a phrase in a tab-separated file becomes ``new_york``. A line
    without exactly two fields is counted as malformed and left out.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such lexicon; give a file with 'query translation' lines")
    report: Counter = Counter()
    pairs: dict[tuple[str, str], None] = {}
    with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:
        for line in lines:
            report["lines"] += 1
            fields = line.strip("\r\n").split("\t") if "\t" in line else line.split()
            if not line.strip():
                report["blank"] += 1
                continue
            query, translation = (
                (policy.apply(f, report) for f in fields) if len(fields) == 2 else ("", "")
            )
            if not query or not translation:
                report["malformed"] += 1
                report.setdefault("first_malformed_line", report["lines"])
                continue
            report["duplicates"] += (query, translation) in pairs
            pairs[query, translation] = None
    if not pairs:
        raise DataError(
            f"{path}: none of {report['lines']:,} lines is a 'query translation' pair, "
            "separated by a space or a tab"
        )
    report["pairs"] = len(pairs)
    return Lexicon(list(pairs), path.name, dict(report))


def load_lexicon(src: str, tgt: str, split: str, source: str = "bundled") -> Lexicon:
    """Load the ``train`` or ``test`` lexicon of a language pair.

    Args:
        src: Language of the queries.
        tgt: Language of the translations.
        split: ``train`` or ``test``; the split is by query word. No bundled train pair is a
            gold pair of a bundled test lexicon, in either direction.
        source: ``bundled`` (in this package), or ``muse``, the dictionaries that most papers
            use, from the folder ``$DEMALIB_MUSE`` or downloaded, or ``own``, from the folder
            ``$DEMALIB_DATA``.
    """
    plain_name(f"{src}-{tgt}")
    if source == "muse":
        return read_lexicon(_muse_lexicon(src, tgt, MUSE_SPLITS[split]))
    if source == "own":
        path, reverse = find_own_lexicon(src, tgt, split)
        lexicon = read_lexicon(path)
        return lexicon.reverse() if reverse else lexicon
    if source != "bundled":
        raise DataError(f"unknown lexicons {source!r}; use 'bundled', 'muse' or 'own'")
    if (BUNDLED / f"{src}-{tgt}.{split}.tsv").is_file():
        return read_lexicon(str(BUNDLED / f"{src}-{tgt}.{split}.tsv"))
    if split == "train" and (BUNDLED / f"{tgt}-{src}.train.tsv").is_file():
        return read_lexicon(str(BUNDLED / f"{tgt}-{src}.train.tsv")).reverse()
    raise DataError(f"no bundled lexicon for {src}-{tgt}; use lexicons 'muse'")


def _muse_lexicon(src: str, tgt: str, split: str) -> Path:
    """Find MUSE's dictionary in the folder ``$DEMALIB_MUSE``; download it if that is not set."""
    folder, name = os.environ.get("DEMALIB_MUSE"), f"{src}-{tgt}.{split}.txt"
    if not folder:
        return fetch_muse_lexicon(src, tgt, split)
    if path := find_muse(name):
        return path
    known = sorted(p.name.split(".")[0] for p in Path(folder).rglob("*.5000-6500.txt"))
    raise DataError(f"{folder}: no {name} in this MUSE folder; it has {', '.join(known) or 'none'}")
