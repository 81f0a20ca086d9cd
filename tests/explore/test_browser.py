"""The explorer in a real browser: Voila serves it, headless Chromium walks through it."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from playwright.sync_api import sync_playwright

from demalib.em import SCHEDULE

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "06_explorer.ipynb"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 600_000  # milliseconds: a busy machine solves slowly
LISTEN = """() => { window.heard = ""; new MutationObserver(() => {
  window.heard += document.querySelector("[role='status']")?.textContent })
  .observe(document.body, {subtree: true, childList: true, characterData: true}) }"""
OUTSIDE = re.compile(r"^https?://(?!127\.0\.0\.1)")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)"
)


def small_copy(folder):
    """The notebook with a tiny vocabulary, as papermill would inject it."""
    notebook = load_notebook_node(str(NOTEBOOK))
    notebook = parameterize_notebook(notebook, {"max_vocab": 1500, "word": "music"})
    nbformat.write(notebook, folder / "explorer.ipynb")
    return folder / "explorer.ipynb"


@contextlib.contextmanager
def serve(notebook):
    """Serve a notebook with Voila on a free loopback port; yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "voila", str(notebook), f"--port={port}"]
    with notebook.with_name("voila.log").open("w") as log:
        server = subprocess.Popen(
            [*command, "--no-browser", "--Voila.ip=127.0.0.1"],
            stdout=log,
            stderr=log,
            env=os.environ | {"PYTHONPATH": str(NOTEBOOK.parents[1])},
        )
        try:
            wait_until_open(port, server)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            server.wait(30)


@pytest.fixture
def app(tmp_path, real_cache):
    """The address of the explorer on a tiny vocabulary."""
    with serve(small_copy(tmp_path)) as address:
        yield address


def wait_until_open(port, server):
    for _ in range(3000):
        assert server.poll() is None, "voila ended"
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.2)
    pytest.fail("voila did not open its port")


@pytest.fixture
def page(tmp_path):
    """A new browser with an empty profile; what it asks of other machines is noted and refused."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(tmp_path / "profile"),
            executable_path=CHROMIUM,
            headless=True,
            args=FLAGS,
            viewport={"width": 1280, "height": 1560},
        )
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.outside = []
        page.route(OUTSIDE, lambda route: page.outside.append(route.request) or route.abort())
        yield page
        browser.close()


def sees(page, best):
    """Wait until each of the three lists begins with this translation; a page fills bit by bit."""
    for _ in range(PATIENCE // 100):
        buttons = page.locator("button[title^='go to']").all_inner_texts()
        if buttons[:15:5] == [best] * 3:
            return
        page.wait_for_timeout(100)
    assert buttons[:15:5] == [best] * 3


def say(page, text):
    page.wait_for_function(
        "text => document.querySelector(\"[role='status']\")?.textContent.includes(text)", arg=text
    )


def test_a_person_can_walk_through_the_explorer(app, page, tmp_path):
    page.goto(app)
    page.wait_for_selector("[role='status']")
    say(page, "en-fr by em")
    sees(page, "musique")

    typed = page.get_by_placeholder("type a word")
    typed.fill("water")
    typed.press("Enter")
    page.wait_for_selector("h3:text-is('water')")
    say(page, "en-fr by em")
    sees(page, "eau")
    picture = page.locator(".widget-image")
    picture.wait_for()
    page.screenshot(path=os.environ.get("EXPLORER_PNG", tmp_path / "explorer.png"))

    before = picture.get_attribute("src")
    handle = page.locator(".noUi-handle")
    handle.focus()
    handle.press("ArrowLeft")
    page.wait_for_function("was => document.querySelector('.widget-image').src !== was", arg=before)
    rounds = sum(phase.rounds for phase in SCHEDULE)
    assert page.locator(".widget-readout").inner_text() == f"round {rounds}"

    page.locator("button[title='go to eau']").first.click()
    page.wait_for_selector("h3:text-is('eau')")
    say(page, "en-fr by em")
    sees(page, "water")
    assert page.get_by_text("fr → en").count() == 1

    typed.fill("watre")
    typed.press("Enter")
    say(page, "'watre' is not among the 1,500 words of fr")

    page.evaluate(LISTEN)  # what is said on the way may be gone before it is looked for
    page.get_by_label("solver").select_option("identical (identical)")
    say(page, "en-fr by identical")
    assert "working: solving en-fr with identical" in page.evaluate("window.heard")
    # Voila's page asks for icons that nothing here uses; all else must come from this machine.
    assert {request.resource_type for request in page.outside} <= {"stylesheet"}
