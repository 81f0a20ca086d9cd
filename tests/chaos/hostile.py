"""Words that would do harm where they are shown: markup, terminal codes, formulas, turned text."""

import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
HOSTILE = (
    "<script>document.title='run'</script>",
    "<img/src=x/onerror=document.title='run'>",
    "\"onmouseover=document.title='run'",
    "javascript:document.title='run'",
    "a\x1b[31mred\x1b]0;title\x07",
    "a\x9b2Jcleared",
    "a\rover",
    "=cmd|'/c_calc'!a",
    "+a1+b1",
    "-2+a",
    "@sum(a1)",
    "a\u202egnp.exe",
    "a\u2066turned\u2069",
    "a\u200bhidden",
    "$x^{broken$\\frac",
)


def shown() -> tuple[list[str], str]:
    """Show all of them wherever words are shown; what did harm, and the number of checks."""
    words = [
        "-m",
        "pytest",
        "-q",
        "-o",
        "addopts=--import-mode=importlib",
        "explore/test_hostile.py",
    ]
    done = subprocess.run([sys.executable, *words], cwd=TESTS, capture_output=True, text=True)
    last = (done.stdout.strip().splitlines() or [done.stderr])[-1]
    checks = re.sub(r" in [0-9.]+s.*", "", last)
    failed = re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.M)
    return (failed or [last]) if done.returncode else [], f"checks: {checks}"
