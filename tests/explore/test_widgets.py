"""The explorer without a browser: widgets are set, what they show is read."""

from dataclasses import replace

import pandas as pd
import pytest
from conftest import planted

from demalib import plots
from demalib.config import preset
from demalib.errors import DataError
from demalib.explore import widgets, words
from demalib.explore.widgets import Explorer
from demalib.pair import make_pair

CONFIG = preset("en-fr", max_vocab=600)


@pytest.fixture
def shown(directions, pair, monkeypatch):
    monkeypatch.setattr(widgets, "load_pair", lambda config: pair)
    return Explorer(CONFIG, "src150", directions)


def words_of(rows):
    return [row.button.description for row in rows]


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
    assert shown.snapshot.value == "final map" and not shown.snapshot.disabled
    drawn, picture, draw = [], shown.picture.value, plots.around_and_clouds

    def keep(near, far, *rest):
        drawn.append((near, far))
        return draw(near, far, *rest)

    monkeypatch.setattr(plots, "around_and_clouds", keep)
    for snapshot in ("no map", "round 1"):
        shown.snapshot.value = snapshot
        pd.testing.assert_frame_equal(
            drawn[-1][0], words.around(shown.direction, "src150", snapshot)
        )
        pd.testing.assert_frame_equal(drawn[-1][1], words.clouds(shown.direction, snapshot))
    assert shown.picture.value != picture and len(drawn) == 2
    shown.lists["nn"][0].button.click()
    assert shown.snapshot.value == "round 1"


def test_an_unknown_word_is_a_line_and_changes_nothing_else(shown):
    shown.typed.value = "<b>nonsense"
    assert "is not among the 300 words of aa" in shown.status.value
    assert "&lt;b&gt;nonsense" in shown.status.value
    assert shown.word == "src150" and words_of(shown.lists["nn"])[0] == "tgt150"
    shown.typed.value = "src200"
    assert "is not among" not in shown.status.value


def test_the_status_line_says_whether_it_worked(shown):
    assert "Did it work? yes: a quick fit without" in shown.status.value
    assert widgets.OK in shown.status.value
    verdict = replace(shown.direction.verdict, answer="no")
    text, colour = shown._summary(replace(shown.direction, verdict=verdict))
    assert "Did it work? no" in text and colour == widgets.ERROR
    shown.solver.value = "identical"  # which cannot say
    assert "Did it work" not in shown.status.value


def test_another_solver_is_solved_on_demand_and_says_so(shown):
    said = []
    shown.status.observe(lambda change: said.append(change["new"]), "value")
    shown.solver.value = "identical"
    assert "working: solving en-fr with identical" in said[0] and "working" not in said[-1]
    assert shown.snapshot.disabled and shown.word == "src150"
    assert not shown.pair.disabled
    shown.solver.value = "em"
    assert not shown.snapshot.disabled and len(shown.solved) == 2


def test_a_pair_that_cannot_be_had_is_a_line_and_the_old_one_stays(shown, monkeypatch):
    shown.open("en-xx", "em")
    assert "unknown pair &#x27;en-xx&#x27;" in shown.status.value

    def fail(config):
        raise DataError("no vectors of ja here; run 'demalib fetch'")

    monkeypatch.setattr(widgets, "load_pair", fail)
    shown.pair.value = "en-ja"
    assert "no vectors of ja here" in shown.status.value
    assert shown.pair.value == "en-fr" == shown.config.pair and shown.word == "src150"
    assert not shown.typed.disabled


def test_when_nothing_can_be_solved_it_still_stands_and_recovers(pair, monkeypatch):
    def fail(config):
        raise OSError("no network")

    monkeypatch.setattr(widgets, "load_pair", fail)
    stuck = Explorer(CONFIG, "src150")
    assert "no network" in stuck.status.value
    stuck.flip.click()
    stuck.typed.value = "src150"
    assert "no network" in stuck.status.value
    monkeypatch.setattr(widgets, "load_pair", lambda config: pair)
    stuck.solver.value = "identical"
    assert "en-fr by identical" in stuck.status.value and words_of(stuck.lists["nn"])[0]


def test_a_weak_hint_is_a_warning(rng, monkeypatch):
    src, tgt, _ = planted(rng, n=80, shared=20)
    config = CONFIG.replace(solver="identical")  # which gives no verdict
    directions = words.trace(make_pair(src, tgt), config)
    assert "only 20 identical words" in Explorer(config, "", directions).status.value


def test_what_stands_where_widgets_cannot_run(shown):
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"].startswith("the explorer") and len(bundle) == 2
