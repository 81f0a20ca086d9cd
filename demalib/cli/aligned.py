"""What is done with an alignment: ``demalib info | translate | evaluate | export``."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pandas as pd

from demalib import alignment
from demalib.alignment import FORMATS, export_alignment
from demalib.cli.common import add_command
from demalib.data.files import display_path
from demalib.data.lexicon import read_lexicon
from demalib.embedding import Policy, explain_unknown
from demalib.errors import DataError
from demalib.evaluation import benchmark
from demalib.retrieval import METRICS

EXAMPLES = {
    "info": "demalib info aligned",
    "translate": """demalib translate aligned cat dog -k 3
  demalib translate aligned Katze --reverse --metric csls-d""",
    "evaluate": "demalib evaluate aligned --lexicon en-de.txt --json",
    "export": """demalib export aligned --format word2vec
  demalib export aligned --format dictionary --out elsewhere""",
}


def add(commands: Any) -> None:
    """Define the commands of this group."""

    def on_folder(name, call, text):
        sub = add_command(commands, name, call, text, EXAMPLES[name])
        sub.add_argument("folder", metavar="DIR", help="folder that 'demalib align' wrote")
        return sub

    on_folder("info", info, "Describe what was aligned, how, and its size on disk.")

    sub = on_folder("translate", translate, "Translate words, with scores, cosines and ranks.")
    sub.add_argument("words", nargs="+", metavar="WORD", help="words of the source language")
    sub.add_argument("-k", type=int, default=10, help="translations per word (default: 10)")
    sub.add_argument("--metric", choices=METRICS, default="csls", help="default: csls")
    sub.add_argument(
        "--reverse", action="store_true", help="translate words of the target language"
    )

    sub = on_folder("evaluate", evaluate, "Measure an alignment against a dictionary.")
    sub.add_argument("--lexicon", required=True, help="test pairs, source word first")
    sub.add_argument(
        "--reverse", help="test pairs, target word first (default: --lexicon reversed)"
    )
    sub.add_argument("--json", action="store_true", help="print JSON instead of a table")

    sub = on_folder("export", export, "Write both languages in one space, or a dictionary.")
    formats = "vectors as text, word2vec binary or .npz; or each source word's best translation"
    sub.add_argument("--format", required=True, choices=FORMATS, help=formats)
    sub.add_argument("--out", metavar="FOLDER", help="folder for the files (default: DIR)")


def info(args: argparse.Namespace) -> None:
    """Print the facts of an alignment, one per line."""
    facts = alignment.describe(args.folder)
    width = max(map(len, facts))
    for name, fact in facts.items():
        print(f"{name:<{width}}  {fact}")


def translate(args: argparse.Namespace) -> None:
    """Print the translations of known words, then fail if others are unknown."""
    mapping, pair = alignment.load_alignment(args.folder)
    src, tgt = (pair.tgt, pair.src) if args.reverse else (pair.src, pair.tgt)
    src = src.extend(args.words)
    known = [word for word in args.words if src.knows(word)]
    if known:
        table = alignment.translate(mapping, pair, known, args.k, args.metric, args.reverse)
        with pd.option_context("display.unicode.east_asian_width", True):
            table["rank"] = table["rank"].astype(object).fillna("-")  # of an unseen word
            print(table.to_string(index=False, float_format="{:.4f}".format))
    if unknown := [explain_unknown(w, src, tgt) for w in args.words if w not in known]:
        raise DataError("; ".join(unknown))


def evaluate(args: argparse.Namespace) -> None:
    """Print P@k, MRR, coverage and intervals of both directions."""
    mapping, pair = alignment.load_alignment(args.folder)
    config, policy = mapping.config, Policy(**mapping.info.get("policy", {}))
    forward = read_lexicon(args.lexicon, policy)
    backward = read_lexicon(args.reverse, policy) if args.reverse else forward.reverse()
    gold = benchmark.Gold(forward, backward)
    results = benchmark.summarise(benchmark.evaluate(mapping, pair, gold, config), gold)
    table = benchmark.results_table(results).to_string(index=False)
    print(json.dumps(results, indent=2, ensure_ascii=False) if args.json else table)


def export(args: argparse.Namespace) -> None:
    """Write the alignment for other programs; print the files."""
    mapping, pair = alignment.load_alignment(args.folder)
    for path in export_alignment(mapping, pair, args.out or args.folder, args.format):
        print(f"{display_path(path)} ({path.stat().st_size / 1e6:,.1f} MB)")
