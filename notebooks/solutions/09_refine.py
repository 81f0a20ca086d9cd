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
# # Solutions to 09 · Refine a map, and when not to
#
# The exercises are at the end of [09_refine](../09_refine.ipynb).

# %%
import torch

import demalib
from demalib.device import make_generator
from demalib.evaluation.benchmark import follow_refinement
from demalib.evaluation.translation import judge
from demalib.flow import random_orthogonal
from demalib.procrustes import procrustes
from demalib.retrieval import Metric, Retriever

config = demalib.preset("en-fr", max_vocab=3000)
words, gold = demalib.load_pair(config), demalib.load_gold(config).forward
hint = words.identical
start = procrustes(words.x[hint[:, 0]], words.y[hint[:, 1]])

# %% [markdown]
# ## 1. Predict: a random rotation

# %%
W = random_orthogonal(words.src.dim, make_generator(0, words.x.device))
lost = follow_refinement(words, W, config, 4, gold)
assert lost["p@1"].max() < 0.02 and lost["pairs"].iloc[-1] > 500
lost[["round", "pairs", "judged", "right", "cosine"]].round(2)

# %% [markdown]
# The dictionary grows with every round and is wrong from the first word to the last. Refinement makes a map
# agree with itself, and there are very many ways to do that.
#
# ## 2. Change: frequent words only

# %%
ends = {}
for max_rank in (500, 1500, 10_000):
    found = follow_refinement(words, start, config.replace(max_rank=max_rank), 3, gold)
    ends[max_rank] = float(found["p@1"].iloc[-1])
print({rank: f"{p1:.0%}" for rank, p1 in ends.items()})
assert ends[500] < ends[10_000]

# %% [markdown]
# The smaller dictionary loses. Its pairs are a little better, but 300 dimensions need more than a few
# hundred of them.
#
# ## 3. Build: a round by hand

# %%
cosines = (words.x @ start) @ words.y.T
there, back = cosines.argmax(1), cosines.argmax(0)
rows = torch.arange(len(there), device=there.device)
mutual = rows[back[there] == rows]
W = procrustes(words.x[mutual], words.y[there[mutual]])
frame = judge(Retriever(words.x @ W, words.y), words.src, words.tgt, gold, Metric())
library = follow_refinement(words, start, config, 1, gold)["p@1"].iloc[-1]
mine = float((frame["position"] <= 1).mean())
print(f"by hand {mine:.1%} with {len(mutual)} pairs, the library {library:.1%}")
assert mine > 0.4
