"""What the fuzzer's inputs are: the first byte chooses the reader, the rest is the file.

Packed formats get their parts before packing, with ``BETWEEN`` between them, or the fuzzer would
only ever break the packing.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

from chaos.samples import Sample, samples
from demalib import runs
from demalib.config import preset
from demalib.data.files import plain_name
from demalib.errors import DataError

CORPUS = Path(__file__).with_name("corpus")
BETWEEN = b"\xff\0between\0\xff"
Target = Callable[[bytes], None]


def check_name(text: str) -> None:
    """A name that is let through stays in its folder."""
    path = Path("/folder", plain_name(text))
    assert path.parent == Path("/folder") and path.name == text


def check_parameters(text: str) -> None:
    """Settings of a run: a folder below the results, or a DataError."""
    pair, solver, ablate, seed = (text.split("\n") + [""] * 3)[:4]
    config = preset(pair, solver=solver, ablate=ablate, seed=seed)
    assert runs.results_dir() / "runs" in runs.run_dir(config).parents


def reader(sample: Sample, folder: Path) -> Target:
    """A function that reads bytes as a file of this format."""
    names, path = list(sample.parts), folder / sample.name

    def read(data: bytes) -> None:
        parts = data.split(BETWEEN) + [b""] * len(names)
        path.write_bytes(sample.join(dict(zip(names, parts, strict=False))))
        try:
            sample.read(path)
        except DataError as error:
            assert sample.name in str(error), f"the message names no file: {error}"

    return read


def text(check: Callable[[str], None]) -> Target:
    """A function that takes bytes as a text."""

    def read(data: bytes) -> None:
        with contextlib.suppress(DataError):
            check(data.decode("utf-8", "surrogateescape"))

    return read


def targets(folder: Path) -> list[Target]:
    """Every reader, then names and parameters."""
    readers = [reader(sample, folder) for sample in samples().values()]
    return [*readers, text(check_name), text(check_parameters)]


def valid() -> list[bytes]:
    """A good input for each."""
    files = [BETWEEN.join(sample.parts.values()) for sample in samples().values()]
    return [bytes([i]) + data for i, data in enumerate([*files, b"em", b"en-fr\nem\nprior\n0"])]
