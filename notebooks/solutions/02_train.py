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
# # Solutions to 02 · Train one pair
#
# The exercises are at the end of [02_train](../02_train.ipynb). The loop is one function, so that its parts
# can be changed. Everything is as in the lesson, but with fewer words to save time.

# %%
import torch

import demalib
from demalib import LinearFlow
from demalib.device import make_generator
from demalib.evaluation.benchmark import evaluate, summarise
from demalib.losses import Batch, total
from demalib.pair import Mapping
from demalib.solvers import mixtures

config = demalib.preset("en-fr", max_vocab=2000, solver="gradient", steps=40, anneal=False)
words, gold = demalib.load_pair(config), demalib.load_gold(config)
src, tgt = mixtures(words, config)


# %%
def loop(alpha=60.0, uniform=False, ablate=("prior",)):
    """Forty steps; the parts of the loss at the end, both maps, and P@1 from English."""
    draw = make_generator(0, words.x.device)
    flows = [LinearFlow(words.src.dim, draw).to(words.x) for _ in range(2)]
    adam = torch.optim.Adam([flow.W for flow in flows], betas=(0.9, 0.98))
    for step in range(40):
        x, y = (Batch.draw(side, 512, draw, uniform) for side in (src, tgt))
        loss, parts = total(*flows, x, y, words.hint(config), alpha=alpha, ablate=ablate)
        adam.param_groups[0]["lr"] = config.gradient.learning_rate(step)
        adam.zero_grad()
        loss.backward()
        adam.step()
    mapping = Mapping.of(*(flow.W.detach() for flow in flows), words, config)
    found = summarise(evaluate(mapping, words, gold, config, ("csls",)), gold)
    return (
        {name: round(float(part), 2) for name, part in parts.items()},
        mapping,
        found["en-fr"]["csls"]["p@1"],
    )


# %% [markdown]
# ## 1. Predict: no identical words

# %%
with_words, without = loop(), loop(alpha=0.0)
print(*(f"{found[2]:.0%} {found[0]}" for found in (with_words, without)), sep="\n")
assert (
    without[2] < 0.03 < with_words[2] and without[0]["identical"] > 1.5 * with_words[0]["identical"]
)

# %% [markdown]
# The densities are as good as before: the map learns to put points where French is dense. But it puts them
# on the wrong French words, and nothing is translated: it found a valley, but not the right one. The cycle
# loss ends a little higher without the identical words. (`density_xy` is minus
# $\mathcal{L}_{xy}$.)
#
# ## 2. Change: all words alike

# %%
even = loop(uniform=True)
print(f"by frequency {with_words[2]:.0%}, all words alike {even[2]:.0%}")
assert even[2] > with_words[2]

# %% [markdown]
# Drawn by frequency, a fifth of all points are around the ten most frequent words, which are function words
# without clear translations. Drawn evenly, every word is seen. The released code does this too
# ([14](../14_fidelity.ipynb)).
#
# ## 3. Build: the rank prior

# %%
prior = loop(uniform=True, ablate=())
library = demalib.align(words, config)
apart = float((prior[1].W_xy - library.W_xy).abs().max())
print(f"{prior[2]:.0%}; the library's solver differs by {apart:.0e}")
assert apart < 1e-4
