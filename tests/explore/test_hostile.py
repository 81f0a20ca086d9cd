"""Words that would do harm are shown harmlessly: in a browser, a terminal, a table, a figure."""

import json
import re

import nbformat
import numpy as np
import pytest
import torch
from chaos.hostile import HOSTILE
from explore.test_browser import CHROMIUM, NOTEBOOK, page, serve  # noqa: F401

from demalib import plots
from demalib.alignment import save_alignment
from demalib.cli import main
from demalib.config import Config
from demalib.data.store import read_vectors
from demalib.embedding import Embedding
from demalib.errors import harmless
from demalib.explore.words import around, clouds, directions
from demalib.export import cell, export_alignment
from demalib.pair import Mapping, make_pair

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
WORDS = [word.replace(" ", "_") for word in HOSTILE if not re.search(r"\s", word)]
SETTING = f"""
import sys
sys.path[:0] = [{str(NOTEBOOK.parents[1] / "tests")!r}, {str(NOTEBOOK.parents[1])!r}]
from explore.test_hostile import solved
from demalib.explore.widgets import Explorer
Explorer(*solved()[:1], directions=solved()[1]).view
"""


def solved():
    """A pair whose words are all hostile, on both sides, and its name too."""
    vectors = np.random.default_rng(0).standard_normal((len(WORDS), 6)).astype(np.float32)
    sides = (Embedding(WORDS, vectors, lang) for lang in ("<b>en", "fr"))
    pair, config = make_pair(*sides), Config("en-fr", "identical")
    mapping = Mapping.of(torch.eye(6), torch.eye(6), pair, config)
    return config, directions(mapping, pair), mapping, pair


def test_words_are_read_as_they_are_and_shown_harmlessly(tmp_path):
    lines = "".join(f"{word} {i} 1\n" for i, word in enumerate(WORDS))
    (tmp_path / "aa.vec").write_text(f"{len(WORDS)} 2\n{lines}", encoding="utf-8")
    words = read_vectors(tmp_path / "aa.vec").words
    assert set(words) == {word.lower() for word in WORDS}
    assert not OBEYED.search(harmless("".join(words)))
    assert harmless("日本 naïve\tan\u200cd\n") == "日本 naïve\tan\u200cd\n"


def test_the_terminal_obeys_no_word(tmp_path, capsys):
    *_, mapping, pair = solved()
    mapping.info["src"] = "en"
    pair = make_pair(Embedding(WORDS, pair.src.vectors, "en"), pair.tgt, normalisation=())
    save_alignment(tmp_path / "a", mapping, pair)
    assert main(["translate", str(tmp_path / "a"), *(w for w in WORDS if w[0] != "-")]) == 0
    assert main(["translate", str(tmp_path / "a"), "a\x1b[31mrex"]) == 2
    out, err = capsys.readouterr()
    assert "\\u001b[31mred" in out and not OBEYED.search(out + err)
    [path] = export_alignment(mapping, pair, tmp_path / "out", "dictionary")
    cells = [
        cell
        for line in path.read_text(encoding="utf-8").split("\n")[1:]
        for cell in line.split("\t")[:2]
    ]
    assert "'=cmd|'/c_calc'!a" in cells
    assert not OBEYED.search("".join(cells)) and not [c for c in cells if c[:1] in "=+@" and c]


@pytest.mark.parametrize("word", ["=1+1", "+a1", "@sum", "\ta", "\ra", "-cmd|'/c'!a", "-f(a1)"])
def test_a_formula_gets_an_apostrophe(word):
    assert cell(word) == harmless(f"'{word}")


@pytest.mark.parametrize("word", ["-based", "-1", "-0.5", "--", "a=b", "e-mail", "c++", "it's", ""])
def test_plain_words_and_numbers_are_exported_as_they_are(word):
    assert cell(word) == word


@pytest.mark.parametrize("form", ["--json", "--tsv"])
def test_other_forms_of_output_are_harmless_too(form, tmp_path, capsys):
    *_, mapping, pair = solved()
    mapping.info["src"] = "en"
    pair = make_pair(Embedding(WORDS, pair.src.vectors, "en"), pair.tgt, normalisation=())
    save_alignment(tmp_path / "a", mapping, pair)
    asked = [word for word in WORDS if word[0] != "-"]
    assert main(["translate", str(tmp_path / "a"), *asked, form]) == 0
    out = capsys.readouterr().out
    assert not OBEYED.search(out) and "\\u001b[31mred" in out
    if form == "--json":
        assert {row["word"] for row in json.loads(out)} == set(asked)
    else:
        assert not re.search(r"(?m)^[=+@]|\t[=+@]", out)


def test_a_figure_takes_no_word_for_mathematics():
    there = solved()[1][0]
    axes = plots.around_and_clouds(
        around(there, "$x^{broken$\\frac"), clouds(there), ("en", "fr"), ""
    )
    assert plots.Picture(axes).png


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_no_script_runs_in_the_browser(page, tmp_path):  # noqa: F811
    plain = {"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}}
    cells = [nbformat.v4.new_code_cell(SETTING)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=plain), tmp_path / "h.ipynb")
    with serve(tmp_path / "h.ipynb") as address:
        page.goto(address)
        page.wait_for_selector("[role='status']")
        typed = page.get_by_placeholder("type a word")
        for word in WORDS[:3]:
            typed.fill(word)
            typed.press("Enter")
            page.wait_for_function(
                "word => document.querySelector('h3')?.textContent === word", arg=word
            )
            page.locator("button[title^='go to']").first.hover()
        assert page.title() != "run"
        assert page.locator("h3 script, h3 img, [role='status'] img").count() == 0
        text = page.inner_text("body")
        assert "\\u202e" in text and not re.search("[\u202a-\u202e]", text)
