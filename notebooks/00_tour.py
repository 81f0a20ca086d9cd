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
# **Claim.** Two files of word vectors, and the words that both languages spell the same, are enough
# to translate about seven in ten frequent words correctly, in both directions and without a dictionary.
#
# *Reads* the vectors of a pair · *writes* nothing · *takes* about 15 seconds on two cores.

# %% tags=["parameters"]
pair = "en-fr"  # one of en-fr, en-ja, en-ru, fr-ja, fr-ru, ja-ru, or the reverse of one
max_vocab = 3000  # most frequent words per side, 0 takes all of them
forward = "city music winter doctor church judge horse language science war"  # words to translate
backward = "livre arbre école neige cœur matin chanson guerre juge fenêtre"  # reverse direction
picture = "mother father brother red blue green dog horse river music song judge law bank money school student"  # words in the figure, in Latin script

# %% [markdown]
# ## Load
#
# A *pair* is two sets of word vectors that were trained separately on unrelated texts: English on
# news, French on web pages. Row 1 is the most frequent word. The only hint is the list of words
# with the same spelling in both languages.

# %% tags=["nbval-check-output"]
import pandas as pd

import demalib
from demalib import plots
from demalib.evaluation.benchmark import evaluate, summarise
from demalib.explore.words import directions, in_plane

plots.style()
config = demalib.preset(pair, max_vocab=max_vocab)
words = demalib.load_pair(config)
print(*map(tuple, (words.x.shape, words.y.shape)), len(words.identical), "identical words")

# %% [markdown]
# ## Align
#
# Think of each word as a small cloud of points, and of a language as the sum of its clouds. The
# solver looks for a linear map that lays one language over the other: where English is dense, French
# must be dense too. That is *density matching*. The default solver, EM, does it in fifteen rounds;
# 01 shows how it works in two dimensions.

# %%
mapping = demalib.align(words, config)
print(config.solver, len(mapping.history), "rounds")

# %% [markdown]
# ## Translate
#
# The map puts every English word somewhere among the French ones, and the nearest of them are its
# translations. ("Nearest" is measured by CSLS, which corrects for words that are close to
# everything; see 08.)

# %%
tables = []
for asked, side in ((forward, words.src), (backward, words.tgt)):
    known = [word for word in asked.split() if side.knows(word)]
    table = demalib.translate(mapping, words, known, k=3, reverse=side is words.tgt)
    unknown = pd.DataFrame({"word": [word for word in asked.split() if not side.knows(word)]})
    tables.append(pd.concat([table, unknown.assign(translation="(unknown)")]))
src, tgt = config.langs
found = pd.concat(tables, keys=[f"{src} → {tgt}", f"{tgt} → {src}"], names=["direction", None])
best = found.groupby(["direction", "word"], sort=False)["translation"].agg(", ".join)
best.to_frame("three best translations")

# %% [markdown]
# ## Look
#
# Some English words and their French translations in the shared space. It has 300 dimensions; the
# figure shows the plane in which these words differ most.

# %%
forward_words, _ = directions(mapping, words)
shown = [word for word in picture.split() if words.src.knows(word)]
if missing := set(picture.split()) - set(shown):
    print("unknown:", *sorted(missing))
points = in_plane(forward_words, shown)
axes = plots.joined_words(points, config.langs)

# %% [markdown]
# **See:** no dictionary said that *dog* is *chien*. Family, colours and animals each have their own region,
# and within it each word is close to its translation.
#
# ## How good is it?
#
# Only now do we open the test dictionaries. Every query counts once. The copy baseline answers with the
# query itself.

# %%
gold = demalib.load_gold(config)
judged = evaluate(mapping, words, gold, config, ("csls",))
figures = {direction: found["csls"] for direction, found in summarise(judged, gold).items()}
for direction, r in figures.items():
    low, high = (100 * end for end in r["ci95"])
    print(f"{direction}: {100 * r['p@1']:.1f} % correct ({low:.1f} to {high:.1f}), "
          f"copying {100 * r['copy']:.1f} %, {r['queries']} queries")  # fmt: skip

# %%
if (pair, max_vocab) == ("en-fr", 3000):
    assert all(r["p@1"] > 0.65 and r["copy"] < 0.15 for r in figures.values())

# %%
answers = next(iter(judged.values()))["csls"]
wrong = answers[answers["position"] > 1].iloc[::15]
wrong = wrong.assign(gold=[", ".join(sorted(gold.forward.gold[q])) for q in wrong["query"]])
wrong[["query", "answer", "gold"]]

# %% [markdown]
# This is every fifteenth error. *ferme* is a fine translation of *farm* that the dictionary does not list;
# *locale* is the feminine of the expected *local*; *conférence* for *forum* is simply wrong. So precision
# is a lower bound, equally strict for every method.
#
# ## Where to go next
#
# | part | lessons |
# |---|---|
# | See it | [01](01_density.ipynb) density matching in two dimensions, where it can be seen |
# | Understand it | [02](02_train.ipynb) the paper's loop on real words · [03](03_em.ipynb) EM, watched |
# | Use it | [04](04_own.ipynb) your own vectors · [05](05_many.ipynb) many languages · [06](06_explorer.ipynb) any word · [07](07_models.ipynb) models |
# | Judge it | [08](08_retrieval.ipynb) hubs · [09](09_refine.ipynb) refinement · [10](10_ablations.ipynb) ablations · [11](11_rivals.ipynb) rivals · [12](12_unhinted.ipynb) without hints |
# | Appendix | [13](13_similarity.ipynb) similarity · [14](14_fidelity.ipynb) fidelity · [15](15_tables.ipynb) tables |
#
# One hour, an afternoon or a week: [the course](index.md).
#
# **Try next:** other words in `forward` and `picture`; `max_vocab = 0`, the whole vocabularies;
# `pair = "en-ja"` with `max_vocab = 0`, two languages that share hardly any words.
#
# ## Exercises
#
# 1. *Predict.* With `max_vocab = 1000` there are fewer words to confuse, and fewer words to learn from.
#    Will P@1 rise or fall? Write down your guess, then run it.
# 2. *Change.* Translate the same words by nearest neighbours, `demalib.translate(..., metric="nn")`. Which
#    answers change, and are they better or worse?
# 3. *Build.* Even without a dictionary you can check whether a word comes back: translate the 200 most
#    frequent English words into French, and the answers back into English. How many return?
#
# Solutions: [solutions/00_tour](solutions/00_tour.ipynb).
