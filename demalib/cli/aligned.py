"""What is done with an alignment: ``demalib info | translate | evaluate | export``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from demalib import alignment
from demalib.cli.common import Once, add_command, add_langs, add_policy, named_files, policy_of
from demalib.data.files import display_path
from demalib.data.lexicon import read_lexicon
from demalib.data.store import read_vectors
from demalib.embedding import Policy, explain_unknown
from demalib.errors import DataError, harmless
from demalib.evaluation import benchmark
from demalib.export import FORMATS, cell, export_alignment
from demalib.many import Space
from demalib.pair import Mapping, Pair
from demalib.retrieval import METRICS
from demalib.spaces import describe_space, export_space, is_space, load_space

EXAMPLES = {
    "info": "demalib info aligned",
    "translate": """demalib translate aligned cat dog -k 3
  demalib translate aligned Katze --reverse --metric csls-d
  demalib translate aligned --words words.txt --tsv
  demalib translate together --from ja --to ru 犬""",
    "evaluate": """demalib evaluate aligned --lexicon en-de.txt --json
  demalib evaluate --src en.aligned.vec --tgt de.aligned.vec --lexicon en-de.txt""",
    "export": """demalib export aligned --format word2vec
  demalib export aligned --format dictionary --top 3 --mutual --both --out elsewhere""",
}


def add(commands: Any) -> None:
    """Define the commands of this group."""

    wrote = "folder that 'demalib align' wrote"

    def on_alignment(name, call, text):
        sub = add_command(commands, name, call, text, EXAMPLES[name])
        sub.add_argument("folder", metavar="DIR", nargs="?", help=wrote)
        files = sub.add_argument_group("two files in one space, instead of DIR")
        files.add_argument("--src", action=Once, metavar="FILE", help="source vectors")
        files.add_argument("--tgt", action=Once, metavar="FILE", help="target vectors")
        add_langs(files)
        add_policy(files)
        many = sub.add_argument_group("a folder with more than two languages")
        many.add_argument("--from", dest="origin", metavar="LANG", help="the language of the words")
        many.add_argument(
            "--to", dest="goal", metavar="LANG", help="the language to translate into"
        )
        return sub

    text = "Describe what was aligned, how, and its size on disk."
    sub = add_command(commands, "info", info, text, EXAMPLES["info"])
    sub.add_argument("folder", metavar="DIR", help=wrote)

    sub = on_alignment("translate", translate, "Translate words, with scores, cosines and ranks.")
    sub.add_argument("words", nargs="*", metavar="WORD", help="words of the source language")
    listed = "file with a word a line, - for standard input (the default without any WORD)"
    sub.add_argument("--words", dest="file", metavar="FILE", help=listed)
    forms = sub.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON instead of a table")
    forms.add_argument("--tsv", action="store_true", help="print tab-separated values")
    sub.set_defaults(more="words")
    sub.add_argument("-k", type=int, default=10, help="translations per word (default: 10)")
    sub.add_argument("--metric", choices=METRICS, default="csls", help="default: csls")
    sub.add_argument(
        "--reverse", action="store_true", help="translate words of the target language"
    )

    sub = on_alignment("evaluate", evaluate, "Measure an alignment against a dictionary.")
    sub.add_argument("--lexicon", required=True, help="test pairs, source word first")
    sub.add_argument(
        "--reverse", help="test pairs, target word first (default: --lexicon reversed)"
    )
    sub.add_argument("--json", action="store_true", help="print JSON instead of a table")

    sub = on_alignment("export", export, "Write both languages in one space, or a dictionary.")
    formats = "vectors as text, word2vec binary or .npz; or each source word's best translation"
    sub.add_argument("--format", required=True, choices=FORMATS, help=formats)
    sub.add_argument("--out", metavar="FOLDER", help="folder for the files (default: DIR)")
    top = "translations per word of a dictionary (default: 1)"
    sub.add_argument("--top", type=int, default=1, metavar="N", help=top)
    mutual = "only pairs of a dictionary that are each other's best translation"
    sub.add_argument("--mutual", action="store_true", help=mutual)
    sub.add_argument("--both", action="store_true", help="dictionaries of both directions")


def load(args: argparse.Namespace) -> tuple[Mapping, Pair, Policy]:
    """Load the folder of an alignment, or two files that are in one space already."""
    if args.src is None and args.tgt is None:
        if args.folder is None:
            raise DataError("name the folder that 'demalib align' wrote, or give --src and --tgt")
        check_folder(args.folder)
        if is_space(args.folder):
            return load_from_space(load_space(args.folder), args)
        mapping, pair = alignment.load_alignment(args.folder)
        langs = (pair.src.lang, pair.tgt.lang)
        if (args.origin or langs[0], args.goal or langs[1]) != langs:
            raise DataError(f"{args.folder}: aligns {langs[0]} with {langs[1]}; see --reverse")
        return mapping, pair, Policy(**mapping.info.get("policy", {}))
    if args.src is None or args.tgt is None:
        raise DataError("--src and --tgt go together: two files in one space")
    if args.folder is not None:
        raise DataError(f"{args.folder}: give a folder, or --src and --tgt, not both")
    policy, files = policy_of(args), named_files([args.src, args.tgt], args.langs)
    src, tgt = (read_vectors(file.path, policy, file.lang) for file in files)
    return (*alignment.shared_space(src, tgt), policy)


def check_folder(folder: str) -> None:
    """Raise a DataError if there is no such folder; a word may have been taken for one."""
    if not Path(folder).is_dir():
        raise DataError(
            f"{folder}: no such folder; first comes the one that 'demalib align' wrote (its --out)"
        )


def load_from_space(space: Space, args: argparse.Namespace) -> tuple[Mapping, Pair, Policy]:
    """Pick the two languages that --from and --to name."""
    if not args.origin or not args.goal:
        raise DataError(
            f"{args.folder}: has {', '.join(space.langs)}; say which with --from and --to"
        )
    return (*space.between(args.origin, args.goal), Policy(**space.info.get("policy", {})))


def info(args: argparse.Namespace) -> None:
    """Print the facts of an alignment, one per line."""
    check_folder(args.folder)
    many = is_space(args.folder)
    facts = describe_space(load_space(args.folder)) if many else alignment.describe(args.folder)
    width = max(map(len, facts))
    for name, fact in facts.items():
        print(f"{name:<{width}}  {fact}")


def translate(args: argparse.Namespace) -> None:
    """Print the translations of known words, then fail if others are unknown."""
    if args.src is not None and args.folder is not None:  # then it is a word too
        args.words, args.folder = [args.folder, *args.words], None
    if args.folder is not None:
        check_folder(args.folder)
    words = asked_words(args)
    mapping, pair, _ = load(args)
    src, tgt = (pair.tgt, pair.src) if args.reverse else (pair.src, pair.tgt)
    src = src.extend(words)
    known = [word for word in words if src.knows(word)]
    if known:
        show(alignment.translate(mapping, pair, known, args.k, args.metric, args.reverse), args)
    if unknown := [explain_unknown(word, src, tgt) for word in words if word not in known]:
        raise DataError("; ".join(unknown))


def asked_words(args: argparse.Namespace) -> list[str]:
    """Return the words of the command line, of a file or of standard input, without blank lines."""
    if args.words and not args.file:
        return args.words
    try:
        if args.file not in (None, "-"):
            lines = Path(args.file).read_text(encoding="utf-8").splitlines()
        elif args.file == "-" or not sys.stdin.isatty():
            lines = sys.stdin.read().splitlines()
        else:
            lines = []
    except UnicodeDecodeError as error:
        raise DataError(f"{args.file or 'standard input'}: not UTF-8 ({error})") from error
    words = [*args.words, *filter(None, map(str.strip, lines))]
    if not words:
        raise DataError("name a word, or a file with --words; '-' is standard input")
    return words


def show(table: pd.DataFrame, args: argparse.Namespace) -> None:
    """Print translations as a table, as JSON or as tab-separated values."""
    if args.json:
        text = table.to_json(orient="records", indent=2, force_ascii=False, double_precision=6)
        print(harmless(text))  # the same JSON
    elif args.tsv:
        table[["word", "translation"]] = table[["word", "translation"]].map(cell)
        print(table.to_csv(sep="\t", index=False, float_format="%.6f", lineterminator="\n"), end="")
    else:
        table["rank"] = table["rank"].astype(object).fillna("-")  # of an unseen word
        with pd.option_context("display.unicode.east_asian_width", True):
            print(harmless(table.to_string(index=False, float_format="{:.4f}".format)))


def evaluate(args: argparse.Namespace) -> None:
    """Print P@k, MRR, coverage and intervals of both directions."""
    mapping, pair, policy = load(args)
    forward = read_lexicon(args.lexicon, policy)
    backward = read_lexicon(args.reverse, policy) if args.reverse else forward.reverse()
    gold = benchmark.Gold(forward, backward)
    judged = benchmark.evaluate(mapping, pair, gold, mapping.config)
    results = benchmark.summarise(judged, gold)
    trained, rest = pair.trained_on(), results
    if trained:
        rest = benchmark.summarise_untrained(judged, gold, trained)
        for direction, by_metric in results.items():
            for name, figures in by_metric.items():
                figures["untrained"] = rest.get(direction, {}).get(name)
    notes = benchmark.cautions(results)
    if args.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
        print(*notes, sep="\n", end="\n" * bool(notes), file=sys.stderr)
        return
    print(benchmark.results_table(results).to_string(index=False))
    print(*notes, sep="\n", end="\n" * bool(notes))
    show_untrained(results, rest)


def show_untrained(results: dict[str, dict], rest: dict[str, dict]) -> None:
    """Say how many queries were trained on, if any, and print the figures of the others."""
    for direction, by_metric in results.items():
        figures = next(iter(by_metric.values()))
        left = next(iter(rest[direction].values()))["queries"] if direction in rest else 0
        if left < figures["queries"]:
            print(
                f"{direction}: {figures['queries'] - left:,} of {figures['queries']:,} queries are "
                "words of the lexicon it was trained on, which flatters it; "
                + ("without them:" if left else "no other is left to judge")
            )
            if left:
                alone = {direction: rest[direction]}
                print(benchmark.results_table(alone).to_string(index=False))
                print(*benchmark.cautions(alone), sep="\n", end="")


def export(args: argparse.Namespace) -> None:
    """Write the alignment for other programs; print the files."""
    folder = args.out or args.folder
    if not folder:
        raise DataError("name a folder for the files with --out")
    if args.folder and is_space(args.folder) and not (args.origin or args.goal):
        paths = export_space(load_space(args.folder), folder, args.format)
    else:
        mapping, pair, _ = load(args)
        options = {"top": args.top, "mutual": args.mutual, "both": args.both}
        paths = export_alignment(mapping, pair, folder, args.format, **options)
    for path in paths:
        print(f"{display_path(path)} ({path.stat().st_size / 1e6:,.1f} MB)")
