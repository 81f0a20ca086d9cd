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
# # Solutions to 04 · Your own vectors
#
# The exercises are at the end of [04_own](../04_own.ipynb). The vectors are used directly, without writing
# them to files first.

# %%
import numpy as np
import torch

import demalib
from demalib import Embedding
from demalib.evaluation.benchmark import evaluate, load_embedding_of, make_exclude, summarise
from demalib.hints import Lexicon

benchmark = demalib.preset("en-fr", max_vocab=2000)
gold = demalib.load_gold(benchmark)
test = make_exclude(gold)
english, french = (load_embedding_of(lang, benchmark) for lang in benchmark.langs)
train = demalib.load_pair(benchmark.replace(solver="procrustes")).trained_on().pairs
train = [pair for pair in train if pair not in set(test.pairs)]
few = train[:: len(train) // 50][:50]
config = demalib.Config("en-fr", vectors="files", last="symmetric")


# %%
def fit(pairs, src=english, tgt=french, hints="none"):
    """Align with a dictionary; the mapping, the pair and P@1 from English."""
    words = demalib.make_pair(src, tgt, Lexicon(pairs) if pairs else None, exclude=test)
    mapping = demalib.align(words, config.replace(hints=hints))
    found = summarise(evaluate(mapping, words, gold, config), gold)
    return mapping, words, found["en-fr"]["csls"]["p@1"]


# %% [markdown]
# ## 1. Predict: a spoiled dictionary

# %%
right = fit(few)
answers = [tgt for _, tgt in few]
spoiled = fit([(src, tgt) for (src, _), tgt in zip(few, answers[1:] + answers[:1], strict=True)])
for name, (mapping, _, p1) in {"right": right, "spoiled": spoiled}.items():
    print(f"{name}: P@1 {p1:.0%}, did it work: {mapping.info['verdict']['answer']}")
assert spoiled[2] < 0.1 < right[2]

# %% [markdown]
# The map is lost: EM takes the lexicon as true and starts from it. From there the other words agree on a
# wrong map. The verdict notices, because a quick fit cannot find the pairs that were held out.
#
# ## 2. Change: words in random order

# %%
order = np.random.default_rng(0).permutation(len(french))
mixed = Embedding([french.words[i] for i in order], french.vectors[order], "fr")
sorted_, shuffled = fit([], hints="identical"), fit([], tgt=mixed, hints="identical")
print(f"by frequency {sorted_[2]:.0%}, shuffled {shuffled[2]:.0%}")
assert abs(shuffled[2] - sorted_[2]) < 0.1

# %% [markdown]
# It costs a point, which is within the noise. The rank prior expects a word and its translation to have
# similar ranks, and now that expectation is wrong; but it is gentle at τ = 2, and the vectors outvote it.
# In longer files more is at stake: EM looks at the most frequent words first, so sort them if you can.
#
# ## 3. Build: a word that is in no file

# %%
mapping, words, _ = right
both = [english.words.index(word) for word in ("winter", "summer")]
between = english.vectors[both].mean(axis=0, keepdims=True)
near = mapping.transform(between) @ words.tgt.vectors.T
print("between winter and summer:", ", ".join(words.tgt.words[j] for j in np.argsort(-near[0])[:5]))
assert torch.isfinite(torch.from_numpy(near)).all()
