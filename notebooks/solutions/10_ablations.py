# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: -jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Solutions to 10 · What each part of the objective contributes
#
# The exercises are at the end of [10_ablations](../10_ablations.ipynb). The runs are short and use 2,000
# words.

# %%
import torch

import demalib
from demalib.device import make_generator
from demalib.evaluation.benchmark import evaluate, summarise
from demalib.gradient import fit_gradient
from demalib.pair import Mapping
from demalib.solvers import mixtures

config = demalib.preset("en-fr", max_vocab=2000, solver="gradient", steps=40, anneal=False)
words, gold = demalib.load_pair(config), demalib.load_gold(config)


# %%
def p1(mapping):
    """P@1 from English to French."""
    found = summarise(evaluate(mapping, words, gold, config, ("csls",)), gold)
    return found["en-fr"]["csls"]["p@1"]


usual = demalib.align(words, config)
print(f"{p1(usual):.0%}")

# %% [markdown]
# ## 1. Predict: less weight for the identical words

# %%
light = demalib.align(words, config.replace(identical_weight=10.0))
print(f"weight 60: {p1(usual):.0%}, weight 10: {p1(light):.0%}")
assert p1(light) < p1(usual)

# %% [markdown]
# Worse. In a short run the hints have to turn the map quickly towards the right valley; in a long one they
# have time, and too much weight would drown out the density.
#
# ## 2. Change: two parts at once

# %%
one = {
    part: p1(usual) - p1(demalib.align(words, config.replace(ablate=part)))
    for part in ("cycle", "prior")
}
src, tgt = mixtures(words, config)
maps = fit_gradient(src, tgt, *words.hint(config), config.replace(cycle_weight=0.0).gradient,
                    generator=make_generator(config.seed, words.x.device), ablate="prior")  # fmt: skip
both = p1(usual) - p1(Mapping.of_maps(maps, words, config))
print(
    {part: f"{100 * lost:+.1f}" for part, lost in one.items()},
    f"together {100 * both:+.1f} points lost",
)
assert abs(both) < 0.1

# %% [markdown]
# All three are small, and with so few test words each is uncertain by several points: we cannot tell
# whether they add up. That is what intervals are for.
#
# ## 3. Build: there and back

# %%
free = demalib.align(words, config.replace(ablate="cycle"))
eye = torch.eye(words.src.dim)
off = {
    name: float((m.W_xy @ m.W_yx - eye).norm()) for name, m in (("with", usual), ("without", free))
}
print(
    {name: f"{value:.1f}" for name, value in off.items()},
    f"and two random rotations {(2 * words.src.dim) ** 0.5:.1f}",
)

# %% [markdown]
# The cycle loss compares only directions, so the scale is free, and the distance stays above zero even with
# it. Both runs are about equally far away: the two densities and the identical words already ask for the
# same thing.
