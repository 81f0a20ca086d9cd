"""How Sphinx turns the executed notebooks, docstrings and tables into a site: `make book`.

Nothing is executed and nothing is fetched: MathJax comes from a package, all else from this repository.
"""

import re
import shutil
from importlib.metadata import files
from pathlib import Path

from pybtex.database import parse_file
from sphinx.application import Sphinx

import demalib

HERE = Path(__file__).resolve().parent
project, author, release = "demalib", "the authors of demalib", demalib.__version__
html_title = "Density matching"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["**.ipynb_checkpoints", "**/build"]

# Notebooks are shown as they were executed; their widgets are replaced by a picture of the page.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures have them
autodoc_class_signature = "separated"
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False
add_module_names = False

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_js_files = ["sort.js"]
html_show_search_summary = False  # it would be fetched, which files on a disk cannot be
html_copy_source = html_show_sourcelink = html_show_sphinx = html_show_copyright = False
templates_path: list[str] = []
mathjax_path = "tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}


def names_of_papers() -> dict[str, str]:
    """Map what a text calls a paper, "Zhou et al." and a year, to its key; doubtful names are left out."""
    named: dict[str, list[str]] = {}
    for key, entry in parse_file(str(HERE / "references.bib")).entries.items():
        last = [" ".join(person.last_names) for person in entry.persons["author"]]
        who = {" and ".join(filter(None, (", ".join(last[:-1]), last[-1])))}
        who |= {f"{last[0]} et al."} if len(last) > 2 else set()
        for name in who:
            named.setdefault(f"{name} {entry.fields['year']}", []).append(key)
    return {name: keys[0] for name, keys in named.items() if len(keys) == 1}


PAPERS = names_of_papers()
KNOWN = re.compile(
    "|".join(rf"{re.escape(n[:-5])},? \(?{n[-4:]}\b(?:(?<=\(....)\))?" for n in PAPERS)
)


def cite(text: str, role: str) -> str:
    """Turn every name of a known paper into a citation."""

    def replace(found: re.Match[str]) -> str:
        who, year = re.fullmatch(r"(.*?),? \(?(\d{4})\)?", found[0]).groups()
        return f"{role}`{PAPERS[f'{who} {year}']}`"

    return KNOWN.sub(replace, text)


def cite_in_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Cite papers that notebooks and pages name."""
    source[0] = cite(source[0], "{cite:t}")


def cite_in_docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:  # fmt: skip
    """Cite papers that docstrings name."""
    lines[:] = [cite(line, ":cite:t:") for line in lines]


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put the one file of MathJax that pages need beside them."""
    if error is None:
        (script,) = [f for f in files("sphinx-mathjax-offline") or [] if f.name == "tex-svg.js"]
        shutil.copy(str(script.locate()), Path(app.outdir) / "_static" / "tex-svg.js")


def setup(app: Sphinx) -> None:
    """Register the above."""
    app.connect("source-read", cite_in_page)
    app.connect("autodoc-process-docstring", cite_in_docstring)
    app.connect("build-finished", copy_mathjax)
