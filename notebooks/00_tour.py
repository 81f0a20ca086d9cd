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
# # 00 · Five minutes with demalib
#
# **Claim.** Two files of word vectors and the words that both languages spell alike are enough to
# translate about two of three words right, both ways, without a dictionary.
#
# *Reads* the vectors of a pair · *writes* nothing · *takes* about 20 seconds on two cores.

# %% tags=["parameters"]
pair = "en-fr"  # one of en-fr, en-ja, en-ru, fr-ja, fr-ru, ja-ru, or any of them turned round
max_vocab = 5000  # most frequent words per side, 0 takes all of them
forward = "city music winter doctor church judge horse language science war"  # words to translate
backward = (
    "livre montagne école roi cœur matin chanson guerre juge fenêtre"  # words of the way back
)
picture = "mother father brother red blue green dog horse bird river mountain music song judge law bank money school student"  # words on the map, in Latin script

# %% [markdown]
# ## Load
#
# A *pair* is two sets of word vectors, learned apart from texts that have nothing to do with each
# other: English from news, French from web pages. Row 1 is the most frequent word. The one hint
# is the list of words that are spelled the same.

# %% tags=["nbval-check-output"]
import pandas as pd
import torch

import demalib
from demalib import Metric, plots

plots.style()
config = demalib.preset(pair, max_vocab=max_vocab)
words = demalib.load_pair(config)
print(words.x.shape, words.y.shape, len(words.identical), "identical words")

# %% [markdown]
# ## Align
#
# Think of each word as a small cloud, and of a language as the sky of all its clouds. The map
# that is looked for turns one sky so that it covers the other: where English is dense, French
# must be dense too. That is *density matching*. The default solver does it in sixteen rounds; 01
# shows in two dimensions how.

# %%
mapping = demalib.align(words, config)
print(mapping.info["config"]["solver"], len(mapping.history), "rounds")

# %% [markdown]
# ## Translate
#
# A mapped English word lies among the French words, and the nearest ones translate it. (CSLS is a
# way to say "nearest" that does not fall for words that are near to everything: see 03.)

# %%
ways = demalib.retrievers(mapping, words)
rows = []
for way, src, tgt, asked in zip(
    ways, (words.src, words.tgt), (words.tgt, words.src), (forward, backward), strict=True
):
    for word in (word for word in asked.split() if word in src.index):
        best = way.top(src.index[word], Metric("csls"), k=3)
        rows.append((f"{src.lang} → {tgt.lang}", word, ", ".join(tgt.words[j] for j in best)))
pd.DataFrame(rows, columns=["direction", "word", "best three"]).set_index(["direction", "word"])

# %% [markdown]
# ## Look
#
# Some English words and their French translations in the space they now share: 300 dimensions,
# flattened to the two in which these words differ most.

# %%
asked = [word for word in picture.split() if word in words.src.index]
i = torch.tensor([words.src.index[word] for word in asked])
j = ways[0].translate(i, Metric("csls"), k=1)[1][:, 0]
both = torch.cat([ways[0].mapped[i], ways[0].targets[j]])
both = both - both.mean(dim=0)
axes_of_plane = torch.linalg.svd(both, full_matrices=False).Vh[:2]
points = pd.DataFrame(both @ axes_of_plane.T, columns=["x", "y"])
points["word"] = asked + [words.tgt.words[column] for column in j]
points["side"] = ["src"] * len(asked) + ["tgt"] * len(asked)
points["partner"] = points.index + len(asked)
axes = plots.joined_words(points, config.langs)

# %% [markdown]
# **See:** nobody told the map that *dog* is *chien*. Families, colours, animals and the law each
# have a corner, and in it each word lies near its translation.
#
# ## How good is it?
#
# The test dictionaries are opened only now. Every query counts once; the copy baseline answers
# with the query itself.

# %%
gold = demalib.load_gold(config)
judged = demalib.judge_both(ways, words, gold, config, ("csls",))
figures = {direction: found["csls"] for direction, found in demalib.measure(judged, gold).items()}
for direction, r in figures.items():
    low, high = (100 * end for end in r["ci95"])
    print(f"{direction}: {100 * r['p@1']:.1f} % right ({low:.1f} to {high:.1f}), "
          f"copying {100 * r['copy']:.1f} %, {r['queries']} queries")  # fmt: skip

# %%
if (pair, max_vocab) == ("en-fr", 5000):
    assert all(r["p@1"] > 0.6 and r["copy"] < 0.15 for r in figures.values())

# %%
(direction, found), lexicon = next(iter(judged.items())), gold.forward
wrong = found["csls"][found["csls"]["position"] > 1].iloc[::15]
wrong = wrong.assign(gold=[", ".join(sorted(lexicon.gold[query])) for query in wrong["query"]])
wrong[["query", "answer", "gold"]]

# %% [markdown]
# That is every fifteenth of the errors. *contrôle* is a fine translation that the dictionary
# happens not to have; *poissons* and *civils* are another form of the right word; *au* is plainly
# wrong. Precision is a lower bound, and the same dictionary is as strict with every method.
#
# ## Where to go next
#
# | notebook | what it shows |
# |---|---|
# | [01_density](01_density.ipynb) | density matching in two dimensions, where it can be seen |
# | [02_train](02_train.ipynb) | one pair, any solver, the full record of a run |
# | [03_retrieval](03_retrieval.ipynb) | hubs, and four ways to choose a translation |
# | [04_refine](04_refine.ipynb) | Procrustes refinement, and when it hurts |
# | [05_ablations](05_ablations.ipynb) | what each part of the objective is for (Table 4) |
# | [06_similarity](06_similarity.ipynb) | word similarity across languages (Table 3) |
# | [07_tables](07_tables.ipynb) | all finished runs beside the paper's numbers (Tables 1, 2) |
# | [08_fidelity](08_fidelity.ipynb) | where the released code departs from the paper |
# | [09_explorer](09_explorer.ipynb) | any word, its translations, and the rounds that led there |
# | [10_rivals](10_rivals.ipynb) | every other system of the paper's tables, on the same data |
#
# **Try next:** other words in `forward` and `picture`; `max_vocab = 0`, the whole vocabularies;
# `pair = "en-ja"` with `max_vocab = 0`, two languages that hardly share a letter.
