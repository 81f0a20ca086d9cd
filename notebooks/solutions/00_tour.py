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
# # Solutions to 00 · Five minutes with demalib
#
# The exercises are at the end of [00_tour](../00_tour.ipynb).

# %%
import demalib
from demalib.evaluation.benchmark import evaluate, summarise


def precision(config):
    """Align and judge; P@1 by direction."""
    words, gold = demalib.load_pair(config), demalib.load_gold(config)
    mapping = demalib.align(words, config)
    found = summarise(evaluate(mapping, words, gold, config, ("csls",)), gold)
    return words, mapping, {name: r["csls"]["p@1"] for name, r in found.items()}


# %% [markdown]
# ## 1. Predict: fewer words

# %%
words, mapping, usual = precision(demalib.preset("en-fr", max_vocab=3000))
_, _, few = precision(demalib.preset("en-fr", max_vocab=1000))
for name in usual:
    print(f"{name}: {usual[name]:.0%} of 3,000 words, {few[name]:.0%} of 1,000")
assert max(few.values()) < min(usual.values())

# %% [markdown]
# It falls. Fewer words are easier to tell apart, but they also say less about the shapes of the two clouds,
# and many French translations of frequent words are not among the first thousand themselves.
#
# ## 2. Change: nearest neighbours

# %%
asked = list(words.src.words[300:900:60])
csls = demalib.translate(mapping, words, asked, k=1)
nn = demalib.translate(mapping, words, asked, k=1, metric="nn")
both = csls[["word", "translation"]].assign(nn=nn["translation"])
both[both["translation"] != both["nn"]]

# %% [markdown]
# Few answers change, if any: these words are frequent, and their neighbourhoods are not crowded.
# [08](../08_retrieval.ipynb) counts all test words, and there CSLS gains.
#
# ## 3. Build: there and back

# %%
first = list(words.src.words[:200])
there = demalib.translate(mapping, words, first, k=1)["translation"].tolist()
back = demalib.translate(mapping, words, there, k=1, reverse=True)["translation"].tolist()
home = sum(a == b for a, b in zip(first, back, strict=True))
print(
    home,
    "of 200 words come back, for example",
    ", ".join(f"{a} → {b}" for a, b in list(zip(first, there, strict=True))[60:64]),
)
assert home > 100

# %% [markdown]
# A word that returns is usually translated correctly. This is the idea behind the cycle loss of the paper, and
# behind `mutual` dictionaries in [09](../09_refine.ipynb).
