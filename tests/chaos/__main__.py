"""``make chaos``: inputs, kills, power cuts, single faults, bad networks, fuzzing and a soak.

Each thing that is tried has a row in one table, which is printed and kept in a file: ``results/bench/
chaos.csv``. Parts can be run one by one, also at the same time: a row replaces the one before.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from chaos import downloads, guided, hostile, link, network, powercut, single
from chaos.cost import MOST, cost
from chaos.faults import JOBS, kill, leftovers
from chaos.fuzz import fuzz
from chaos.samples import samples
from chaos.soak import MEGABYTES, soak
from chaos.table import PATH, Row, Table

SHARE = {"fastText": 0.5, "sweep": 0.5}  # slower ones get a smaller share
Rows = Iterator[Row]


def chosen(args: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """The names that were asked for, or all."""
    return [name for name in names if not args.only or name in args.only]


def inputs(args: argparse.Namespace) -> Rows:
    """Damaged files through every reader."""
    files = samples()
    each = -(-args.inputs * 2 // (2 * len(files) - 1))
    for name, sample in files.items():
        tally = fuzz(name, int(each * SHARE.get(name, 1)) + 1, args.seed, sample)
        yield Row(name, tally.tried, tally.outside, f"{tally.refused} refused")


def kills(args: argparse.Namespace) -> Rows:
    """Processes that are killed at random moments."""
    each = -(-args.kills * 2 // (2 * len(JOBS) - 1))
    for name in chosen(args, JOBS):
        tally = kill(name, int(each * SHARE.get(name, 1)) + 1, args.seed)
        yield Row(name, tally.injected, tally.outside)


def cuts(args: argparse.Namespace) -> Rows:
    """Every state that a power cut may leave."""
    for name in chosen(args, powercut.CASES):
        yield Row(name, *powercut.power_cuts(name, args.seed))


def faults(args: argparse.Namespace) -> Rows:
    """Every call of the system fails once."""
    if why := single.reason_not_to():
        yield Row("all", 0, [], f"not tried: {why}")
    for name in () if why else chosen(args, single.JOBS):
        kinds, wrong = single.single_faults(name, args.faults)
        shown = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        yield Row(name, kinds.total(), wrong, shown)


def net(args: argparse.Namespace) -> Rows:
    """A cluster and downloads over bad links."""
    if why := link.reason_not_to():
        yield Row("all", 0, [], f"not tried: {why}")
        return
    for name in chosen(args, network.SCENES):
        yield Row(name, 1, network.bad_network(name, args.seed))
    for name in chosen(args, downloads.SCENES):
        yield Row(name, 1, downloads.bad_download(name, args.seed))


def long(args: argparse.Namespace) -> Rows:
    """Long runs keep their memory, long sweeps leave nothing."""
    for what, grown in soak(args.rounds, args.rounds).items():
        wrong = [f"{what}: {grown:.1f} MB more memory"] if grown > MEGABYTES else []
        yield Row(what, args.rounds, wrong, f"{grown:+.1f} MB")
    yield Row("runs of a sweep", args.runs, leftovers(args.runs))


def words(args: argparse.Namespace) -> Rows:
    """Hostile words in a terminal, a table, a figure and a browser."""
    yield Row("words", len(hostile.HOSTILE), *hostile.shown())


def fuzzed(args: argparse.Namespace) -> Rows:
    """Inputs that are grown towards code that was not reached yet."""
    if why := guided.reason_not_to():
        yield Row("all", 0, [], f"not tried: {why}")
    else:
        yield Row("every reader", *guided.grow(args.fuzzed, args.seconds, args.seed))


def flushing(args: argparse.Namespace) -> Rows:
    """What flushing costs."""
    for what, (ratio, shown) in cost(args.repeats).items():
        wrong = [f"{what} takes {ratio:.3f} times as long"] if ratio > MOST else []
        yield Row(what, args.repeats, wrong, shown)


PARTS = {
    "inputs": inputs,
    "kills": kills,
    "powercut": cuts,
    "faults": faults,
    "network": net,
    "long": long,
    "hostile": words,
    "fuzz": fuzzed,
    "fsync": flushing,
}


def main() -> int:
    """Print the table; fail if a promise was broken."""
    args = argparse.ArgumentParser("chaos", description=__doc__)
    args.add_argument("parts", nargs="*", help=f"all, or some of: {', '.join(PARTS)}")
    args.add_argument("--only", nargs="+", help="of the jobs and scenes of a part, these")
    args.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    args.add_argument("--inputs", type=int, default=100_000, help="damaged files, at least")
    args.add_argument("--kills", type=int, default=56, help="at least")
    args.add_argument("--rounds", type=int, default=400, help="of EM, and as many gradient steps")
    args.add_argument("--runs", type=int, default=50, help="of a sweep that leaves nothing behind")
    args.add_argument("--faults", type=int, default=0, help="single faults per call; 0 is all")
    args.add_argument("--repeats", type=int, default=3, help="of the measurement of flushing")
    args.add_argument("--fuzzed", type=int, default=1_000_000, help="inputs, guided by coverage")
    args.add_argument("--seconds", type=int, default=3600, help="of fuzzing, at most")
    args.add_argument("--out", type=Path, default=PATH, help="the table")
    args = args.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(f"seed {args.seed}: repeat with --seed {args.seed}\n")
    table = Table(args.out, args.seed)
    for part in args.parts or PARTS:
        table.extend(part, PARTS[part](args))
    table.close()
    return int(bool(table.broken))


if __name__ == "__main__":
    sys.exit(main())
