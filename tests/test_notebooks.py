"""Notebooks as text: pairs agree, outputs come from one clean run, parameters are used."""

import ast
import json
import re
from pathlib import Path

import jupytext
import nbformat
import papermill
import pytest

import demalib

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.py"))
SOLUTIONS = sorted((NOTEBOOKS / "solutions").glob("*.py"))
SLIDES = ("01_density", "03_em")
each = pytest.mark.parametrize("script", LESSONS, ids=lambda path: path.stem)
every = pytest.mark.parametrize(
    "script", LESSONS + SOLUTIONS, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


def inputs(path):
    return [(c.cell_type, c.source, c.metadata.get("tags", [])) for c in jupytext.read(path).cells]


def code_cells(script):
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def parameters(script):
    (cell,) = [c for c in code_cells(script) if "parameters" in c.metadata.get("tags", [])]
    return {node.targets[0].id: node for node in ast.parse(cell.source).body}


@every
def test_pair_agrees(script):
    assert inputs(script) == inputs(script.with_suffix(".ipynb"))


@every
def test_outputs_come_from_one_run_from_top_to_bottom(script):
    counts = [cell.execution_count for cell in code_cells(script)]
    assert counts == list(range(1, len(counts) + 1))


@each
def test_cells_are_short_and_claims_are_made(script):
    assert all(len(cell.source.splitlines()) <= 15 for cell in code_cells(script))
    first = inputs(script)[0][1]
    assert "**Claim.**" in first and "*takes*" in first
    assert len(inputs(script)) <= 30


@each
def test_every_parameter_is_literal_and_used(script):
    later = "\n".join(
        c.source for c in code_cells(script) if "parameters" not in c.metadata.get("tags", [])
    )
    used = {node.id for node in ast.walk(ast.parse(later)) if isinstance(node, ast.Name)}
    for name, node in parameters(script).items():
        ast.literal_eval(node.value)
        assert name in used, f"{name} is declared but nothing reads it"


@each
def test_papermill_reads_every_parameter(script):
    """Its parser goes line by line: a value on two lines, or a second "=", is misread."""
    read = papermill.inspect_notebook(str(script.with_suffix(".ipynb")))
    expected = {name: ast.literal_eval(node.value) for name, node in parameters(script).items()}
    assert {name: ast.literal_eval(p["default"]) for name, p in read.items()} == expected
    assert all(p["help"] for p in read.values())


@every
def test_random_numbers_are_drawn_on_the_device_of_the_data(script):
    """Use ``demalib.device.make_generator(seed, device)``: a CPU generator fails on a GPU."""
    assert "torch.Generator(" not in script.read_text(encoding="utf-8")


@every
def test_no_machine_paths_no_redefinitions_no_bulk(script):
    path = script.with_suffix(".ipynb")
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\]\(\.\./\d\d_\w+\.ipynb\)", "", text)  # from solutions to their lessons
    for trace in ("/home/", "/Users/", "/root/", "/tmp/", "../", "papermill"):
        assert trace not in text, trace
    assert path.stat().st_size < 300_000
    tree = ast.parse(script.read_text(encoding="utf-8"))
    defined = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    assert not defined & set(demalib.__all__) and len(defined) <= 1


@every
def test_kernel_is_plain(script):
    metadata = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
    assert "widgets" not in metadata, (
        f"{script.stem} stores the state of its widgets, hundreds of KB; after executing it, run "
        f"jupytext --update-metadata '{{\"widgets\": null}}' notebooks/{script.stem}.ipynb"
    )


@pytest.mark.parametrize("script", SOLUTIONS, ids=lambda path: path.stem)
def test_solutions_answer_the_exercises_of_their_lesson(script):
    """Each exercise has a section of its number and grade, and the two notebooks link each other."""
    lesson = "\n".join(source for _, source, _ in inputs(NOTEBOOKS / script.name))
    answers = "\n".join(source for _, source, _ in inputs(script))
    asked = re.findall(
        r"^(\d)\. \*(Predict|Change|Build)\.\*", lesson.split("## Exercises")[1], re.M
    )
    assert 2 <= len(asked) <= 3
    assert re.findall(r"^## (\d)\. (Predict|Change|Build):", answers, re.M) == asked
    assert f"(solutions/{script.stem}.ipynb)" in lesson and f"(../{script.stem}.ipynb)" in answers
    assert "assert " in answers
    assert all(len(cell.source.splitlines()) <= 20 for cell in code_cells(script))


def test_lessons_have_exercises():
    with_them = {path.stem for path in LESSONS if "## Exercises" in path.read_text("utf-8")}
    assert with_them == {path.stem for path in SOLUTIONS} and len(with_them) >= 11


@pytest.mark.parametrize("name", SLIDES)
def test_slides_have_a_beginning_and_no_plumbing(name):
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    kinds = [cell.metadata.get("slideshow", {}).get("slide_type") for cell in cells]
    assert kinds[0] == "slide" and None not in kinds and kinds.count("slide") >= 5
    assert all(
        kind == "skip"
        for kind, cell in zip(kinds, cells, strict=True)
        if "parameters" in cell.metadata.get("tags", [])
    )
