"""Promises of the project as a whole."""

import ast
import csv
import http.server
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

from demalib.cli import parser

ROOT = Path(__file__).resolve().parents[1]


def names(text):
    return {re.match(r"[\w-]+", item)[0] for item in re.findall(r'"([^"]+)"', text)}


def test_environment_and_pyproject_agree():
    project = (ROOT / "pyproject.toml").read_text()
    lists = re.findall(
        r"^(?:dependencies|notebooks|fasttext|book|cluster|dev) = \[(.*?)\]$", project, re.M | re.S
    )
    assert len(lists) == 6
    wanted = set().union(*map(names, lists)) - {"demalib"}
    environment = (ROOT / "environment.yml").read_text()
    listed = set(re.findall(r"^\s+- (\w[\w-]*)", environment, re.M)) - {"python", "make"}
    assert wanted == listed
    lowest = int(re.search(r'requires-python = ">=3\.(\d+)"', project)[1])
    assert int(re.search(r"- python=3\.(\d+)", environment)[1]) >= lowest


def test_hooks_are_local_and_their_tools_are_dependencies():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    for hook in config["repos"][0]["hooks"]:
        assert hook["language"] == "system" and f'"{hook["entry"].split()[0]}>=' in project


def test_citation_is_of_this_version_and_of_the_paper():
    cite = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    import demalib

    assert (cite["title"], cite["version"]) == ("demalib", demalib.__version__)
    paper = cite["preferred-citation"]
    assert paper["title"] == "Density Matching for Bilingual Word Embedding"
    assert [a["family-names"] for a in paper["authors"]] == ["Zhou", "Ma", "Wang", "Neubig"]


def test_binder_installs_the_package_with_pinned_versions():
    script = ROOT / ".binder" / "postBuild"
    assert os.access(script, os.X_OK) and "-c constraints.txt" in script.read_text()
    assert (ROOT / ".binder" / "runtime.txt").read_text().strip() == "python-3.11"


def test_constraints_pin_torch_for_everyone():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert "torch==2.13.0" in lines
    assert "-c constraints.txt" in (ROOT / "environment.yml").read_text()
    assert "-c constraints.txt" in (ROOT / "Makefile").read_text()


def test_demalib_imports_without_jupyter():
    code = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"IPython", "ipywidgets", "papermill", "jupytext", "nbval",
                                  "jupyter_client", "nbformat", "gensim", "dask", "distributed"}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import demalib, demalib.cli, demalib.plots
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


CORE = [
    "progress",
    "mixture",
    "matching",
    "flow",
    "losses",
    "gradient",
    "em",
    "annealing",
    "state",
    "finish",
    "contrastive",
    "shapes",
    "spelling",
    "together",
    "retrieval",
    "procrustes",
    "tiles",
]
OUTSIDE = {"torch", "numpy", "pandas", "tqdm"}


@pytest.mark.parametrize("name", CORE)
def test_the_core_stands_on_torch_and_itself(name):
    tree = ast.parse((ROOT / "demalib" / f"{name}.py").read_text())
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    ours = {module for module in imported if module.startswith("demalib")}
    assert ours <= {f"demalib.{core}" for core in CORE}
    theirs = {module.split(".")[0] for module in imported - ours}
    assert theirs - set(sys.stdlib_module_names) <= OUTSIDE


PLUMBING = [
    "pip",
    "pooch",
    "requests",
    "msgpack",
    "safetensors",
    "filelock",
    "matplotlib",
    "seaborn",
    "IPython",
]


def test_import_demalib_pulls_no_plumbing():
    code = "import sys, demalib, demalib.em, demalib.gradient; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "torch" in loaded and not loaded & {*PLUMBING, "papermill", "jupyter_client", "dask"}


def test_import_demalib_alone_is_light():
    code = "import sys, demalib; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" not in done.stdout.split()


def test_public_names_exist_and_explain_themselves():
    import demalib

    for name in demalib.__all__:
        assert getattr(demalib, name).__doc__, name


@pytest.mark.parametrize("path", sorted((ROOT / "demalib").rglob("*.py")), ids=lambda p: p.name)
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 300


PAGES = ["README.md", *(f"notebooks/book/{name}.md" for name in ("start", "vectors", "sweeps", "results", "speed", "teach"))]  # fmt: skip


def commands_of(page):
    """Every line of a page that is set as code and starts a program."""
    lines = re.findall(r"^    (\S.*)$", (ROOT / page).read_text(encoding="utf-8"), re.M)
    return [line.split("#")[0].strip() for line in lines if re.match(r"[\w./]+( |$)", line)]


