"""Command line: ``demalib fetch | align | info | translate | evaluate | export | run | sweep``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pandas as pd

from demalib import alignment, runs, solvers
from demalib.alignment import FORMATS, export_alignment
from demalib.config import REGISTRY_PAIRS, Config
from demalib.data.files import display_path
from demalib.data.lexicon import read_lexicon
from demalib.data.registry import REGISTRY, fetch_muse_vectors, fetch_wheels, load_vectors
from demalib.data.store import read_vectors
from demalib.embedding import CASES, Policy, explain_unknown
from demalib.errors import DataError
from demalib.evaluation import benchmark
from demalib.hints import parse_kinds
from demalib.pair import make_pair
from demalib.retrieval import METRICS
from demalib.runs import cluster, notebooks
from demalib.solvers import SOLVERS, TABLED, get_solver

FETCHED = ("en", "fr")  # the pair of "make run"
SWEPT = ("identical", "procrustes", "em")
STRICT = 3  # exit code of an alignment that did not work, with --strict
EXAMPLES = {
    "fetch": """demalib fetch                       download vectors of en and fr (74 MB)
  demalib fetch en-glove fi           download other English vectors, and Finnish ones
  demalib fetch muse es               download the paper's Spanish vectors (several GB)""",
    "align": """demalib align --src en.vec --tgt de.vec --out aligned
  demalib align --src en.vec --tgt de.vec --out aligned --lexicon en-de.train.txt --strict""",
    "info": "demalib info aligned",
    "translate": """demalib translate aligned cat dog -k 3
  demalib translate aligned Katze --reverse --metric csls-d""",
    "evaluate": "demalib evaluate aligned --lexicon en-de.txt --json",
    "export": """demalib export aligned --format word2vec
  demalib export aligned --format dictionary --out elsewhere""",
    "run": "demalib run notebooks/02_train.ipynb -p pair en-ja",
    "sweep": """demalib sweep --pairs en-fr en-ja --solvers em --seeds 0 1 2
  demalib sweep --pairs en-fr --solvers all --seeds 0 --scheduler local""",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; an error that a user can fix is one line, with exit code 2."""
    args = parser().parse_args(argv)
    try:
        code = args.call(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed it, as ``head`` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell reports it; the command may not be finished
    except (DataError, OSError) as error:
        print(f"demalib {args.command}: {str(error) or repr(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code or 0


def parser() -> argparse.ArgumentParser:
    """Define all commands and their options."""
    top = argparse.ArgumentParser(
        "demalib",
        description="Align word embeddings of two languages.",
        epilog="\n  ".join(["examples:", *EXAMPLES.values()]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, call, help):
        epilog = f"examples:\n  {EXAMPLES[name]}"
        raw = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(
            name, help=help, description=help, epilog=epilog, formatter_class=raw
        )
        sub.set_defaults(call=call)
        return sub

    def on_folder(name, call, help):
        sub = command(name, call, help)
        sub.add_argument("folder", metavar="DIR", help="folder that 'demalib align' wrote")
        return sub

    sub = command("fetch", fetch, "Download vectors into the cache, once.")
    langs = f"any of {' '.join(REGISTRY)} (default: {' '.join(FETCHED)}); "
    langs += "'muse LANG...' downloads the paper's fastText vectors instead"
    sub.add_argument("lang", nargs="*", metavar="LANG", help=langs)

    sub = command("align", align, "Align two vector files of your own.")
    sub.add_argument("--src", required=True, help="source vectors: .vec, .vec.gz, .bin, .npz")
    sub.add_argument("--tgt", required=True, help="target vectors")
    sub.add_argument("--out", required=True, help="folder for the result")
    usual = Config()
    solver = f"{', '.join(SOLVERS)} (default: {usual.solver})"
    sub.add_argument("--solver", default=usual.solver, help=solver)
    sub.add_argument("--lexicon", help="dictionary to learn from: 'source target' lines")
    kinds = f"hints without a dictionary, for em (default: {usual.hints})"
    sub.add_argument("--hints", default=usual.hints, help=kinds)
    strict = "exit code 3 if the verdict is that the alignment did not work"
    sub.add_argument("--strict", action="store_true", help=strict)
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument(
        "--max-vocab",
        type=int,
        default=200_000,
        help="most frequent words kept per side; 0 keeps all (default: 200000)",
    )
    sub.add_argument("--case", choices=CASES, default="lower")
    tokens = "keep words with a letter, or all"
    sub.add_argument("--tokens", choices=("letters", "all"), default="letters", help=tokens)

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

    sub = command("run", run, "Execute a notebook headlessly and show its figures.")
    sub.add_argument("notebook")
    parameter(sub)

    sub = command("sweep", sweep, "Run many pairs, solvers and seeds; skip finished runs.")
    sub.add_argument("--pairs", nargs="+", default=list(REGISTRY_PAIRS), metavar="PAIR")
    every = "'all' runs every system of the paper's tables"
    sub.add_argument("--solvers", nargs="+", default=list(SWEPT), metavar="SOLVER", help=every)
    sub.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="SEED")
    parts = "parts to leave out, 'none' for the whole objective"
    sub.add_argument("--ablate", nargs="+", default=[""], metavar="PART", help=parts)
    sub.add_argument("--notebook", default="notebooks/02_train.ipynb")
    dask = "run on Dask: workers on this machine, or a cluster's tcp://HOST:PORT or scheduler file "
    dask += "(default: in this process, one by one)"
    sub.add_argument("--scheduler", default="", metavar="local|ADDRESS|FILE", help=dask)
    count = "parallel runs with --scheduler local (default: 2)"
    sub.add_argument("--workers", type=int, default=0, metavar="N", help=count)
    parameter(sub)
    return top


def parameter(sub: argparse.ArgumentParser) -> None:
    """Add the option ``-p NAME VALUE``, as papermill has it."""
    names, text = ("NAME", "VALUE"), "set a parameter of the notebook"
    sub.add_argument("-p", nargs=2, action="append", default=[], metavar=names, help=text)


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


def align(args: argparse.Namespace) -> int:
    """Read two files, learn the map, write a folder with everything that later steps need."""
    known, out = get_solver(args.solver), Path(args.out)
    parse_kinds(args.hints)  # a mistake in it is told before files are read
    if out.exists() and not out.is_dir():
        raise DataError(
            f"{out}: a file of this name is in the way; choose another folder with --out"
        )
    policy = Policy(args.case, args.tokens, args.max_vocab)
    src, tgt = (read_vectors(path, policy) for path in (args.src, args.tgt))
    if src.lang == tgt.lang:
        raise DataError(f"{args.src} and {args.tgt} have the same name {src.lang!r}; rename one")
    train = read_lexicon(args.lexicon, policy) if args.lexicon else None
    settings = {"vectors": "files", "max_vocab": args.max_vocab, "hints": args.hints}
    config = Config(f"{src.lang}-{tgt.lang}", args.solver, args.seed).replace(**settings)
    pair = make_pair(src, tgt, train, normalisation=known.normalisation)
    print(src.summary(), tgt.summary(), f"{len(pair.identical):,} identical words", sep="\n")
    started = time.perf_counter()
    mapping = solvers.align(pair, config)
    seconds = time.perf_counter() - started
    mapping.info.update(policy=asdict(policy), seconds=seconds)
    alignment.save_alignment(out, mapping, pair)
    print(f"aligned with solver {args.solver} in {seconds:.1f} s: {display_path(out)}")
    for name, fact in alignment.findings(mapping).items():
        print(f"{name}: {fact}")
    verdict = alignment.verdict_of(mapping)
    return STRICT if args.strict and verdict and verdict.answer == "no" else 0


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
    known = [word for word in args.words if src.find(word) is not None]
    if known:
        table = alignment.translate(mapping, pair, known, args.k, args.metric, args.reverse)
        with pd.option_context("display.unicode.east_asian_width", True):
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


def run(args: argparse.Namespace) -> None:
    """Execute a notebook into its run folder; print the table and the files."""
    started = time.perf_counter()
    params = {name: _literal(value) for name, value in args.p}
    folder = notebooks.run_notebook(args.notebook, params)
    out = folder / Path(args.notebook).name
    if not (folder / "metrics.json").is_file():
        print(f"{time.perf_counter() - started:.0f} s: {display_path(out)}")
        return
    metrics = runs.read_metrics(folder)
    print(f"\n{metrics['pair']}, solver {metrics['solver']}, seed {metrics['seed']}, in percent:\n")
    print(benchmark.results_table(metrics["results"]).to_string(index=False))
    print(f"\nsolved in {metrics['seconds']:.1f} s, {time.perf_counter() - started:.0f} s in all")
    for path in (out, folder / "metrics.json", *sorted(folder.glob("*.png"))):
        print(f"  {display_path(path)}")


def sweep(args: argparse.Namespace) -> None:
    """Execute every combination and print a summary; fail if a run failed."""
    names = TABLED if args.solvers == ["all"] else args.solvers
    parts = ["" if part == "none" else part for part in args.ablate]
    grid = {"pair": args.pairs, "solver": names, "seed": args.seeds, "ablate": parts}
    params = {"max_vocab": 0} | {name: _literal(value) for name, value in args.p}
    if args.workers < 0 or (args.workers and args.scheduler != "local"):
        raise DataError("--workers: must be at least 1, and needs --scheduler local")
    on_dask = partial(cluster.on_dask, scheduler=args.scheduler, workers=args.workers)
    carry_out = on_dask if args.scheduler else notebooks.run_in_process
    table = notebooks.sweep(args.notebook, grid, params, carry_out)
    failed = table[table["outcome"] == "failed"]
    print("\n" + table["outcome"].value_counts().to_string() + f"\n{table['seconds'].sum():.0f} s")
    if len(failed):
        raise DataError(f"{len(failed)} runs failed:\n  " + "\n  ".join(failed["detail"]))


def _literal(text: str) -> str | int | float | bool:
    """Parse a parameter as papermill's own command line does."""
    if text in ("True", "False", "true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
