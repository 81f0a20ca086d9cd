"""Command line: ``demalib COMMAND ...``.

A module for each group of commands: :mod:`~demalib.cli.data`, :mod:`~demalib.cli.align`,
:mod:`~demalib.cli.aligned` (what is done with an alignment) and :mod:`~demalib.cli.runs`. Each has
a function ``add`` that defines its commands and their options.
"""

from __future__ import annotations

import argparse
import os
import sys

import demalib
from demalib.cli import align, aligned, data, runs
from demalib.errors import DataError, harmless

GROUPS = (data, align, aligned, runs)


def main(argv: list[str] | None = None) -> int:
    """Run one command; an error that a user can fix is one line, with exit code 2."""
    top = parser()
    if not (sys.argv[1:] if argv is None else argv):
        top.print_help()
        return 2
    args, more = top.parse_known_args(argv)
    if more and "more" in args and not any(word.startswith("-") for word in more):
        getattr(args, args.more).extend(more)  # words after an option: translate DIR -k 3 WORD
    elif more:
        top.error(f"unrecognized arguments: {' '.join(more)}")
    try:
        code = args.call(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed it, as ``head`` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell reports it; the command may not be finished
    except (DataError, OSError) as error:
        print(f"demalib {args.command}: {harmless(str(error) or repr(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code or 0


def parser() -> argparse.ArgumentParser:
    """Define all commands and their options."""
    examples = [text for group in GROUPS for text in group.EXAMPLES.values()]
    top = argparse.ArgumentParser(
        "demalib",
        description="Align word embeddings of two or more languages.",
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"demalib {demalib.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add(commands)
    return top
