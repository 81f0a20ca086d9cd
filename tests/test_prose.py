"""Prose cannot drift: a number must be in a table or an output, an italic word in an output."""

import re
from pathlib import Path

import prose
import pytest

NOTEBOOKS = sorted((prose.ROOT / "notebooks").glob("*.ipynb"))

# Numbers that are no figure of ours, by file: what they are.
CONSTANTS = {
    "00_tour": {"200": "words of an exercise"},
    "02_train": {
        "112": "identical words of en-ja, in results/tables/rivals.csv once it is made anew",
        "150,000": "steps in the paper",
    },
    "03_em": {"20,000": "words of the last phase in em.SCHEDULE"},
    "10_ablations": {"150,000": "steps in the paper"},
    "README": {
        "5,000": "train words of MUSE's lexicons",
        "17,000": "words of the smallest vocabulary, French",
        "50,000": "words of the largest, Russian and Finnish as they are used",
    },
    "results": {
        "17,000": "words of the smallest vocabulary, French",
        "26,000": "words of English",
        "50,000": "words of Russian as they are used",
        "112": "identical words of en-ja",
        "682": "identical words of en-ru",
        "2,910": "identical words of ja-zh",
    },
    "vectors": {"300": "dimensions of an example", "128": "dimensions of an example"},
}
# Italic words that stress something instead of being discussed.
STRESSED = {"reads", "writes", "takes", "not", "source", "rises", "grows", "responsibility"}
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=[p.stem for p in NOTEBOOKS])


def lost_numbers(name: str, text: str, values: list[float]) -> list[str]:
    """List the numbers of a text that are in no output, no table and no list of constants."""
    known = CONSTANTS.get(name, {})
    return [
        f"{number} in: {' '.join(where.split())[:90]}"
        for number, context, where in prose.claims(text)
        if number not in known
        and not prose.fits(number, values)
        and not prose.in_tables(number, context)
    ]


@each
def test_numbers_of_a_notebook_are_in_its_outputs_or_in_a_table(path: Path):
    values = prose.values_in(prose.outputs(path)) + prose.values_in(prose.code(path))
    lost = lost_numbers(path.stem, prose.markdown(path), values)
    assert not lost, "\n".join(lost)


@each
def test_words_that_a_notebook_discusses_are_in_its_outputs(path: Path):
    shown = prose.outputs(path).lower() + prose.code(path).lower()
    lesson = prose.markdown(path).split("## Exercises")[0]  # exercises ask for words not shown yet
    words = prose.italics(lesson)
    lost = [word for word in words if word not in STRESSED and word not in shown]
    assert not lost, f"discussed, but in no output: {', '.join(lost)}"


@pytest.mark.parametrize("name", ["README", "notebooks/book/results", "notebooks/book/vectors"])
def test_numbers_of_a_page_are_in_a_table(name):
    text = (prose.ROOT / f"{name}.md").read_text(encoding="utf-8")
    lost = lost_numbers(Path(name).name, text, [])
    assert not lost, "\n".join(lost)
    plain = re.sub(r"`[^`]*`|^    .*$", "", text, flags=re.M)
    assert not re.search(r"\b[A-Z]{3,}_[A-Z_]+\b", plain)  # a gap that was left open


def test_a_number_must_fit_a_row_of_what_the_sentence_names(monkeypatch):
    row = prose.Row(frozenset({"em"}), frozenset({"en", "fr"}), "en-fr", (57.86, 1450.0))
    monkeypatch.setattr(prose, "rows", lambda: [row])
    monkeypatch.setitem(CONSTANTS, "made", {"2,533": "a constant"})
    texts = {
        "On en-fr `em` finds 57.9 of 1,450 queries (Section 5.2, 2019, 95 % interval).": [],
        "On French `em` finds 57.8.": ["57.8"],
        "On Japanese `em` finds 57.9.": ["57.9"],
        "On en-fr `procrustes` finds 57.9, of 2,533 words.": ["57.9"],
        "| solver | en → fr | fr → en |\n|---|---|---|\n| `em` | 57.9 | 57.9 |": ["57.9"],
        "It has 3 parts, 0 to 1, and `max_vocab = 3000`:\n\n    demalib run -p x 99.9": [],
    }
    for text, wanted in texts.items():
        assert [said.split()[0] for said in lost_numbers("made", text, [])] == wanted, text


def test_italic_words_are_single_lower_case_words():
    text = "The *cat*, *dog, bird* and **bold**, $a*b*c$, `*x*`, *Run All*, 3*4*5, *two words*."
    assert prose.italics(text) == ["cat", "dog", "bird"]
