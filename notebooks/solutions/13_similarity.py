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
# # Solutions to 13 · Word similarity
#
# The exercises are at the end of [13_similarity](../13_similarity.ipynb). The map is that of `procrustes`,
# because it is the quickest to learn.

# %%
import numpy as np
import pandas as pd

import demalib
from demalib.evaluation import similarity
from demalib.pair import retrievers

config = demalib.preset("en-fr", solver="procrustes", max_vocab=3000)
words, gold = demalib.load_pair(config), demalib.load_gold(config)
retriever, _ = retrievers(demalib.align(words, config), words)
frame = similarity.graded_pairs(words, gold.forward)
cosines = similarity.cosines(frame, retriever, words.src, words.tgt)
translation, neighbour, random = cosines.reshape(3, -1)
print(len(translation), "queries")

# %% [markdown]
# ## 1. Predict: within a query

# %%
across = similarity.auc(translation, neighbour)
within = (translation > neighbour).mean()
print(f"pairs of any two queries: {across['auc']:.0%}, of the same query: {within:.0%}")
assert within > across["ci95"][1]

# %% [markdown]
# More often. Words have different levels: for one query a cosine of a half is the translation, for another
# only a neighbour. Retrieval compares words of the same query, so it has the easier task; a similarity test
# compares the cosines of different queries.
#
# ## 2. Change: rarer words

# %%
rank = np.array([words.tgt.index[word] for word in frame["second"][: len(translation)]])
found = {}
for name, half in (("frequent", rank < np.median(rank)), ("rare", rank >= np.median(rank))):
    found[name] = similarity.auc(translation[half], neighbour[half])
    low, high = found[name]["ci95"]
    medians = [f"{np.median(kind[half]):.2f}" for kind in (translation, neighbour)]
    print(f"{name} translations: AUC {found[name]['auc']:.2f} [{low:.2f}, {high:.2f}],", end=" ")
    print("median cosines of translations and neighbours:", " and ".join(medians))
assert found["rare"]["auc"] > found["frequent"]["auc"]

# %% [markdown]
# Easier. In the rarer half the cosines of translations are higher, and those of neighbours rise less. But
# all of these are among the 3,000 most frequent words of French; the truly rare words of a whole vocabulary
# are another matter.
#
# ## 3. Build: Spearman by hand, and its limit

# %%
score = frame["score"].to_numpy()
ranks, grades = pd.Series(cosines).rank(), pd.Series(score).rank()
mine = np.corrcoef(ranks, grades)[0, 1]
theirs = similarity.correlate(frame, retriever, words.src, words.tgt)
perfect = score + np.random.default_rng(0).uniform(0, 0.9, len(score))  # never in the wrong order
limit = np.corrcoef(pd.Series(perfect).rank(), grades)[0, 1]
print(f"by hand {mine:.3f}, the library {theirs['spearman']:.3f}, perfect order {limit:.3f}")
assert np.isclose(mine, theirs["spearman"]) and np.isclose(limit, (8 / 9) ** 0.5, atol=1e-3)

# %% [markdown]
# Spearman's correlation is Pearson's of the ranks; words with the same grade share their mean rank. Even
# scores in perfect order do not reach 1: cosines differ within a grade, and the grades do not. With three
# grades of the same size the limit is $\sqrt{8/9}$.
