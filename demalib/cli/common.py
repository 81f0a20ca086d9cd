"""What the groups of commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from demalib.data.files import plain_name
from demalib.data.store import guess_lang
from demalib.embedding import CASES, Policy
from demalib.errors import DataError

MAX_VOCAB = 200_000


def add_command(
    commands: Any, name: str, call: Callable[..., int | None], text: str, examples: str
) -> argparse.ArgumentParser:
    """Add a command to the parser.

    Args:
        commands: What ``add_subparsers`` returned.
        name: Its name.
        call: Its function, which takes the parsed arguments and returns the exit code.
        text: What it does, in one sentence.
        examples: Lines for the end of its help.
    """
    sub = commands.add_parser(
        name,
        help=text,
        description=text,
        epilog=f"examples:\n  {examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.set_defaults(call=call)
    return sub


class NamedFile(NamedTuple):
    """A file on the command line, and the language of its words."""

    path: Path
    lang: str
    guessed: bool


class Once(argparse.Action):
    """An option that can be given only once; argparse itself would use the last one."""

    def __call__(self, parser, args, value, option_string=None):
        """Store the value; refuse a second one."""
        if getattr(args, self.dest) is not None:
            parser.error(f"{option_string} is given twice; give it once")
        setattr(args, self.dest, value)


def add_langs(sub: Any) -> None:
    """Add the option that names the languages of files."""
    text = "languages of the files, in their order (default: guessed from the names)"
    sub.add_argument("--langs", nargs="+", metavar="LANG", help=text)


def add_policy(sub: Any) -> None:
    """Add the options of the clean-up of words; see :class:`demalib.embedding.Policy`."""
    sub.add_argument(
        "--max-vocab",
        type=int,
        default=MAX_VOCAB,
        help=f"most frequent words kept per side; 0 keeps all (default: {MAX_VOCAB})",
    )
    case = "lower case (default), lower case of Turkish, or words as they are"
    sub.add_argument("--case", choices=CASES, default="lower", help=case)
    tokens = "keep words with a letter, or all"
    sub.add_argument("--tokens", choices=("letters", "all"), default="letters", help=tokens)


def policy_of(args: argparse.Namespace) -> Policy:
    """Return the clean-up that the options of :func:`add_policy` ask for."""
    return Policy(args.case, args.tokens, args.max_vocab)


def named_files(
    specs: Sequence[str], langs: Sequence[str] | None = None, same: bool = False
) -> list[NamedFile]:
    """Find the language of every file: ``en=path`` sets it, ``--langs`` sets all of them.

    Args:
        specs: Paths, or ``LANG=PATH``.
        langs: A language for each; guessed from the names if left out.
        same: The files are of one language; equal names are numbered.

    Raises:
        DataError: There are more or fewer languages than files, or two files have the same.
    """
    if langs and len(langs) != len(specs):
        raise DataError(f"--langs names {len(langs)} languages for {len(specs)} files")
    files = []
    for number, spec in enumerate(specs):
        lang, equals, path = spec.partition("=")
        if not equals or Path(spec).is_file() or "/" in lang:
            lang, path = "", spec
        given = langs[number] if langs else lang
        files.append(NamedFile(Path(path), plain_name(given or guess_lang(path)), not given))
    if same and len({file.lang for file in files}) < len(files):
        files = [file._replace(lang=f"{file.lang}{n}") for n, file in enumerate(files, 1)]
    seen: dict[str, Path] = {}
    for file in files:
        if file.lang in seen:
            names = " ".join(f"{file.lang}{n}" for n in range(1, len(files) + 1))
            raise DataError(
                f"{seen[file.lang]} and {file.path} are both taken for the language "
                f"{file.lang!r}; name them, such as --langs {names}"
            )
        seen[file.lang] = file.path
    return files


def show_langs(files: Sequence[NamedFile]) -> str:
    """Say in one line which language each file is taken for, and how to change that."""
    shown = ", ".join(f"{file.path.name} is {file.lang}" for file in files)
    guessed = any(file.guessed for file in files)
    return f"languages: {shown}" + " (guessed from the names; --langs sets them)" * guessed
