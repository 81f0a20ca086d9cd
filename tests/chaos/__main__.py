"""``make chaos``: inputs, kills and a soak, and one table of what came of them."""

import argparse
import os
import sys
import time

from chaos import downloads, link, network, powercut, single
from chaos.cost import cost
from chaos.faults import JOBS, kill, leftovers
from chaos.fuzz import fuzz
from chaos.hostile import HOSTILE
from chaos.samples import samples
from chaos.soak import MEGABYTES, soak

SHARE = {"fastText": 0.5, "sweep": 0.5}  # slower ones get a smaller share


def line(*cells: object) -> None:
    """A row of the table."""
    print("{:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}".format(*map(str, cells)), flush=True)


def main() -> int:
    """Print the table; fail if a promise was broken."""
    args = argparse.ArgumentParser("chaos", description=__doc__)
    args.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    args.add_argument("--inputs", type=int, default=100_000, help="damaged files, at least")
    args.add_argument("--kills", type=int, default=56, help="at least")
    args.add_argument(
        "--rounds", type=int, default=400, help="rounds of EM, and as many gradient steps"
    )
    args.add_argument("--runs", type=int, default=50, help="of a sweep that leaves nothing behind")
    args.add_argument("--faults", type=int, default=0, help="single faults per job; 0 is all")
    args.add_argument("--repeats", type=int, default=5, help="of the measurement of flushing")
    args = args.parse_args()
    print(f"seed {args.seed}: repeat with --seed {args.seed}\n")
    line("what", "faults", "survived", "inputs", "outside", "lost", "seconds")
    total, broken = [0] * 5, []

    def row(name, faults, survived, inputs, outside, began):
        cells = [faults, survived, inputs, len(outside), faults - survived]
        total[:] = [a + b for a, b in zip(total, cells, strict=True)]
        broken.extend(outside)
        line(name, *cells, f"{time.monotonic() - began:.0f}")

    files = samples()
    each = -(-args.inputs * 2 // (2 * len(files) - 1))
    for name, sample in files.items():
        began = time.monotonic()
        tally = fuzz(name, int(each * SHARE.get(name, 1)) + 1, args.seed, sample)
        row(name, 0, 0, tally.tried, tally.outside, began)
    each = -(-args.kills * 2 // (2 * len(JOBS) - 1))
    for name in JOBS:
        began = time.monotonic()
        tally = kill(name, int(each * SHARE.get(name, 1)) + 1, args.seed)
        row(f"kill -9: {name}", tally.injected, tally.survived, 0, tally.outside, began)
    for name in powercut.CASES:
        began = time.monotonic()
        tried, wrong = powercut.power_cuts(name, args.seed)
        row(f"power cut: {name}", tried, tried - len(wrong), 0, wrong, began)
    if why := single.reason_not_to():
        print(f"no single faults: {why}")
    for name in () if why else single.JOBS:
        began = time.monotonic()
        kinds, wrong = single.single_faults(name, args.faults)
        tried = kinds.total()
        row(f"fault: {name}", tried, tried - len(wrong), 0, wrong, began)
        print("  " + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    if why := link.reason_not_to():
        print(f"no bad network: {why}")
    scenes = dict.fromkeys(network.SCENES, network.bad_network)
    scenes |= dict.fromkeys(downloads.SCENES, downloads.bad_download)
    for name, play in ({} if why else scenes).items():
        began = time.monotonic()
        wrong = play(name, args.seed)
        row(f"network: {name}", 1, int(not wrong), 0, wrong, began)
    began = time.monotonic()
    for what, grown in soak(args.rounds, args.rounds).items():
        outside = [f"{what}: {grown:.1f} MB more memory"] if grown > MEGABYTES else []
        row(f"{args.rounds} {what}", 0, 0, 0, outside, began)
    began = time.monotonic()
    row(f"sweep of {args.runs} runs", 0, 0, 0, leftovers(args.runs), began)
    line("all", *total, "")
    print(
        f"\n{len(HOSTILE)} hostile strings are in tests/explore/test_hostile.py; make fuzz: coverage"
    )
    for what, ratio in cost(args.repeats).items():
        print(f"flushing costs {what}: {ratio:.3f} of the time without")
    print(f"\nseed {args.seed}; outside: exceptions or memory outside the contract; lost: results")
    print("\n".join(broken))
    return int(bool(broken) or total[0] != total[1])


if __name__ == "__main__":
    sys.exit(main())
