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
# # Solutions to 06 · Explore a pair
#
# The exercises are at the end of [06_explorer](../06_explorer.ipynb).

# %%
import torch

import demalib
from demalib.explore import words as explore

config = demalib.preset("en-fr", max_vocab=3000)
words = demalib.load_pair(config)
forward, backward = explore.trace(words, config)

# %% [markdown]
# ## 1. Predict: words with two senses

# %% tags=["nbval-check-output"]
for word in ("livre", "cours"):
    found = explore.translations(backward, word)
    print(word, "→", ", ".join(found.loc[found["metric"] == "csls", "translation"][:3]))

# %% [markdown]
# A vector is an average over all uses of a word, so the sense that is frequent in the texts wins. French
# web pages talk about books more than about pounds.
#
# ## 2. Change: three metrics

# %%
for word in ("bank", "match"):
    print(
        explore.translations(forward, word, k=3).pivot(
            index="place", columns="metric", values="translation"
        )
    )

# %% [markdown]
# Nowhere: these words are frequent, and their surroundings are not crowded. CSLS differs from nearest
# neighbours where a hub is close by; [08](../08_retrieval.ipynb) looks for such cases.
#
# ## 3. Build: the words that moved most

# %%
rows = torch.arange(1000)
best = torch.tensor([forward.retriever.top(int(i), forward.metrics["csls"], 1)[0] for i in rows])
right = forward.retriever.targets[best].cpu()
at = {name: (forward.mapped(rows, name) * right).sum(1) for name in ("round 1", forward.last())}
rise = at[forward.last()] - at["round 1"]
for i in rise.topk(10).indices.tolist():
    print(
        f"{words.src.words[i]} → {words.tgt.words[int(best[i])]}: {at['round 1'][i]:.2f} to {at[forward.last()][i]:.2f}"
    )
assert float(rise.mean()) > 0.05

# %% [markdown]
# Most of them are verbs. Few verbs have the same spelling in both languages, so the hints say nothing about
# them; their positions follow from those of all other words.
