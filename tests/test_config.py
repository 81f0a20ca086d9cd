import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demalib.config import PAPER_PAIRS, RECIPES, REGISTRY_PAIRS, Config, preset, reverse_pair
from demalib.errors import DataError
from demalib.gradient import Settings

LOOP = {field.name for field in dataclasses.fields(Settings)}
USUAL = Config().to_dict()
OTHER = {
    "dictionary": "union",
    "schedule": "decay",
    "reduction": "sum",
    "sampling": "frequency",
    "selection": "supervised",
    "matmul_dtype": "bfloat16",
}


def other(name):
    """A value of a setting that is not the usual one."""
    usual = USUAL[name]
    if isinstance(usual, bool):
        return not usual
    return OTHER.get(name, f"{usual}x" if isinstance(usual, str) else usual + 7)


def test_settings_of_the_loop_are_flat_beside_the_others():
    assert USUAL.keys() >= LOOP and "gradient" not in USUAL
    assert len(USUAL) == len(dataclasses.fields(Config)) - 1 + len(LOOP)


@pytest.mark.parametrize("name", USUAL)
def test_every_setting_survives_a_file_and_shows_in_the_name_of_the_run(name):
    config = Config().replace(**{name: other(name)})
    changed = {k for k, v in config.to_dict().items() if v != USUAL[k]}
    assert changed == {name} and config != Config()
    assert Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    if name not in ("pair", "recipe"):
        shown = "" if name == "seed" else str(other(name))
        assert shown in config.name and (config.name != Config().name) == (name != "seed")


def test_a_setting_of_the_loop_is_where_the_loop_looks_for_it():
    config = Config(seed=3).replace(steps=7, knn=5)
    assert (config.gradient.steps, config.knn, config.seed) == (7, 5, 3)
    assert config.replace(rate=0.5).gradient == dataclasses.replace(config.gradient, rate=0.5)
    assert Config().gradient.steps == USUAL["steps"]  # the first one is as it was


def test_what_a_dictionary_lacks_is_as_usual():
    assert Config.from_dict({}) == Config()
    assert Config.from_dict({"seed": 2, "batch": 8}) == Config(seed=2).replace(batch=8)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"sigma": 1}, "unknown setting sigma; known are .*sigma2_src"),
        ({"gradient": {}}, "unknown setting gradient"),
        ({"seed": "1"}, "seed = '1': expected int"),
        ({"seed": 1.5}, "seed = 1.5: expected int"),
        ({"tau": "hot"}, "tau = 'hot': expected float"),
        ({"exclude_test": "yes"}, "exclude_test = 'yes': expected bool"),
        ({"steps": None}, "steps = None: expected int"),
        ({"schedule": "wild"}, "unknown schedule 'wild'; use one of one-cycle, decay"),
        ({"selection": "best"}, "unknown selection 'best'; use one of"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_right(settings, says):
    with pytest.raises(DataError, match=says):
        Config().replace(**settings)
    with pytest.raises(DataError, match=says):
        preset("en-fr", **settings)


def test_a_whole_number_will_do_where_any_number_is_meant():
    assert Config().replace(tau=3).tau == 3


@given(st.sampled_from([*REGISTRY_PAIRS, *PAPER_PAIRS]), st.sampled_from(list(RECIPES)))
def test_a_preset_is_named_after_its_solver_and_recipe_alone(pair, recipe):
    config, back = preset(pair, recipe), preset(reverse_pair(pair), recipe)
    assert config.name == back.name == ("em" if recipe == "laptop" else f"em,recipe={recipe}")
    assert config.langs == back.langs[::-1] and config.recipe == recipe
    assert (config.sigma2_src, config.gradient.noise_src) == (
        back.sigma2_tgt,
        back.gradient.noise_tgt,
    )


def test_an_empty_text_keeps_the_preset():
    assert preset("en-fr", solver="", ablate="") == preset("en-fr")
    assert preset("en-fr", solver="gradient").solver == "gradient"


def test_a_run_is_named_after_what_differs_from_its_preset():
    assert preset("en-fr").name == "em"
    assert preset("en-fr", ablate="prior", max_vocab=500).name == "em,max_vocab=500,ablate=prior"
    assert preset("en-es", "paper", solver="gradient").name == "gradient,recipe=paper"
    assert preset("ja-en", solver="gradient", seed=7, lexicons="muse").name == (
        "gradient,lexicons=muse"
    )


def test_unknown_names_list_the_known_ones():
    with pytest.raises(DataError, match="unknown pair 'en-xx'; .*en-fr, en-ja.*en-es"):
        preset("en-xx")
    with pytest.raises(DataError, match="unknown recipe 'best'; use one of laptop, paper"):
        preset("en-fr", "best")
    assert preset("ja-en").vectors == "registry" and preset("es-en").vectors == "muse"


def test_refinement_has_the_arguments_of_refine():
    config = Config(dictionary="s2t", max_rank=70, knn=3)
    assert config.refinement == {"mode": "s2t", "max_rank": 70, "knn": 3}


def test_a_pair_of_ones_own_has_a_run_name():
    own = Config("aa-bb", "em", vectors="files").replace(ablate="prior")
    assert own.name == "em,ablate=prior"


def test_an_unknown_name_is_refused_even_if_it_is_empty():
    with pytest.raises(DataError, match="unknown setting typo"):
        preset("en-fr", typo="")
    with pytest.raises(DataError, match="unknown dictionary 'best'; use one of s2t"):
        preset("en-fr", dictionary="best")


def test_an_empty_override_keeps_the_recipe():
    assert preset("en-es", "fixed", exclude_test="").exclude_test
    assert not preset("en-es", "fixed", exclude_test=False).exclude_test