def test_every_command_of_readme_and_book_is_one_that_exists():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    seen = set()
    for command in (command for page in PAGES for command in commands_of(page)):
        program, *args = [word for word in shlex.split(command) if "=" not in word.split("/")[0]]
        seen.add(name := program.removeprefix(".venv/bin/"))
        if name == "make":
            assert set(args) <= targets, command
        elif name == "demalib":
            parser().parse_args(args)  # exits if an option is unknown
            assert all((ROOT / arg).exists() for arg in args if arg.startswith("notebooks/")), (
                command
            )
    assert {"make", "demalib"} <= seen


def test_commands_of_readme_and_book_are_printed_in_one_way():
    assert not any(".venv/bin/demalib" in (ROOT / page).read_text() for page in PAGES)
    assert "source .venv/bin/activate" in (ROOT / "README.md").read_text()


def committed_figures():
    """Every number of the committed tables, with one decimal."""
    figures = set()
    for path in (ROOT / "results").glob("*/*.csv"):
        for cell in re.findall(r"-?\d+\.\d+|-?\d+(?=,|$)", path.read_text(), re.M):
            figures |= {f"{abs(float(cell)):.1f}"}
    return figures


def test_every_figure_of_the_readme_is_in_a_committed_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    figures = set(re.findall(r"(?<![\w.])\d+\.\d(?!\d|\.\w)", text))
    assert len(figures) > 40 and figures <= committed_figures()
    known = {}
    for row in csv_rows("peers.csv"):
        label = (row["name"].partition(",")[0], row["hint"])
        known.setdefault(label, []).append(f"{float(row['p@1']):.1f}")
    rows = re.findall(r"^\| `?(.+?)`?(?:, (.+?))? \| (\d.*) \|$", text, re.M)
    assert len(rows) > 6
    for name, hint, cells in rows:
        assert cells.split(" | ") == known[name, hint][:6], name


def test_the_strongest_peers_are_rows_of_the_table_of_all():
    whole = {
        (row["name"], row["direction"]): row
        for row in csv_rows("rivals.csv")
        if row["lexicons"] == "muse"
    }
    rows = [row for row in csv_rows("peers.csv") if row["name"] != "copy the query"]
    columns = ("p@1", "low", "high", "copy", "queries", "seeds")
    assert {"em", "em+lexicon", "vecmap", "procrustes"} <= {row["name"] for row in rows}
    for row in rows:
        other = whole[row["name"], row["direction"]]
        assert [float(row[c]) for c in columns] == [float(other[c]) for c in columns], row


def test_the_readme_counts_the_directions_in_which_a_rival_is_behind():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    figures = {}
    for row in csv_rows("peers.csv"):
        figures.setdefault(row["name"], {})[row["direction"]] = float(row["p@1"])
    ours = figures["em+lexicon"]
    for name in ("vecmap", "geomm", "rcsls", "c1"):
        both = ours.keys() & figures[name].keys()
        wins = sum(ours[direction] > figures[name][direction] for direction in both)
        said = f"in {wins} of {len(both)}"
        assert re.search(rf"`{name}`[^`]*? {said}\b", text), (name, said)
    gains = {
        row["direction"]: float(row["lexicon_gain"])
        for row in csv_rows("rivals.csv")
        if (row["name"], row["lexicons"]) == ("c1", "bundled") and row["lexicon_gain"]
    }
    said = f"`c1` finds more in {sum(gain > 0 for gain in gains.values())} of {len(gains)}"
    assert said in text, said


def test_no_system_is_beyond_chance_better_than_ours_with_a_dictionary():
    """What the README says of ``em+lexicon``."""
    rows = [row for row in csv_rows("places.csv") if row["against"] == "em+lexicon"]
    assert {"c1", "geomm", "vecmap", "rcsls", "em"} <= {row["name"] for row in rows}
    assert all(row["better"] == "0" for row in rows)


