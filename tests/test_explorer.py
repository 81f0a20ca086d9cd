"""The explorer without a browser: widgets are set, what they show is read."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import planted

from demalib import explorer, fonts, lookup, plots
from demalib.config import preset
from demalib.explorer import Explorer
from demalib.files import DataError
from demalib.mapping import make_pair
from demalib.retrieval import Metric, k_occurrence

CONFIG = preset("en-fr", max_vocab=600)


@pytest.fixture(scope="module")
def pair():
    src, tgt, _ = planted(np.random.default_rng(0), n=300)
    return make_pair(src, tgt)


@pytest.fixture(scope="module")
def ways(pair):
    return lookup.look(pair, CONFIG)


@pytest.fixture
def shown(ways, pair, monkeypatch):
    monkeypatch.setattr(explorer, "load_pair", lambda config: pair)
    return Explorer(CONFIG, "src150", ways)


def words_of(rows):
    return [row.button.description for row in rows]


def test_translations_name_cosine_ranks_and_neighbours(ways):
    found = lookup.translations(ways[0], "src150", k=3)
    assert list(found["metric"].unique()) == ["nn", "csls", "csls-d"]
    best = found[found["place"] == 1]
    assert set(best["translation"]) == {"tgt150"} and set(best["rank"]) == {151}
    way = ways[0]
    cosine = (way.retriever.mapped[150] @ way.retriever.targets.T).sort(descending=True).values
    np.testing.assert_allclose(found[found["metric"] == "nn"]["cosine"], cosine[:3], atol=1e-5)
    near = (way.y @ way.y[150]).argsort(descending=True)[1:5]
    assert best["neighbours"].iloc[0] == ", ".join(way.tgt.words[j] for j in near)


def test_hubs_are_counted_over_all_lists(ways):
    found = lookup.hubs(ways[0], k=10, shown=4)
    counts = k_occurrence(ways[0].retriever, Metric("nn"), 10)
    assert found["nn"].tolist() == counts.sort(descending=True).values[:4].tolist()
    assert [int(counts[ways[0].tgt.index[hub]]) for hub in found["hub"]] == found["nn"].tolist()


def test_rounds_bring_words_to_their_translations(ways):
    captions = list(ways[0].moments)
    assert captions[:2] == ["no map", "round 1"] and captions[-1] == "final map"
    met = lookup.meeting(ways[0], torch.arange(300)[:, None].repeat(1, 2))
    assert abs(met["translations"].iloc[0]) < 0.3 and met["translations"].iloc[-1] > 0.95
    assert met["other words"].abs().max() < 0.15


def test_the_plane_moves_source_words_only_and_ends_at_the_translation(ways):
    first, last = (lookup.around(ways[0], "src150", m) for m in ("no map", "final map"))
    assert last["word"].iloc[0] == "src150" and last["word"][last["partner"][0]] == "tgt150"
    moved = (first[["x", "y"]] - last[["x", "y"]]).abs().max(axis=1)
    assert moved[first["side"] == "tgt"].max() < 1e-6 < 0.1 < moved[first["side"] == "src"].max()
    apart = last.loc[0, ["x", "y"]] - last.loc[last["partner"][0], ["x", "y"]]
    assert apart.abs().max() < 0.1
    assert last[["x", "y"]].abs().to_numpy().max() <= last.attrs["reach"] == first.attrs["reach"]


def test_unknown_words_are_told_with_what_to_do(ways):
    with pytest.raises(DataError, match="near spellings: src150"):
        ways[0].row("src1500")
    with pytest.raises(DataError, match="a word of bb: ask the other way round"):
        ways[0].row("tgt150")
    assert ways[0].row(" SRC150 ") == 150


def test_solvers_without_rounds_have_two_moments(pair):
    way = lookup.look(pair, preset("en-fr", solver="identical"))[0]
    assert list(way.moments) == ["no map", "final map"]


def test_typing_a_word_shows_its_translations(shown):
    picture = shown.picture.value
    shown.typed.value = "src200"
    assert [words_of(rows)[0] for rows in shown.lists.values()] == ["tgt200"] * 3
    assert "src200" in shown.about.value and "rank 201" in shown.about.value
    assert shown.picture.value != picture and shown.picture.value[:4] == b"\x89PNG"


def test_a_click_goes_there_and_back(shown):
    assert shown.flip.description.startswith("aa → bb")
    shown.lists["csls"][0].button.click()
    assert (shown.word, shown.typed.value) == ("tgt150", "tgt150")
    assert shown.flip.description.startswith("bb → aa") and "tgt170" in shown.typed.options
    shown.flip.click()
    assert shown.word == "src150"
    hub = shown.hubs[0].button.description
    shown.hubs[0].button.click()
    assert shown.word == hub


def test_the_slider_starts_at_the_end_and_changes_the_figure(shown, monkeypatch):
    assert shown.moment.value == "final map" and not shown.moment.disabled
    drawn, picture, draw = [], shown.picture.value, plots.around_and_clouds

    def keep(near, far, *rest):
        drawn.append((near, far))
        return draw(near, far, *rest)

    monkeypatch.setattr(plots, "around_and_clouds", keep)
    for moment in ("no map", "round 1"):
        shown.moment.value = moment
        pd.testing.assert_frame_equal(drawn[-1][0], lookup.around(shown.way, "src150", moment))
        pd.testing.assert_frame_equal(drawn[-1][1], lookup.clouds(shown.way, moment))
    assert shown.picture.value != picture and len(drawn) == 2
    shown.lists["nn"][0].button.click()
    assert shown.moment.value == "round 1"


def test_an_unknown_word_is_a_line_and_changes_nothing_else(shown):
    shown.typed.value = "<b>nonsense"
    assert "is not among the 300 words of aa" in shown.status.value
    assert "&lt;b&gt;nonsense" in shown.status.value
    assert shown.word == "src150" and words_of(shown.lists["nn"])[0] == "tgt150"
    shown.typed.value = "src200"
    assert "is not among" not in shown.status.value


def test_another_solver_is_solved_on_demand_and_says_so(shown):
    said = []
    shown.status.observe(lambda change: said.append(change["new"]), "value")
    shown.solver.value = "identical"
    assert "working: solving en-fr with identical" in said[0] and "working" not in said[-1]
    assert shown.moment.disabled and shown.word == "src150"
    assert not shown.pair.disabled
    shown.solver.value = "em"
    assert not shown.moment.disabled and len(shown.solved) == 2


def test_a_pair_that_cannot_be_had_is_a_line_and_the_old_one_stays(shown, monkeypatch):
    shown.open("en-xx", "em")
    assert "unknown pair &#x27;en-xx&#x27;" in shown.status.value

    def fail(config):
        raise DataError("no vectors of ja here; run 'demalib fetch'")

    monkeypatch.setattr(explorer, "load_pair", fail)
    shown.pair.value = "en-ja"
    assert "no vectors of ja here" in shown.status.value
    assert shown.pair.value == "en-fr" == shown.config.pair and shown.word == "src150"
    assert not shown.typed.disabled


def test_when_nothing_can_be_solved_it_still_stands_and_recovers(pair, monkeypatch):
    def fail(config):
        raise OSError("no network")

    monkeypatch.setattr(explorer, "load_pair", fail)
    stuck = Explorer(CONFIG, "src150")
    assert "no network" in stuck.status.value
    stuck.flip.click()
    stuck.typed.value = "src150"
    assert "no network" in stuck.status.value
    monkeypatch.setattr(explorer, "load_pair", lambda config: pair)
    stuck.solver.value = "identical"
    assert "en-fr by identical" in stuck.status.value and words_of(stuck.lists["nn"])[0]


def test_a_weak_hint_is_told(rng, monkeypatch):
    src, tgt, _ = planted(rng, n=80, shared=20)
    ways = lookup.look(make_pair(src, tgt), CONFIG)
    assert "only 20 words are spelled alike" in Explorer(CONFIG, "", ways).status.value


def test_what_stands_where_widgets_cannot_run(shown):
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"].startswith("the explorer") and len(bundle) == 2


def test_japanese_is_drawn_where_a_font_is_installed(recwarn):
    if not fonts.cjk_font():
        pytest.skip("no font with Japanese letters (apt-get install fonts-noto-cjk)")
    import matplotlib.pyplot as plt

    plots.style()
    figure = plt.figure()
    figure.text(0.5, 0.5, "winter зима 冬")
    figure.canvas.draw()
    plt.close(figure)
    assert not [w for w in recwarn if "missing from" in str(w.message)]


def test_without_such_a_font_a_line_says_so(monkeypatch):
    monkeypatch.setattr(fonts, "cjk_font", lambda: "")
    assert "fonts-noto-cjk" in fonts.missing(("en", "ja")) and not fonts.missing(("en", "ru"))
    assert fonts.families() == ["sans-serif"]


def test_everything_but_the_widgets_works_without_jupyter():
    code = """
import sys
sys.modules["ipywidgets"] = sys.modules["IPython"] = None
import demalib, demalib.lookup, demalib.plots
assert "demalib.explorer" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_figure_labels_each_word_once(ways):
    axes = plots.around_and_clouds(
        lookup.around(ways[0], "src150"), lookup.clouds(ways[0]), ("aa", "bb"), "final map"
    )
    texts = [text.get_text() for text in axes[0].texts]
    assert len(texts) == len(set(texts)) and {"src150", "tgt150"} <= set(texts)
    assert not axes[1].texts
