"""Nothing is let in: no pickle, no unpacking to disk, no plain http, no name that is a path."""

import ast
import dataclasses
import http.server
import re
import threading
import time
from pathlib import Path

import nbformat
import pytest
import torch
from chaos import world

from demalib import runs
from demalib.cli import main
from demalib.config import Config, preset
from demalib.data import registry
from demalib.data.files import cache_dir
from demalib.data.lexicon import load_lexicon
from demalib.data.store import load_embedding, save_embedding
from demalib.data.tensors import load_mapping, save_mapping
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.export import FORMATS, export_alignment
from demalib.pair import Mapping, make_pair

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "demalib").rglob("*.py"), *(ROOT / "notebooks").glob("*.py")])
BANNED = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
CALLS = {"torch.load", "torch.save", "eval", "exec", "os.system", "tempfile.mktemp"}
METHODS = {"extractall", "extract", "read_pickle", "to_pickle"}


def offences(text: str) -> list[str]:
    """What a source does that it must not: by line."""
    found = []
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)]
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [f"{node.lineno}: {n}" for n in names if n.split(".")[0] in BANNED]
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        given = {word.arg: ast.unparse(word.value) for word in node.keywords}
        if called in CALLS or (called.split(".")[-1] in METHODS and ".str." not in called):
            found.append(f"{node.lineno}: {called}")
        if called == "np.load" and given.get("allow_pickle") != "False":
            found.append(f"{node.lineno}: np.load without allow_pickle=False")
        if given.get("shell") == "True" or given.get("allow_pickle") == "True":
            found.append(f"{node.lineno}: {called}(shell or allow_pickle = True)")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_pickle_and_no_unpacking_anywhere(path):
    assert offences(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import load",
        "torch.load(p)",
        "np.load(p)",
        "np.load(p, allow_pickle=True)",
        "tar.extractall(p)",
        "run(x, shell=True)",
    ],
)
def test_the_check_sees_what_it_looks_for(text):
    assert offences(text)


def test_vectors_of_the_registry_are_pinned_and_hashed():
    for wheel in (wheel for source in registry.REGISTRY.values() for wheel in source.wheels):
        assert re.fullmatch(r"[0-9a-f]{64}", wheel.sha256) and "==" in wheel.requirement


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    "settings",
    [
        {"pair": "../x-y"},
        {"solver": "../../x"},
        {"seed": "../../x"},
        {"ablate": "a/../../../x"},
        {"pair": ".."},
        {"dictionary": "/etc"},
    ],
)
def test_a_run_cannot_leave_its_folder(settings, monkeypatch, tmp_path):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path))
    config = dataclasses.replace(preset("en-fr"), **settings)
    monkeypatch.setattr("demalib.config.preset", lambda *_, **__: preset("en-fr"))
    with pytest.raises(DataError):
        runs.run_dir(config)


