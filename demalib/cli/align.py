"""Vectors of one's own: ``demalib align``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from demalib import alignment, solvers
from demalib.cli.common import (
    NamedFile,
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
from demalib.errors import DataError
from demalib.evaluation.drift import changed_words
from demalib.hints import parse_kinds
from demalib.many import align_many
from demalib.pair import Mapping, Pair, make_pair
from demalib.plugins import use_working_folder
from demalib.solvers import SOLVERS, get_solver
from demalib.spaces import describe_space, is_space, save_space

FREQUENT, SHOWN = 10_000, 10  # search this many frequent words; show this many that moved most
STRICT = 3  # exit code of an alignment that did not work, with --strict
EXAMPLES = {
    "align": """demalib align --src en.vec --tgt de.vec --out aligned
  demalib align --src wiki.en.vec --tgt cc.de.300.vec --langs en de --out aligned
  demalib align --src old.vec --tgt new.vec --same-language --out aligned
  demalib align --src en.vec --tgt de.vec --out aligned --lexicon en-de.train.txt --strict
  demalib align en.vec fr.vec ja.vec ru.vec --hub en --out together""",
}


def add(commands: Any) -> None:
    """Define the command and its options."""
    text = "Align vector files of your own: two, or more in one space."
    sub = add_command(commands, "align", align, text, EXAMPLES["align"])
    source = "source vectors: .vec, .vec.gz, .bin, .npz; LANG=PATH names their language"
    more = "vectors of each language, instead of --src and --tgt"
    sub.add_argument("files", nargs="*", metavar="FILE", help=more)
    sub.add_argument("--src", action=Once, help=source)
    sub.add_argument("--tgt", action=Once, help="target vectors")
    hub = "with more than two files: the language that all others are aligned with first"
    sub.add_argument("--hub", default="", metavar="LANG", help=f"{hub} (default: most hints)")
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
    seed = "of solvers that draw random numbers; em draws none (default: 0)"
    sub.add_argument("--seed", type=int, default=0, help=seed)
    add_policy(sub)


def align(args: argparse.Namespace) -> int:
    """Read the files, learn the maps, write a folder with everything that later steps need."""
    if len(args.files) > 2:
        return align_together(args)
    choose_two(args)
    use_working_folder([args.solver])
    get_solver(args.solver)
    parse_kinds(args.hints)  # report a mistake in it before reading files
    out = Path(args.out)
    with claim_folder(out):  # before the work, not after it
        replaced = (out / alignment.FILES[-1]).is_file()
        if is_space(out):
            raise DataError(f"{display_path(out)}: has a space of many languages; choose another")
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


def choose_two(args: argparse.Namespace) -> None:
    """Take two files from --src and --tgt or from the list of files; refuse both."""
    given = [path for path in (args.src, args.tgt) if path]
    if len(given) + len(args.files) != 2 or len(given) == 1:
        raise DataError("give two files: --src FILE --tgt FILE; or a list of two or more files")
    if args.hub:
        raise DataError("--hub is for more than two files")
    if args.files:
        args.src, args.tgt = args.files


def align_together(args: argparse.Namespace) -> int:
    """Align more than two files in one space."""
    if args.src or args.tgt or args.lexicon or args.same_language or args.solver != "em":
        raise DataError(
            "more than two files are aligned by em, without --src, --tgt, --lexicon, --solver and "
            "--same-language; in Python, demalib.align_many takes lexicons"
        )
    parse_kinds(args.hints)
    files, out = named_files(args.files, args.langs), Path(args.out)
    print(show_langs(files))
    if args.hub and args.hub not in {file.lang for file in files}:
        raise DataError(f"--hub {args.hub} is none of {', '.join(file.lang for file in files)}")
    with claim_folder(out):
        replaced = is_space(out)
        if (out / alignment.FILES[-1]).is_file():
            raise DataError(f"{display_path(out)}: has an alignment of two; choose another folder")
        policy = policy_of(args)
        sides = [read_vectors(file.path, policy, file.lang) for file in files]
        print(*(side.summary() for side in sides), sep="\n")
        config = config_of(args, files, args.hints)
        started = time.perf_counter()
        space = align_many(sides, config, args.hub)
        space.info["policy"] = asdict(policy)
        seconds = time.perf_counter() - started
        save_space(out, space)
    tail = " (replaced the space that was there)" if replaced else ""
    print(f"aligned {len(files)} languages in {seconds:.1f} s: {display_path(out)}{tail}")
    for name, fact in describe_space(space).items():
        print(f"{name}: {fact}")
    answers = [facts["verdict"]["answer"] for facts in space.info["pairs"].values()]
    return STRICT if args.strict and "no" in answers else 0


def config_of(args: argparse.Namespace, files: Sequence[NamedFile], hints: str) -> Config:
    """Make the settings that the options ask for; a space is named after its first two files."""
    settings = {"vectors": "files", "max_vocab": args.max_vocab, "hints": hints}
    name = "-".join(file.lang for file in files[:2])
    return Config(name, args.solver, args.seed).replace(**settings)


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
    config = config_of(args, files, hints)
    pair = make_pair(src, tgt, train, normalisation=get_solver(args.solver).normalisation)
    print(src.summary(), tgt.summary(), f"{len(pair.identical):,} identical words", sep="\n")
    started = time.perf_counter()
    mapping = solvers.align(pair, config)
    mapping.info.update(policy=asdict(policy), seconds=time.perf_counter() - started)
    if train and pair.train is not None:
        found = {"name": train.name, "pairs": len(train), "found": len(pair.train)}
        mapping.info["lexicon"] = found
    return mapping, pair
