"""What demalib stands on: hashes, a bill of materials, licences."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COPYLEFT = re.compile(r"(?i)\b(A?GPL|LGPL|GNU|MPL|Mozilla|EPL|EUPL|CDDL|CC-BY-SA|SSPL)")
# Known and accepted: used as they are, not changed and not part of what is distributed.
ACCEPTED = {
    "certifi",
    "docutils",
    "fqdn",
    "gensim",
    "hypothesis",
    "orderedmultidict",
    "pathspec",
    "tqdm",
}
LINE = r"([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}"


def bill():
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "sbom"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def copyleft(components):
    return {
        part["name"].lower()
        for part in components
        if COPYLEFT.search(part["licenses"][0]["license"]["name"])
    }


def test_the_bill_of_materials_names_every_package_and_its_licence():
    found = bill()
    names = {part["name"].lower() for part in found["components"]}
    assert found["bomFormat"] == "CycloneDX" and {"torch", "numpy", "safetensors"} <= names
    assert all(part["version"] and part["purl"] for part in found["components"])


def wanted():
    """Packages of the locked set-up."""
    lines = (ROOT / "hashes.txt").read_text().splitlines()
    return {re.fullmatch(LINE, line)[1].lower() for line in lines if line[:1] != "#"} | {"torch"}


def test_no_new_copyleft_licence():
    ours = [part for part in bill()["components"] if part["name"].lower() in wanted()]
    assert copyleft(ours) <= ACCEPTED
    new = {"name": "new", "licenses": [{"license": {"name": "GPL-3.0-or-later"}}]}
    assert copyleft([new]) == {"new"}


def test_hashes_are_of_the_versions_that_are_tested():
    def plain(name):
        return re.sub(r"[-_.]+", "-", name).lower()

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {plain(m[1]): m[2] for line in lines if (m := re.match(r"([\w.-]+)==(\S+)", line))}
    hashed = re.findall(rf"^{LINE}$", (ROOT / "hashes.txt").read_text(), re.M)
    assert len(hashed) > 100
    other = {n: v for n, v in hashed if pinned.get(plain(n), v) != v}
    assert other == {}


def test_the_locked_set_up_refuses_another_wheel(tmp_path):
    line = next(
        line for line in (ROOT / "hashes.txt").read_text().splitlines() if line.startswith("tqdm==")
    )
    (tmp_path / "tqdm.txt").write_text(line[:-8] + "0" * 8)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes"]
    done = subprocess.run(
        [*pip, "-r", "tqdm.txt"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode and not list(tmp_path.glob("*.whl"))
    assert "--require-hashes" in (ROOT / ".ci" / "locked").read_text()


@pytest.mark.parametrize(
    "said, code, told, fails",
    [
        (
            ["a could not be audited: a", "b could not be audited: b"],
            0,
            "none of 2 packages",
            False,
        ),
        (["b could not be audited: b"], 0, "1 of 2 packages were looked up, 1 could not", False),
        (["No known vulnerabilities found"], 0, "2 of 2 packages were looked up", False),
        (["Found 1 known vulnerability in 1 package", "a 1.0 CVE-1"], 1, "CVE-1", True),
        (["no route to host"], 1, "audit skipped: pip-audit cannot reach its data (no rou", False),
    ],
)
def test_the_audit_says_what_it_could_look_up(said, code, told, fails, tmp_path):
    lines = {"pip-audit": [*said, f"exit {code}"], "python": ["a==1.0", "b==1.0", "exit 0"]}
    for name, (*texts, end) in lines.items():
        shown = "\n".join(f"echo '{text}'" for text in texts)
        (tmp_path / name).write_text(f"#!/bin/sh\n{shown}\n{end}\n")
        (tmp_path / name).chmod(0o755)
    audit = [ROOT / ".ci" / "audit", tmp_path]
    done = subprocess.run(audit, capture_output=True, text=True)
    assert told in done.stdout and bool(done.returncode) == fails
