"""The one error that people see, and text from files made harmless for their screens."""

# characters that a terminal obeys, or that turn the text behind them around
_CONTROL = [c for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t"]
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_VISIBLE = {c: f"\\u{c:04x}" for c in (*_CONTROL, *_TURNING)}


class DataError(ValueError):
    """Input that cannot be used: the message names the file, the place and what to do."""


def harmless(text: str) -> str:
    """Write control characters and changes of the direction of text as ``\\u001b``.

    Words come from files of others: a terminal would obey an escape sequence in one.
    """
    return text.translate(_VISIBLE)
