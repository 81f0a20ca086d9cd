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
# # Solutions to 05 · Many languages in one space
#
# The exercises are at the end of [05_many](../05_many.ipynb).

# %%
from itertools import combinations

import demalib
from demalib.evaluation.benchmark import evaluate, load_embedding_of, summarise
from demalib.hints import Lexicon

vocab = 4000
config = demalib.preset("ja-ru", max_vocab=vocab, last="symmetric")
gold = demalib.load_gold(config)


# %%
def space_of(*langs, hub=""):
    """A space without test pairs in its hints, and P@1 from Japanese to Russian in it."""
    tests = {}
    for a, b in combinations(langs, 2):
        test = demalib.load_gold(demalib.preset(f"{a}-{b}", max_vocab=vocab))
        tests[a, b] = Lexicon([*test.forward.pairs, *test.backward.reverse().pairs])
    sides = [load_embedding_of(lang, config) for lang in langs]
    space = demalib.align_many(sides, config, hub, exclude=tests)
    found = summarise(evaluate(*space.between("ja", "ru"), gold, config, ("csls",)), gold)
    return space, found["ja-ru"]["csls"]["p@1"]


# %% [markdown]
# ## 1. Predict: the hub of four

# %%
langs = ("en", "fr", "ja", "ru")
sides = {lang: load_embedding_of(lang, config) for lang in langs}
shared = {}
for a, b in combinations(langs, 2):
    counts = demalib.make_pair(sides[a], sides[b]).hints(config).counts
    shared[f"{a}-{b}"] = sum(counts.values())
each = {lang: sum(n for name, n in shared.items() if lang in name.split("-")) for lang in langs}
print(shared, each, sep="\n")
assert max(each, key=each.get) in ("en", "fr")

# %% [markdown]
# `align_many` picks the language with the most hints. That is English or French: they share by far the most
# with each other, and something with everyone. Which of the two it is depends on the number of words.
#
# ## 2. Change: Japanese as the hub

# %%
three, usual = space_of("en", "ja", "ru")
_, far = space_of("en", "ja", "ru", hub="ja")
print(f"ja → ru: {usual:.0%} around {three.info['hub']}, {far:.0%} around ja")

# %% [markdown]
# A hub that shares little with the others is a poor meeting point: both maps that lead to it are worse.
#
# ## 3. Build: two steps instead of one

# %%
direct, pair = three.between("ja", "ru")
queries = [query for query in gold.forward.gold if pair.src.knows(query)]
straight = demalib.translate(direct, pair, queries, k=1)["translation"].tolist()
english = demalib.translate(*three.between("ja", "en"), queries, k=1)["translation"].tolist()
stepped = demalib.translate(*three.between("en", "ru"), english, k=1)["translation"].tolist()
score = [sum(answer in gold.forward.gold[query] for query, answer in zip(queries, found, strict=True))
         for found in (straight, stepped)]  # fmt: skip
print(f"of {len(queries)} words: {score[0]} right directly, {score[1]} over English")
assert abs(score[0] - score[1]) < 0.03 * len(queries)

# %% [markdown]
# The two hardly differ here, since all maps of this space were found around English. In general, a step
# through English has to settle on one English word, and any meaning that this word lacks is lost.
