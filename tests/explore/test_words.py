"""Data frames about a word, on a planted pair."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from conftest import planted

from demalib.config import Config, preset
from demalib.errors import DataError
from demalib.explore.words import (
    SHOWN,
    around,
    clouds,
    directions,
    hubs,
    in_plane,
    meeting,
    neighbours,
    trace,
    translations,
)
from demalib.pair import make_pair
from demalib.retrieval import Metric, k_occurrence
from demalib.solvers import align


def test_translations_name_cosine_ranks_and_neighbours(there):
    found = translations(there, "src150", k=3)
    assert list(found["metric"].unique()) == ["nn", "csls", "csls-d"]
    best = found[found["place"] == 1]
    assert set(best["translation"]) == {"tgt150"} and set(best["rank"]) == {151}
    cosine = (there.retriever.mapped[150] @ there.retriever.targets.T).sort(descending=True).values
    np.testing.assert_allclose(found[found["metric"] == "nn"]["cosine"], cosine[:3], atol=1e-5)
    near = (there.y @ there.y[150]).argsort(descending=True)[1:5]
    assert best["neighbours"].iloc[0] == ", ".join(there.tgt.words[j] for j in near)


def test_hubs_are_counted_over_all_lists(there):
    found = hubs(there, k=10, shown=4)
    counts = k_occurrence(there.retriever, Metric("nn"), 10)
    assert found["nn"].tolist() == counts.sort(descending=True).values[:4].tolist()
    assert [int(counts[there.tgt.index[hub]]) for hub in found["hub"]] == found["nn"].tolist()


def test_rounds_bring_words_to_their_translations(there):
    captions = list(there.snapshots)
    assert captions[:2] == ["no map", "round 1"] and captions[-1] == "final map"
    met = meeting(there, torch.arange(300)[:, None].repeat(1, 2))
    assert abs(met["translations"].iloc[0]) < 0.3 and met["translations"].iloc[-1] > 0.95
    assert met["other words"].abs().max() < 0.15


def test_the_plane_moves_source_words_only_and_ends_at_the_translation(there):
    first, last = (around(there, "src150", m) for m in ("no map", "final map"))
    assert last["word"].iloc[0] == "src150" and last["word"][last["partner"][0]] == "tgt150"
    moved = (first[["x", "y"]] - last[["x", "y"]]).abs().max(axis=1)
    assert moved[first["side"] == "tgt"].max() < 1e-6 < 0.1 < moved[first["side"] == "src"].max()
    apart = last.loc[0, ["x", "y"]] - last.loc[last["partner"][0], ["x", "y"]]
    assert apart.abs().max() < 0.1
    assert last[["x", "y"]].abs().to_numpy().max() <= last.attrs["reach"] == first.attrs["reach"]


def test_the_error_for_an_unknown_word_says_what_to_do(there):
    with pytest.raises(DataError, match="similar spellings: src150"):
        there.row("src1500")
    with pytest.raises(DataError, match="a word of bb: translate in the other direction"):
        there.row("tgt150")
    assert there.row(" SRC150 ") == 150


def test_solvers_without_rounds_have_two_snapshots(pair):
    found = trace(pair, preset("en-fr", solver="identical"))[0]
    assert list(found.snapshots) == ["no map", "final map"]


def test_the_last_snapshot_of_each_direction_is_the_map_that_retrieval_uses(directions):
    for found in directions:
        assert found.last() == "final map" and list(found.metrics) == list(SHOWN)
        mapped = found.mapped(torch.arange(300), found.last())
        torch.testing.assert_close(mapped, found.retriever.mapped)
    assert (directions[1].src.lang, directions[1].tgt.lang) == ("bb", "aa")
    first, back = (d.snapshots["no map"] for d in directions)
    assert torch.equal(first, torch.eye(16)) and torch.equal(back, first)


def test_neighbours_are_the_nearest_without_the_word_itself(gen):
    vectors = torch.nn.functional.normalize(torch.randn(30, 4, generator=gen), dim=1)
    order = (vectors @ vectors[7]).argsort(descending=True).tolist()
    assert order[0] == 7 and neighbours(vectors, 7, 5) == order[1:6]
    assert len(neighbours(vectors, 7, 100)) == 29


def test_clouds_are_words_of_all_ranks_and_come_together(there):
    first, last = clouds(there, "no map", 50), clouds(there, n=50)
    asked = last[last["side"] == "src"]
    assert asked["word"].iloc[0] == "both0" and asked["word"].iloc[-1] == "src299"
    assert len(asked) == 50 and last["partner"].notna().sum() == 50
    assert last.attrs["cosine"] > 0.95 > 0.5 > first.attrs["cosine"]


def test_everything_but_the_widgets_works_without_jupyter():
    code = """
import sys
sys.modules["ipywidgets"] = sys.modules["IPython"] = None
import demalib, demalib.explore.words, demalib.plots
assert "demalib.explore.widgets" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_some_words_in_a_plane_with_their_translations(rng):
    src, tgt, _ = planted(rng, n=300, d=8, shared=60)
    pair = make_pair(src, tgt)
    forward, backward = directions(align(pair, Config("en-fr")), pair)
    assert list(forward.snapshots) == ["no map", "final map"] == list(backward.snapshots)
    frame = in_plane(forward, ["src200", "src201"])
    assert frame["word"].tolist() == ["src200", "src201", "tgt200", "tgt201"]
    assert frame["partner"].tolist()[:2] == [2, 3]
    with pytest.raises(DataError, match="nonsense"):
        in_plane(forward, ["nonsense"])
