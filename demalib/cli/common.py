"""What the groups of commands share."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import Any


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


def literal(text: str) -> str | int | float | bool:
    """Parse a parameter as papermill's own command line does.

    Example:
        >>> literal("0.5"), literal("True"), literal("em")
        (0.5, True, 'em')
    """
    if text in ("True", "False", "true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
