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
# # 06 · Explore a pair
#
# **Claim.** A word and its translation are unrelated before the first round and close to each other
# after a few: over the rounds of EM the mean cosine of dictionary pairs rises from 0 to about 0.5,
# while that of other words stays close to 0.
#
# *Reads* the vectors of a pair · *writes* nothing · *takes* about 15 seconds on two cores.
# `make app` shows the same page as an app, without code.

# %% tags=["parameters"]
pair = "en-fr"  # a registry pair such as en-ja, or one of the paper such as en-es
solver = "em"  # any of demalib.SOLVERS; em and gradient show their rounds
word = "winter"  # the first word
max_vocab = 3000  # most frequent words per side, 0 takes all of them

# %%
import demalib
from demalib import plots
from demalib.explore import words as explore
from demalib.explore.widgets import Explorer

plots.style()
config = demalib.preset(pair, solver=solver, max_vocab=max_vocab)
words = demalib.load_pair(config)
forward, backward = explore.trace(words, config)

# %% [markdown]
# ## Walk
#
# Type a word, or click on a translation to continue from it in the reverse direction. The slider goes
# through the rounds of the run. If you choose another pair or solver, it is solved on the spot, which takes
# seconds with `em` and minutes with some others.

# %%
Explorer(config, word, (forward, backward))

# %% [markdown]
# ## The same without widgets
#
# Everything below is plain output. The three metrics (08 explains them) agree on this word. Ranks
# count from the most frequent word. The neighbours of a translation show whether the map has found
# the right region of the other language.

# %%
found = explore.translations(forward, word)
found.round(2).set_index(["metric", "place"])

# %% tags=["nbval-check-output"]
print(word, "→", ", ".join(found.loc[found["metric"] == "csls", "translation"][:3]))

# %% [markdown]
# The next figures show the surroundings of the word, in the plane in which these words differ most under
# the final map; on the right are 150 words from all ranks. First, without any map:


# %%
def picture(snapshot):
    near, far = explore.around(forward, word, snapshot), explore.clouds(forward, snapshot)
    return plots.Picture(plots.around_and_clouds(near, far, config.langs, snapshot))


picture("no map")

# %% [markdown]
# Two spaces that were trained separately have nothing in common: every English word is nearly at right
# angles to all of French, so here they all look the same. And at the end:

# %%
picture(forward.last())

# %% [markdown]
# **See:** most words are close to their translations, and the seasons are separate from the weather. But
# *summer* went to *automne*. Its translation *été* is also the participle of *to be*, and that sense
# decides where its vector is:

# %%
row = words.tgt.index.get("été")
near = explore.neighbours(forward.y, row) if row is not None else []
print("nearest to été:", ", ".join(words.tgt.words[j] for j in near))
if words.src.knows("summer"):
    summer = explore.translations(forward, "summer", k=1).set_index("metric")
    print("summer →", summer.loc["csls", "translation"])

# %% [markdown]
# ## From unrelated to close
#
# Only here do we open the dictionary; no solver sees it. The line for other words pairs each word with the
# translation of another entry.

# %%
pairs = demalib.load_gold(config).forward.rows(words.src, words.tgt)
met = explore.meeting(forward, pairs)
axes = plots.meeting(met)

# %%
first, last = met.iloc[0], met.iloc[-1]
for name in ("translations", "other words"):
    print(f"{name}: from {first[name]:.2f} to {last[name]:.2f}")
if (pair, solver, max_vocab) == ("en-fr", "em", 3000):
    assert abs(first["translations"]) < 0.02 and last["translations"] > 0.45
    assert met["other words"].abs().max() < 0.1

# %% [markdown]
# **See:** most of the rise happens in the first rounds, while each word still has hundreds of
# candidates (see 03); the later rounds sort out details.
#
# ## Hubs
#
# These words are among the ten best translations of very many words; each metric has its own column:

# %%
explore.hubs(forward)

# %% [markdown]
# **Try next:** `make app`; `pair = "en-ja"` with `solver = "procrustes"`, or with `max_vocab = 0`, because
# English and Japanese share hardly any of their 3,000 most frequent words.
#
# ## Exercises
#
# 1. *Predict.* *livre* means both book and pound, *cours* both lesson and stock price. Which English word
#    will each find?
# 2. *Change.* Ask for *bank* and *match* under all three metrics. Where do they disagree?
# 3. *Build.* Find the ten English words that moved most: those whose cosine with their final translation rose
#    most between the first and the last round (`forward.mapped`, `forward.snapshots`).
#
# Solutions: [solutions/06_explorer](solutions/06_explorer.ipynb).
