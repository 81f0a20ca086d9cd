"""The plain data in a pickle: read by a small machine of our own, which cannot import or call.

A pickle is a program, and Python's own reader runs it. Here its instructions are only listed, and
those that make text, numbers, lists, tuples and dictionaries are carried out. Every other one, and
so each that names a class or calls something, ends the reading.
"""

from __future__ import annotations

import io
import pickletools
from typing import Any

TEXT = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
NUMBERS = ("BININT", "BININT1", "BININT2", "BINFLOAT")
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
PUT, GET = ("BINPUT", "LONG_BINPUT", "MEMOIZE"), ("BINGET", "LONG_BINGET")
_MARK = object()


def read_data(raw: bytes) -> Any:
    """Read the lists, tuples, dictionaries, texts and numbers of a pickle.

    Args:
        raw: A pickle of protocol 1 or newer, or a piece of one that ends in ``b"."``. What a piece
            refers to outside itself is None.

    Raises:
        ValueError: It contains any other instruction, such as one that would import a module or
            call a function, or it is damaged.

    Example:
        >>> read_data(bytes.fromhex("80035d7100284b014b02652e"))  # protocol 3, [1, 2]
        [1, 2]
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for code, given, at in pickletools.genops(io.BytesIO(raw)):
            if code.name == "STOP":
                (value,) = stack
                return value
            _carry_out(code.name, given, at or 0, stack, memo)
    except (IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"the pickle in it is damaged ({error})") from error
    raise ValueError("the pickle in it does not end")


def _carry_out(name: str, given: Any, at: int, stack: list[Any], memo: dict[int, Any]) -> None:
    """Carry out one instruction."""
    if name in TEXT or name in NUMBERS:
        stack.append(given)
    elif name in PUT:
        memo[len(memo) if name == "MEMOIZE" else given] = stack[-1]
    elif name in GET:
        stack.append(memo.get(given))
    elif name in EMPTY:
        stack.append(EMPTY[name]())
    elif name in CONSTANTS:
        stack.append(CONSTANTS[name])
    elif name in TUPLES:
        items = tuple(stack[-TUPLES[name] :])
        del stack[-TUPLES[name] :]
        stack.append(items)
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "APPEND":
        list.append(stack[-2], stack.pop())
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        dict.update(stack[-1], {key: value})
    elif name in ("APPENDS", "SETITEMS", "TUPLE"):
        _gather(name, stack)
    elif name not in ("PROTO", "FRAME"):
        raise ValueError(f"the pickle in it has the instruction {name} at byte {at:,}: refused")


def _gather(name: str, stack: list[Any]) -> None:
    """Put all that follows the last mark into a tuple, or into the list or dictionary before it."""
    items: list[Any] = []
    while (item := stack.pop()) is not _MARK:
        items.append(item)
    items.reverse()
    if name == "TUPLE":
        stack.append(tuple(items))
    elif name == "APPENDS":
        list.extend(stack[-1], items)
    else:
        dict.update(stack[-1], zip(items[::2], items[1::2], strict=True))
