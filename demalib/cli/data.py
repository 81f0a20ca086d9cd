"""Data that the project brings: ``demalib fetch``."""

from __future__ import annotations

import argparse
from typing import Any

from demalib.cli.common import add_command
from demalib.data.files import display_path
from demalib.data.registry import REGISTRY, fetch_muse_vectors, fetch_wheels, load_vectors
from demalib.errors import DataError

EXAMPLES = {
    "fetch": """demalib fetch                       download vectors of en, fr, ja and ru (170 MB)
  demalib fetch muse es               download the paper's Spanish vectors (several GB)""",
}


def add(commands: Any) -> None:
    """Define the commands of this group."""
    text = "Download vectors into the cache, once."
    sub = add_command(commands, "fetch", fetch, text, EXAMPLES["fetch"])
    langs = f"languages, of {' '.join(REGISTRY)} (default: all); "
    langs += "'muse LANG...' downloads the paper's fastText vectors instead"
    sub.add_argument("lang", nargs="*", metavar="LANG", help=langs)


def fetch(args: argparse.Namespace) -> None:
    """Download and parse the registry's wheels, or download the paper's vectors."""
    if args.lang[:1] == ["muse"]:
        if not args.lang[1:]:
            raise DataError("name a language: demalib fetch muse es")
        for lang in args.lang[1:]:
            print(f"{lang}: {display_path(fetch_muse_vectors(lang))}")
        return
    langs = args.lang or list(REGISTRY)
    if unknown := [lang for lang in langs if lang not in REGISTRY]:
        raise DataError(
            f"no vectors for {', '.join(unknown)} in the registry; it has "
            f"{', '.join(REGISTRY)}; try 'demalib fetch muse {unknown[0]}'"
        )
    fetch_wheels()
    for lang in langs:
        print(f"{load_vectors(lang).summary()} ({REGISTRY[lang].about})")
