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
# # 09 · Explore a pair
#
# **Claim.** A word and its translation are strangers before the first round and near each other
# after a few: over the rounds of EM the mean cosine of dictionary pairs rises from 0 to about 0.4,
# while that of other words stays close to 0.
#
# *Reads* the vectors of a pair · *writes* nothing · *takes* about 20 seconds on two cores.
# `make app` shows the same page as an app, without code.

# %% tags=["parameters"]
pair = "en-fr"  # a registry pair such as en-ja, or one of the paper such as en-es
solver = "em"  # any of demalib.SOLVERS, em and gradient show their rounds
word = "winter"  # where to begin
max_vocab = 3000  # most frequent words per side, 0 takes all of them

# %%
import torch

import demalib
from demalib import lookup, plots
from demalib.explore.widgets import Explorer

plots.style()
config = demalib.preset(pair, solver=solver, max_vocab=max_vocab)
words = demalib.load_pair(config)
forward, backward = lookup.look(words, config)

# %% [markdown]
# ## Walk
#
# Type a word, or click on a translation to go there: the direction turns round. The slider leads
# through the rounds of the run. Another pair or solver is solved when it is chosen, which takes
# some seconds with `em` and minutes with some others.

# %%
Explorer(config, word, (forward, backward))

# %% [markdown]
# ## The same without widgets
#
# Everything below is plain output. The three ways to choose a translation (03 explains them) agree
# on most words; ranks count from the most frequent word, and the neighbours of a translation tell
# whether the map has met the right corner of the other language.

# %%
found = lookup.translations(forward, word)
found.round(2).set_index(["metric", "place"])

# %% tags=["nbval-check-output"]
print(word, "→", ", ".join(found.loc[found["metric"] == "csls", "translation"][:3]))

# %% [markdown]
# Around the word, in the plane in which the final map has these words differ most. On the right
# are 150 words from all ranks. First without any map:


# %%
def picture(moment):
    near, far = lookup.around(forward, word, moment), lookup.clouds(forward, moment)
    return plots.Picture(plots.around_and_clouds(near, far, config.langs, moment))


picture("no map")

# %% [markdown]
# Two spaces that were learned apart have nothing to do with each other: every English word lies
# nearly at right angles to all of French, so from here they all look the same. And at the end:

# %%
picture(forward.last())

# %% [markdown]
# **See:** most words have gone to their translations, the seasons apart from the weather. But
# *summer* went to *hiver*: *été* is also French for *been*, its vector lies among *fut*, *sera* and
# *était*, and one linear map cannot bring a word to two places.
#
# ## Strangers become neighbours
#
# The dictionary is opened only here; no solver sees it. The other line joins each word with the
# translation of a distant entry.

# %%
pairs = torch.as_tensor(demalib.load_gold(config).forward.rows(words.src, words.tgt))
met = lookup.meeting(forward, pairs)
axes = plots.meeting(met)

# %%
first, last = met.iloc[0], met.iloc[-1]
for name in ("translations", "other words"):
    print(f"{name}: from {first[name]:.2f} to {last[name]:.2f}")
if (pair, solver, max_vocab) == ("en-fr", "em", 3000):
    assert abs(first["translations"]) < 0.02 and last["translations"] > 0.4
    assert met["other words"].abs().max() < 0.1

# %% [markdown]
# **See:** most of the way is done in the first rounds, while each word still has hundreds of
# candidates; the rest sorts out details.
#
# ## Hubs
#
# Words that are among the ten best translations of very many words, by metric:

# %%
lookup.hubs(forward)

# %% [markdown]
# **Try next:** `make app`; `pair = "en-ja"` with `solver = "procrustes"`, or with `max_vocab = 0`,
# because among the 3,000 most frequent words of Japanese two are spelled as in English.