def test_what_the_readme_says_of_means_and_of_chance():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    rows = {(r["against"], r["name"], r["lexicons"]): r for r in csv_rows("places.csv")}
    for name in ("vecmap", "geomm", "rcsls", "c1"):
        both = [rows["em+lexicon", name, words] for words in ("muse", "bundled")]
        assert all(float(row["high"]) < 0 for row in both), name
        more, rare = (-float(row["mean"]) for row in both)
        assert re.search(rf"{more:.1f} and {rare:.1f} (points )?more than `{name}`", text), name
        assert re.search(rf"`{name}` in {sum(int(row['worse']) for row in both)}\b", text), name
    muse, bundled = (rows["em", "procrustes", words] for words in ("muse", "bundled"))
    assert f"finds {-float(muse['mean']):.1f} points more of MUSE's words" in text
    assert (muse["directions"], bundled["directions"]) == ("10", "16")
    assert f"{float(bundled['mean']):.1f} fewer in the mean of sixteen" in text
    shown = {
        row["direction"]: float(row["gain"])
        for row in csv_rows("rivals.csv")
        if (row["name"], row["lexicons"]) == ("procrustes", "bundled")
        and row["pair"] != "en-zh"
        and float(row["gain_holm"]) < 0.05
    }
    assert f"beyond chance in {sum(gain > 0 for gain in shown.values())} of the sixteen" in text
    assert [direction for direction, gain in shown.items() if gain < 0] == ["fr-en"]


def test_a_dictionary_makes_no_direction_worse_beyond_chance():
    """What the README says of `em` with one and without."""
    rows = [row for row in csv_rows("places.csv") if row["against"] == "em"]
    ours = [row for row in rows if row["name"] == "em+lexicon"]
    assert len(ours) == 2 and all(row["worse"] == "0" for row in ours)


def test_the_book_counts_the_directions_in_which_a_dictionary_helps():
    text = " ".join((ROOT / "notebooks/book/results.md").read_text(encoding="utf-8").split())
    gains = [
        float(row["gain"])
        for row in csv_rows("rivals.csv")
        if (row["name"], row["lexicons"]) == ("em+lexicon", "bundled") and row["gain"]
    ]
    helps = [gain for gain in gains if gain > 0]
    said = f"in {len(helps)} of the {len(gains)} bundled directions, by {min(helps):.1f} to {max(helps):.1f}"
    assert said in text, said


def test_what_the_book_says_of_languages_on_which_nothing_was_tried():
    text = " ".join((ROOT / "notebooks/book/results.md").read_text(encoding="utf-8").split())
    found = {}
    for row in csv_rows("rivals.csv"):
        if row["pair"] in ("en-fi", "en-tr", "en-zh") and row["lexicon_gain"]:
            key = row["name"], row["lexicons"]
            found.setdefault(key, []).append(-float(row["lexicon_gain"]))
    c1, vecmap = (
        [sum(gains) / 6 for gains in (found[name, "bundled"], found[name, "muse"])]
        for name in ("c1", "vecmap")
    )
    said = f"over `c1` is {c1[0]:.1f} points on the bundled words and {c1[1]:.1f} on MUSE's"
    assert f"{said}, over `vecmap` {vecmap[0]:.1f} and {vecmap[1]:.1f}" in text, said


def csv_rows(name):
    with (ROOT / "results" / "tables" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_notebook_is_on_the_map_of_the_readme_and_every_link_leads_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    notebooks = {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks <= set(links)
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.fixture
def torch_index(tmp_path):
    """Run the probe of the set-up with a stand-in for PyTorch's index."""
    pages = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            time.sleep(pages.get("wait", 0))
            self.send_response(200 if self.path == "/cpu/torch/" else 404)
            self.end_headers()
            self.wfile.write(b"<a href='torch-2.13.0+cpu.whl'>")

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def probe(url=f"http://127.0.0.1:{server.server_port}/cpu", wait=0, **more):
        pages["wait"] = wait
        names = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
        plain = {k: v for k, v in os.environ.items() if k not in names and "proxy" not in k.lower()}
        env = plain | {"DEMALIB_TORCH_INDEX": url} | more
        started, command = time.monotonic(), [sys.executable, ROOT / ".ci" / "torch_index.py"]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
        return done.stdout.strip(), url, time.monotonic() - started

    yield probe
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has two builds of torch")
@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="this machine has a GPU")
def test_set_up_takes_torch_for_cpus_where_its_index_answers(torch_index):
    said, url, _ = torch_index()
    assert said == f"--extra-index-url {url}"
    assert torch_index(PIP_INDEX_URL="https://mirror.example/simple")[0] == ""  # the user's choice
    assert torch_index("http://127.0.0.1:1/cpu")[0] == ""  # nobody answers
    said, _, seconds = torch_index(wait=30)
    assert said == "" and seconds < 20  # and nobody waits for a slow one
    assert "$(PYTHON) .ci/torch_index.py" in (ROOT / "Makefile").read_text()


def test_audits_are_part_of_the_development_set():
    assert '"pip-audit>=' in (ROOT / "pyproject.toml").read_text()
    assert "\npip-audit==" in (ROOT / "constraints.txt").read_text()
