"""The book: it builds without warnings and without a network, and every link in it leads somewhere."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright

import demalib

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of the site, built as `make book` builds it."""
    out = tmp_path_factory.mktemp("book")
    line = re.search(r"\$\(BIN\)/sphinx-build (.*)", (ROOT / "Makefile").read_text())[1]
    options = line.replace("build/doctrees", str(out / "doctrees")).split()[:-1]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(out / "site")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return out / "site"


class Page(HTMLParser):
    """What a page links to, and the names that can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.names, self.text = [], {""}, path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.names |= {attrs[k] for k in ("id", "name") if attrs.get(k)}
        self.links += [attrs[k] for k in ("href", "src") if attrs.get(k)]


@pytest.fixture(scope="module")
def pages(book):
    return {path: Page(path) for path in book.rglob("*.html")}


def test_every_link_inside_the_book_leads_somewhere(book, pages):
    broken, seen = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            seen += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[target].names if target in pages else {""}
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                broken.append(f"{path.relative_to(book)}: {link}")
    assert seen > 1000 and broken == []


def test_nothing_is_loaded_from_elsewhere(pages):
    for path, page in pages.items():
        loaded = re.findall(
            r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(https?:[^\"]+)", page.text
        )
        assert loaded == [], path.name


def test_every_notebook_is_in_the_contents(book, pages):
    index = pages[book / "index.html"]
    lessons = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    solutions = {f"solutions/{path.stem}" for path in (NOTEBOOKS / "solutions").glob("*.ipynb")}
    assert {f"{name}.html" for name in lessons | solutions} <= set(index.links)
    assert len(lessons) >= 14 and len(solutions) >= 10


def test_the_reference_has_every_public_name(book, pages):
    names = pages[book / "book" / "api.html"].names
    assert {f"demalib.{name}" for name in demalib.__all__} <= names
    assert {"demalib.losses.total", "demalib.matching.e_step"} <= names


def test_papers_that_texts_name_are_cited(book, pages):
    assert 'title="Chunting Zhou' in pages[book / "02_train.html"].text
    assert 'title="Percy Liang' in pages[book / "book" / "api.html"].text  # out of a docstring
    entries = len(re.findall(r"^@", (NOTEBOOKS / "book" / "references.bib").read_text(), re.M))
    text = pages[book / "book" / "references.html"].text
    assert len(re.findall(r'<div class="citation"', text)) == entries > 15


def test_the_book_is_small(book):
    assert sum(path.stat().st_size for path in book.rglob("*") if path.is_file()) < 20e6
    static = NOTEBOOKS / "book" / "static"
    assert sum(path.stat().st_size for path in static.iterdir()) < 2e6


def test_a_workflow_builds_what_make_builds():
    text = (ROOT / ".github" / "workflows" / "book.yml").read_text()
    assert "make book" in text and "path: build/book" in text and "untested" in text


@pytest.fixture(params=SIZES)
def page(request, tmp_path):
    """A browser window, the size of a phone or of a desk; requests that leave this machine fail."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (apt-get install chromium)")
    width, height = SIZES[request.param]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(60_000)
        page.name, page.outside = request.param, []
        page.on("request", lambda r: r.url.startswith("http") and page.outside.append(r.url))
        yield page
        assert page.outside == []
        browser.close()


def is_dark(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3])) < 200


def fits(page):
    """Whether the page is no wider than the window: wide tables and formulas scroll by themselves."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")


PAGES = ("index", "01_density", "book/api", "book/results")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_render(book, page, name, scheme, shots):
    page.emulate_media(color_scheme=scheme)
    page.goto((book / f"{name}.html").as_uri())
    assert is_dark(page) == (scheme == "dark") and fits(page)
    if name in ("01_density", "book/api"):
        page.wait_for_selector("mjx-container svg")
        assert page.locator("mjx-container").count() > 10
        assert page.locator("mjx-merror").count() == 0
    if name == "01_density":
        figures = "[...document.querySelectorAll('.cell_output img')].map(i => i.naturalWidth)"
        page.locator(".cell_output img").last.scroll_into_view_if_needed()
        assert len(page.evaluate(figures)) >= 5 and min(page.evaluate(figures)) > 100
    page.screenshot(path=shots / f"{name.replace('/', '_')}-{page.name}-{scheme}.png")


def test_tables_can_be_sorted(book, page):
    page.goto((book / "book" / "results.html").as_uri())
    table = page.locator("table.sortable").first
    head = table.locator("thead th").filter(has_text="p@1")
    for order in (1, -1):
        head.click()
        column = table.locator("tbody tr td:nth-child(4)").all_inner_texts()
        values = [float(text) for text in column if text.strip()]
        assert values == sorted(values)[::order] and len(values) > 40


def test_the_search_finds_hubness(book, page, shots):
    page.goto((book / "search.html").as_uri() + "?q=hubness")
    page.get_by_text("Search finished").wait_for()  # results come one by one
    found = " ".join(page.locator("#search-results li a").all_inner_texts())
    assert "Retrieval and hubs" in found and "Glossary" in found
    page.screenshot(path=shots / f"search-{page.name}.png")


def test_one_can_play(book, page, shots):
    page.goto((book / "book" / "play.html").as_uri())
    page.wait_for_selector("#answer h3:has-text('winter')")
    assert fits(page)
    said = page.locator("#said")
    assert not said.inner_text().startswith("2")  # a wrong angle
    page.locator("#anneal").click()
    page.wait_for_function("Number(document.getElementById('sigma').value) < -4.5")
    assert abs(int(page.locator("#angle").input_value()) - 120) < 4
    assert int(said.inner_text().split()[0]) >= 19
    page.locator("#answer button").first.click()  # to hiver, and back
    page.wait_for_selector("#answer h3:has-text('hiver · French')")
    page.locator("#answer button").first.click()
    page.wait_for_selector("#answer h3:has-text('winter · English')")
    page.locator("#word").fill("watre")
    page.locator("#word").press("Enter")
    assert "not among the 4000 words" in page.locator("#answer").inner_text()
    page.screenshot(path=shots / f"play-{page.name}.png", full_page=True)


@pytest.fixture(scope="session")
def shots(tmp_path_factory):
    """Where pictures of the pages go: BOOK_PNG keeps them."""
    folder = Path(os.environ.get("BOOK_PNG") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(exist_ok=True)
    return folder
