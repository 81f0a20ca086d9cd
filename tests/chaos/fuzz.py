"""Mutated files through every reader: DataError or a good result, soon, in little memory."""

import random
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos import MEMORY
from chaos.mutate import mutate
from chaos.samples import Sample, samples
from demalib.errors import DataError

SECONDS = 5.0  # of a processor that one small file may take
MEGABYTES = 200  # that all of a reader's inputs may add to the peak of memory


class TooSlow(BaseException):
    """Raised by the alarm; no reader may catch it."""


@dataclass
class Tally:
    """What happened to the inputs of one reader."""

    tried: int = 0
    refused: int = 0
    slowest: float = 0.0
    megabytes: float = 0.0
    outside: list[str] = field(default_factory=list)  # exceptions outside the contract


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Stop what takes too much of the processor; that others use it costs nothing."""

    def ring(*_):
        raise TooSlow(f"more than {seconds:.0f} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def damaged(sample: Sample, seed: str) -> bytes:
    """One input: a part is damaged before packing, or the whole file after."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        return mutate(sample.join(sample.parts), rng)
    name = rng.choice(list(sample.parts))
    return sample.join({**sample.parts, name: mutate(sample.parts[name], rng)})


def peak() -> float:
    """The largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fuzz(name: str, count: int, seed: int, sample: Sample | None = None) -> Tally:
    """Put ``count`` damaged files of a format through its reader."""
    sample, tally = sample or samples()[name], Tally()
    with (
        tempfile.TemporaryDirectory(prefix="chaos-", dir=MEMORY) as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        path = Path(folder) / sample.name
        path.write_bytes(sample.join(sample.parts))
        sample.read(path)  # the whole file is good
        before = peak()
        for number in range(count):
            one = f"{seed}:{name}:{number}"
            path.write_bytes(damaged(sample, one))
            began = time.process_time()
            try:
                with alarm(SECONDS):
                    sample.read(path)
            except DataError as error:
                tally.refused += 1
                if sample.name not in str(error):
                    tally.outside.append(f"{one}: the message names no file: {error}")
            except (Exception, TooSlow) as error:
                tally.outside.append(f"{one}: {type(error).__name__}: {error}"[:300])
            tally.tried += 1
            tally.slowest = max(tally.slowest, time.process_time() - began)
        tally.megabytes = peak() - before
    if tally.megabytes > MEGABYTES:
        tally.outside.append(f"{seed}:{name}: {tally.megabytes:.0f} MB more memory")
    return tally
