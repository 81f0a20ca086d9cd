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
# # Solutions to 14 · Where the paper and its released code differ
#
# The exercises are at the end of [14_fidelity](../14_fidelity.ipynb).

# %%
from dataclasses import replace

import numpy as np
import torch

import demalib
from demalib.evaluation import benchmark

config = demalib.preset("en-fr", max_vocab=3000, solver="identical", refinements=3)
words, gold = demalib.load_pair(config), demalib.load_gold(config)
mapping = demalib.align(words, config)


# %%
def p1(pair):
    """P@1 from English to French."""
    found = benchmark.summarise(benchmark.evaluate(mapping, pair, gold, config, ("csls",)), gold)
    return found["en-fr"]["csls"]["p@1"]


# %% [markdown]
# ## 1. Predict: the mean of thirty words

# %%
scores = {"all": p1(words)}
for few in (750, 30):
    sides = []
    for side in (words.src, words.tgt):
        raw = benchmark.load_embedding_of(side.lang, config)
        mean = raw.head(few).normalise().normalisation
        sides.append(replace(side, vectors=mean.apply(raw.vectors)))
    scores[few] = p1(replace(words, src=sides[0], tgt=sides[1]))
print(*words.src.words[:12], "·", {name: f"{score:.1%}" for name, score in scores.items()})
assert abs(scores[30] - scores["all"]) < 0.03

# %% [markdown]
# The first thirty are function words, and their mean is not the mean of the language. Still, hardly a word
# is lost: a common shift moves all words of a side in the same way, and CSLS measures each word against its
# neighbours.
#
# ## 2. Change: a reward for hubs

# %%
x, y = (
    torch.nn.functional.normalize(side.cpu(), dim=1)
    for side in (words.x @ mapping.W_xy.to(words.x), words.y)
)
cosines = x @ y.T
crowd = cosines.topk(10, dim=0).values.mean(0)
most = {}
for name, sign in (("punished", -1), ("rewarded", 1)):
    answers = (2 * cosines + sign * crowd).argmax(1).numpy()
    counts = np.bincount(answers, minlength=len(y))
    most[name] = counts.max()
    print(
        f"hubs {name}: {words.tgt.words[counts.argmax()]} answers {counts.max()} of {len(x)} words"
    )
assert most["rewarded"] > 2 * most["punished"]

# %% [markdown]
# The same hub, but more than twice as often. Fewer words are left for the others.
