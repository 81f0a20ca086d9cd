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
# # Solutions to 08 · Retrieval and hubs
#
# The exercises are at the end of [08_retrieval](../08_retrieval.ipynb).

# %%
import pandas as pd
import torch

import demalib
from demalib.evaluation.translation import judge
from demalib.pair import retrievers
from demalib.retrieval import Metric, Retriever, k_occurrence

config = demalib.preset("en-fr", max_vocab=3000, last="free")
words, gold = demalib.load_pair(config), demalib.load_gold(config)
mapping = demalib.align(words, config)
retriever, _ = retrievers(mapping, words)

# %% [markdown]
# ## 1. Predict: lists of length one

# %%
table = {}
for k in (1, 10):
    counts = pd.Series(k_occurrence(retriever, Metric("nn"), k).cpu().numpy())
    table[f"k = {k}"] = {"skewness": counts.skew(), "in no list": int((counts == 0).sum())}
table = pd.DataFrame(table).T
assert table["skewness"].iloc[0] > table["skewness"].iloc[1]
table.round(1)

# %% [markdown]
# The counts are more skewed, and many more words are in no list: with one answer each, the 3,000 words have
# 3,000 places to give away, and hubs take many of them.
#
# ## 2. Change: the neighbours of CSLS

# %%
scores = {}
for knn in (1, 3, 10, 100):
    frame = judge(
        Retriever(retriever.mapped, retriever.targets, knn),
        words.src,
        words.tgt,
        gold.forward,
        Metric(),
    )
    scores[knn] = float((frame["position"] <= 1).mean())
print({knn: f"{p1:.1%}" for knn, p1 in scores.items()})
assert max(scores.values()) - min(scores.values()) < 0.06

# %% [markdown]
# Hardly at all. Any number of neighbours from a few to many dozens shows how crowded a place is.
#
# ## 3. Build: CSLS by hand

# %%
cosines = retriever.mapped @ retriever.targets.T
r_tgt = cosines.topk(10, dim=1).values.mean(1, keepdim=True)
r_src = cosines.topk(10, dim=0).values.mean(0, keepdim=True)
mine = (2 * cosines - r_tgt - r_src).argmax(1)
_, theirs = retriever.translate(torch.arange(len(words.src)), Metric("csls"), 1)
same = float((mine == theirs[:, 0]).float().mean())
print(f"{same:.1%} of all answers are the same")
assert same > 0.999
