"""Vectors of one's own: ``demalib align``."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from demalib import alignment, solvers
from demalib.cli.common import (
    Once,
    add_command,
    add_langs,
    add_policy,
    named_files,
    policy_of,
    show_langs,
)
from demalib.config import Config
from demalib.data.files import claim_folder, display_path
from demalib.data.lexicon import read_lexicon
from demalib.data.store import read_vectors
from demalib.evaluation.drift import changed_words
from demalib.hints import parse_kinds
from demalib.pair import Mapping, Pair, make_pair
from demalib.plugins import use_working_folder
from demalib.solvers import SOLVERS, get_solver

FREQUENT, SHOWN = 10_000, 10  # of so many frequent words, so many that have moved most
STRICT = 3  # exit code of an alignment that did not work, with --strict
EXAMPLES = {
    "align": """demalib align --src en.vec --tgt de.vec --out aligned
  demalib align --src wiki.en.vec --tgt cc.de.300.vec --langs en de --out aligned
  demalib align --src old.vec --tgt new.vec --same-language --out aligned
  demalib align --src en.vec --tgt de.vec --out aligned --lexicon en-de.train.txt --strict""",
}


def add(commands: Any) -> None:
    """Define the command and its options."""
    text = "Align two vector files of your own."
    sub = add_command(commands, "align", align, text, EXAMPLES["align"])
    source = "source vectors: .vec, .vec.gz, .bin, .npz; LANG=PATH names their language"
    sub.add_argument("--src", required=True, action=Once, help=source)
    sub.add_argument("--tgt", required=True, action=Once, help="target vectors")
    add_langs(sub)
    sub.add_argument("--out", required=True, action=Once, help="folder for the result")
    usual = Config()
    solver = f"{', '.join(SOLVERS)}, or module:function (default: {usual.solver})"
    sub.add_argument("--solver", default=usual.solver, help=solver)
    sub.add_argument("--lexicon", help="dictionary to learn from: 'source target' lines")
    kinds = f"hints without a dictionary, for em (default: {usual.hints})"
    sub.add_argument("--hints", default=usual.hints, help=kinds)
    same = "two models of one language: equal names are numbered, words that have moved are shown"
    sub.add_argument("--same-language", action="store_true", help=same)
    strict = "exit code 3 if the verdict is that the alignment did not work"
    sub.add_argument("--strict", action="store_true", help=strict)
    sub.add_argument("--seed", type=int, default=0)
    add_policy(sub)


def align(args: argparse.Namespace) -> int:
    """Read two files, learn the map, write a folder with everything that later steps need."""
    use_working_folder([args.solver])
    get_solver(args.solver)
    parse_kinds(args.hints)  # a mistake in it is told before files are read
    out = Path(args.out)
    with claim_folder(out):  # before the work, not after it
        replaced = (out / alignment.FILES[-1]).is_file()
        mapping, pair = learn(args)
        alignment.save_alignment(out, mapping, pair)
    tail = " (replaced the alignment that was there)" if replaced else ""
    seconds = mapping.info["seconds"]
    print(f"aligned with solver {args.solver} in {seconds:.1f} s: {display_path(out)}{tail}")
    for name, fact in alignment.findings(mapping).items():
        print(f"{name}: {fact}")
    if args.same_language:
        moved = changed_words(mapping, pair).query("rank <= @FREQUENT").head(SHOWN)
        print(
            "moved most:",
            ", ".join(f"{w} ({p:.2f})" for w, p in zip(moved.word, moved.p_self, strict=True)),
        )
    verdict = alignment.verdict_of(mapping)
    return STRICT if args.strict and verdict and verdict.answer == "no" else 0


def learn(args: argparse.Namespace) -> tuple[Mapping, Pair]:
    """Read the files and learn the map between them; print what was read."""
    files = named_files([args.src, args.tgt], args.langs, args.same_language)
    print(show_langs(files))
    policy = policy_of(args)
    src, tgt = (read_vectors(file.path, policy, file.lang) for file in files)
    train = read_lexicon(args.lexicon, policy) if args.lexicon else None
    hints = args.hints
    if args.same_language and hints == Config().hints:
        hints = "identical,numerals"  # another spelling is another word
    settings = {"vectors": "files", "max_vocab": args.max_vocab, "hints": hints}
    config = Config(f"{src.lang}-{tgt.lang}", args.solver, args.seed).replace(**settings)
    pair = make_pair(src, tgt, train, normalisation=get_solver(args.solver).normalisation)
    print(src.summary(), tgt.summary(), f"{len(pair.identical):,} identical words", sep="\n")
    started = time.perf_counter()
    mapping = solvers.align(pair, config)
    mapping.info.update(policy=asdict(policy), seconds=time.perf_counter() - started)
    if train and pair.train is not None:
        found = {"name": train.name, "pairs": len(train), "found": len(pair.train)}
        mapping.info["lexicon"] = found
    return mapping, pair
