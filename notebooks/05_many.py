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
# # 05 · Many languages in one space
#
# **Claim.** Among their 4,000 most frequent words, Japanese and Russian share too little to be aligned on
# their own: hardly one in a hundred is translated correctly. With English in the same space, it is one word in five from Japanese, and one in
# three from Russian, although no solver here has ever seen a dictionary.
#
# *Reads* vectors of three languages · *writes* nothing · *takes* about 40 seconds on two cores.

# %% tags=["parameters"]
langs = "en ja ru"  # languages of the registry, separated by spaces
pair = "ja-ru"  # the two that are translated, out of these
max_vocab = 4000  # most frequent words per language, 0 takes all of them
last = "symmetric"  # how EM ends, contrastive is better and slower
asked = "冬 音楽 医師 戦争 都市 科学 海 本"  # words of the first of the two

# %%
from itertools import combinations

import pandas as pd

import demalib
from demalib import plots
from demalib.evaluation.benchmark import evaluate, load_embedding_of, summarise
from demalib.evaluation.translation import paired_bootstrap
from demalib.hints import Lexicon

plots.style()
config = demalib.preset(pair, max_vocab=max_vocab, last=last)
src, tgt = config.langs
gold = demalib.load_gold(config)

# %% [markdown]
# ## Two alone
#
# What do the two share? Hardly any word is spelled the same in Japanese and Russian, so most hints are
# cognates: words that sound alike once both are written in Latin letters. Here is a fit that starts from
# these:

# %%
alone = demalib.load_pair(config)
mapping = demalib.align(alone, config)
judged = {"alone": evaluate(mapping, alone, gold, config, ("csls",))}
print("hints:", mapping.info["hints"])

# %% [markdown]
# ## Three together
#
# `align_many` takes any number of languages. Each is first aligned with a hub, the language that shares
# most with the others. Then all pairs are fitted together: every pair has its own E-step (03), and one
# M-step moves all languages at once. What Japanese and Russian have in common with English is evidence for
# what they have in common with each other. Test pairs are left out of all hints.

# %%
sides = [load_embedding_of(lang, config) for lang in langs.split()]
tests = {}
for a, b in combinations(langs.split(), 2):
    test = demalib.load_gold(demalib.preset(f"{a}-{b}", max_vocab=max_vocab))
    tests[a, b] = Lexicon([*test.forward.pairs, *test.backward.reverse().pairs])
space = demalib.align_many(sides, config, exclude=tests)
print("hub:", space.info["hub"])
facts = {name: {**f["hints"], "did it work": f["verdict"]["answer"]} for name, f in space.info["pairs"].items()}  # fmt: skip
pd.DataFrame(facts).T

# %% [markdown]
# A `Space` has a map for every language. `space.between(a, b)` returns a mapping and a pair, so everything
# that works for two languages works for any two of these.

# %%
mapping, both = space.between(src, tgt)
judged["together"] = evaluate(mapping, both, gold, config, ("csls",))
rows = []
for name, found in judged.items():
    for arrow, r in summarise(found, gold).items():
        low, high = r["csls"]["ci95"]
        rows.append({"direction": arrow, "fit": name, "P@1": 100 * r["csls"]["p@1"], "low": 100 * low,
                     "high": 100 * high, "copy": 100 * r["csls"]["copy"], "queries": r["csls"]["queries"]})  # fmt: skip
table = pd.DataFrame(rows).set_index(["direction", "fit"]).sort_index()
table.round(1)

# %%
for arrow in judged["alone"]:
    gain = paired_bootstrap(judged["together"][arrow]["csls"], judged["alone"][arrow]["csls"])
    low, high = (100 * end for end in gain["ci95"])
    print(
        f"{arrow}: {100 * gain['difference']:+.1f} points ({low:.1f} to {high:.1f}) by the third language"
    )
    if (langs, pair, max_vocab) == ("en ja ru", "ja-ru", 4000):
        assert low > 5 and table.loc[(arrow, "alone"), "P@1"] < 2

# %% [markdown]
# **See:** English helps to find the map, but is not needed to use it: the map goes straight from Japanese
# to Russian.

# %%
known = [word for word in asked.split() if both.src.knows(word)]
english = space.between(src, "en") if "en" in langs.split() and src != "en" else None
best = demalib.translate(mapping, both, known, k=3).groupby("word", sort=False)["translation"]
shown = best.agg(", ".join).to_frame(f"{src} → {tgt}")
if english:
    meant = demalib.translate(*english, known, k=1).set_index("word")["translation"]
    shown.insert(0, f"{src} → en", meant)
shown

# %% [markdown]
# Many errors are other forms of the right word: Russian nouns have six cases, and *городов* is "of cities".
# Others are near misses: *летом* for *冬* is "in summer". With whole vocabularies and French as a fourth
# language, ja → ru rises from 7.9 to 16.5 % and ru → ja from 12.7 to 25.9 %, while en → fr loses 1.2 points
# (`results/bench/many.csv`). Sharing a space helps languages that have little in common, at a small cost to
# those that have much in common.
#
# **Try next:** `langs = "en fr ja ru"`; `pair = "fr-ja"` with them; `last = "contrastive"`. Then 06, a walk
# through any pair.
#
# ## Exercises
#
# 1. *Predict.* Which language will be the hub if French takes part as well? Guess from what the languages
#    share, then look at `space.info["hub"]`.
# 2. *Change.* Name Japanese as the hub: `align_many(sides, config, hub="ja", exclude=tests)`. What happens to
#    ja → ru?
# 3. *Build.* Translate Japanese into Russian in two steps, through the best English word, by calling
#    `space.between` twice. Is the direct map better?
#
# Solutions: [solutions/05_many](solutions/05_many.ipynb).
