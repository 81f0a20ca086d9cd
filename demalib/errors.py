"""The one error that people see."""


class DataError(ValueError):
    """Input that cannot be used: the message names the file, the place and what to do."""
