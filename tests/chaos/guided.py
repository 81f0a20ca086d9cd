"""``make fuzz``: inputs that a fuzzer grows towards code it has not seen yet (atheris).

It starts from ``corpus``. An input that breaks the contract is written to ``crashes``, and becomes
a test; see :mod:`chaos.seeds` for what an input is.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["demalib"]):
    from chaos.seeds import CORPUS, targets, valid


def main() -> None:
    """Fuzz for a while; libFuzzer prints its figures and ends the process."""
    args = argparse.ArgumentParser("guided", description=__doc__)
    args.add_argument("--inputs", type=int, default=1_000_000)
    args.add_argument("--seconds", type=int, default=3600, help="at most")
    args = args.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    found, seeds = folder / "found", folder / "seeds"
    for place in (found, seeds, Path("crashes")):
        place.mkdir(exist_ok=True)
    for number, data in enumerate(valid()):
        (seeds / f"{number}").write_bytes(data)
    every = targets(folder)

    def one(data: bytes) -> None:
        if data:
            every[data[0] % len(every)](data[1:])

    flags = ["-artifact_prefix=crashes/", "-timeout=60", "-rss_limit_mb=3000", "-max_len=20000"]
    flags += [f"-runs={args.inputs}", f"-max_total_time={args.seconds}", "-print_final_stats=1"]
    print(f"what is found is kept in {found}")
    atheris.Setup([sys.argv[0], *flags, str(found), str(CORPUS), str(seeds)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
