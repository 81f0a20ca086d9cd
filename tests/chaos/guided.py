"""``make fuzz``: inputs that a fuzzer grows towards code it has not seen yet (atheris).

It starts from ``corpus``. An input that breaks the contract is written to ``crashes``, and becomes
a test; see :mod:`chaos.seeds` for what an input is. Every core has a process of its own, and they
learn from each other's inputs.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chaos import MEMORY

CRASHES = Path("crashes")


def reason_not_to() -> str:
    """Why no inputs can be grown here; "" if they can."""
    return "" if importlib.util.find_spec("atheris") else 'pip install -e ".[fuzz]" first'


def grow(inputs: int, seconds: int, seed: int) -> tuple[int, list[str], str]:
    """Fuzz with a process per core: inputs tried, what broke the contract, and the coverage."""
    processes = os.cpu_count() or 1
    found, began, running = Path(tempfile.mkdtemp(prefix="fuzz-")), time.monotonic(), []
    flags = f"--inputs {-(-inputs // processes)} --seconds {seconds} --found {found}".split()
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:  # ten times as fast as a disk
        logs = [Path(folder, f"log-{number}") for number in range(processes)]
        for number, log in enumerate(logs, start=1):
            words = ["-W", "ignore", "-m", "chaos.guided", *flags, "--seed", str(seed + number)]
            words += ["--place", tempfile.mkdtemp(dir=folder)]
            with open(log, "w") as file:
                process = subprocess.Popen([sys.executable, *words], stdout=file, stderr=file)
            running.append(process)
        codes = [process.wait() for process in running]
        texts = [log.read_text(errors="replace") for log in logs]
    tried = sum(map(int, re.findall(r"number_of_executed_units:\s*(\d+)", "".join(texts))))
    reached = max(map(int, re.findall(r"cov: (\d+)", "".join(texts))), default=0)
    rate = 3600 * tried / (time.monotonic() - began)
    print(f"what reached new code is kept in {found}")
    wrong = [text[-600:] for text, code in zip(texts, codes, strict=True) if code]
    return tried, wrong, f"coverage {reached}; {processes} processes, {rate:,.0f} an hour"


def main() -> None:
    """Fuzz for a while; a process with a place of its own prints libFuzzer's figures and ends."""
    args = argparse.ArgumentParser("guided", description=__doc__)
    args.add_argument("--inputs", type=int, default=1_000_000)
    args.add_argument("--seconds", type=int, default=3600, help="at most")
    args.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    args.add_argument("--found", help="for one process: a folder of inputs that reach new code")
    args.add_argument("--place", type=Path, help="for one process: an empty folder")
    args = args.parse_args()
    if not args.place:
        tried, wrong, shown = grow(args.inputs, args.seconds, args.seed)
        print(f"{tried:,} inputs, {len(wrong)} processes found a breach; {shown}")
        sys.exit("\n".join(wrong) or 0)
    import atheris

    with atheris.instrument_imports(include=["demalib"]):
        from chaos.seeds import CORPUS, targets, valid

    seeds = args.place / "seeds"
    seeds.mkdir()
    CRASHES.mkdir(exist_ok=True)
    for number, data in enumerate(valid()):
        (seeds / f"{number}").write_bytes(data)
    every = targets(args.place)

    def one(data: bytes) -> None:
        if data:
            every[data[0] % len(every)](data[1:])

    flags = ["-timeout=60", "-rss_limit_mb=3000", "-max_len=20000", "-print_final_stats=1"]
    flags += [f"-artifact_prefix={CRASHES}/", f"-runs={args.inputs}", "-reload=30"]
    flags += [f"-max_total_time={args.seconds}", f"-seed={args.seed}"]
    atheris.Setup([sys.argv[0], *flags, args.found, str(CORPUS), str(seeds)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