def test_parameters_of_a_notebook_cannot_leave_the_results(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DEMALIB_RESULTS", str(tmp_path / "results"))
    notebook = str(ROOT / "notebooks" / "02_train.ipynb")
    for name, value in (("pair", "../x-y"), ("solver", "../../x"), ("ablate", "../../../x")):
        assert main(["run", notebook, "-p", name, value]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_language_cannot_leave_its_folder(tmp_path, monkeypatch):
    for source in ("muse", "bundled"):
        with pytest.raises(DataError, match="cannot name a file"):
            load_lexicon("../en", "fr", "test", source)
    monkeypatch.setenv("DEMALIB_MUSE", str(tmp_path))
    with pytest.raises(DataError, match="cannot name a file"):
        load_lexicon("..", "../x", "train", "muse")


def test_a_folder_from_elsewhere_cannot_write_outside(tmp_path):
    src, tgt = world.spaces(20)
    bad = Embedding(src.words, src.vectors, "../../bad")
    pair = make_pair(bad, tgt)
    mapping = Mapping.of(torch.eye(10), torch.eye(10), pair, Config())
    for format in FORMATS:
        with pytest.raises(DataError, match="cannot name a file"):
            export_alignment(mapping, pair, tmp_path / "a" / "b", format)
    save_embedding(tmp_path / "bad.npz", bad)
    with pytest.raises(DataError, match="cannot name a file"):
        load_embedding(tmp_path / "bad.npz")
    save_mapping(tmp_path / "m.safetensors", mapping)
    with pytest.raises(DataError, match="cannot name a file"):
        load_mapping(tmp_path / "m.safetensors")
    assert not list(tmp_path.rglob("*aligned*"))


def test_a_side_without_a_name_is_no_offence(tmp_path):
    src, tgt = (Embedding(side.words, side.vectors) for side in world.spaces(20))
    pair = make_pair(src, tgt)
    mapping = Mapping.of(torch.eye(10), torch.eye(10), pair, Config())
    save_mapping(tmp_path / "m.safetensors", mapping)
    assert load_mapping(tmp_path / "m.safetensors").info["src"] == ""


# ---------------------------------------------------------------- downloads


@pytest.mark.parametrize("base", ["http://example.org", "ftp://example.org", "http://127.0.0.2:9"])
def test_nothing_comes_over_plain_http(base, monkeypatch):
    monkeypatch.setenv("DEMALIB_MUSE_URL", base)
    monkeypatch.setattr("requests.get", lambda *_, **__: pytest.fail("it was asked"))
    with pytest.raises(DataError, match="is not https"):
        registry.fetch_muse_vectors("es")
    assert not list((cache_dir() / "muse").rglob("*.vec"))


@pytest.fixture
def answers(monkeypatch):
    """A host on loopback whose answer a test chooses; counts how often it was asked."""
    hosts, asked = [], []

    def start(do, address="127.0.0.1"):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                do(self)

            def log_message(self, *args):
                pass

        host = http.server.ThreadingHTTPServer((address, 0), Handler)
        hosts.append(host)
        threading.Thread(target=host.serve_forever, daemon=True).start()
        return f"http://{address}:{host.server_port}"

    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)  # between tries
    yield start, asked
    for host in hosts:
        host.shutdown()
        host.server_close()


def send(data: bytes):
    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def test_a_way_that_leads_to_plain_http_is_not_taken(answers, monkeypatch):
    start, _ = answers
    other = start(send(b"1 2\nhola 1 2\n"), "127.0.0.2")  # not a name that is allowed without TLS

    def lead(handler):
        handler.send_response(302)
        handler.send_header("Location", f"{other}/x")
        handler.end_headers()

    monkeypatch.setenv("DEMALIB_MUSE_URL", start(lead))
    with pytest.raises(DataError, match="is not https"):
        registry.fetch_muse_vectors("es")
    assert not [p for p in cache_dir().rglob("*") if p.is_file()]


def test_a_server_that_stalls_is_asked_a_few_times(answers, monkeypatch):
    start, asked = answers
    over = threading.Event()
    monkeypatch.setattr(registry, "TIMEOUT", 0.2)
    monkeypatch.setenv("DEMALIB_MUSE_URL", start(lambda handler: over.wait(20)))
    with pytest.raises(DataError, match="timed out.*check the network"):
        registry.fetch_muse_vectors("es")
    for _ in range(500):  # the last request may still be on its way to the server's thread
        if len(asked) >= registry.TRIES:
            break
        time.sleep(0.02)
    over.set()
    assert len(asked) == registry.TRIES
    assert not [p for p in cache_dir().rglob("*") if p.is_file()]


@pytest.mark.parametrize("data", [b"\x00\x93" * 500, b"not vectors at all\n", b"", b"<HTML>no"])
def test_wrong_bytes_are_not_kept(answers, monkeypatch, data):
    start, _ = answers
    monkeypatch.setenv("DEMALIB_MUSE_URL", start(send(data)))
    with pytest.raises(DataError):
        registry.fetch_muse_vectors("es")
    assert not [p for p in cache_dir().rglob("*") if p.is_file()]


# ---------------------------------------------------------------- what is shown, and to whom


SECRET = re.compile(
    r"(?i)(api[_-]?key|passw(or)?d|secret|bearer|[?&]token=|AKIA[0-9A-Z]{16}|ghp_\w{20}|"
    r"-----BEGIN|/home/|/Users/|/root/|C:\\\\)"
)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_outputs_hold_no_secret_and_no_machine_path(path):
    cells = nbformat.read(path, as_version=4).cells
    texts = [
        str({k: v for k, v in output.get("data", output).items() if k != "image/png"})
        for cell in cells
        for output in cell.get("outputs", [])
    ]
    assert [SECRET.search(text)[0] for text in texts if SECRET.search(text)] == []
    assert SECRET.search("kept in /home/someone/x")


def test_jupyter_keeps_its_token_and_its_loopback():
    for path in (ROOT / "Makefile", ROOT / ".binder" / "postBuild"):
        assert not re.search(r"--ip|token|password|allow.root", path.read_text()), path.name
