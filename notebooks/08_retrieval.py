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
# # 08 · Retrieval and hubs
#
# **Claim.** With the same map, CSLS is two to four points better than nearest neighbours, and it brings
# back nearly every word that hubs had pushed out of the ten best. CSLS-D changes only a few more answers,
# and these test words show no gain from it.
#
# *Reads* the vectors of a pair · *writes* nothing · *takes* about 20 seconds on two cores.

# %% tags=["parameters"]
pair = "en-fr"  # a registry pair such as en-ja, or one of the paper such as en-es
solver = "em"  # em, gradient, identical or procrustes
last = "free"  # how em ends; contrastive does a part of what CSLS does inside the map
seed = 0  # seeds sampling and initialisation
max_vocab = 4000  # most frequent words per side, 0 takes all of them
lexicons = "bundled"  # dictionaries to judge by, or muse for those of the paper
k = 10  # length of the lists of translations in which hubs are counted
shown = 6  # hubs listed for each direction

# %%
import numpy as np
import pandas as pd

import demalib
from demalib import plots
from demalib.evaluation.benchmark import evaluate, results_table, summarise
from demalib.evaluation.translation import paired_bootstrap
from demalib.pair import retrievers
from demalib.retrieval import METRICS, Metric, k_occurrence

plots.style()

# %%
default = (pair, solver, last, max_vocab) == ("en-fr", "em", "free", 4000)
settings = {"max_vocab": max_vocab, "lexicons": lexicons, "last": last}
config = demalib.preset(pair, solver=solver, seed=seed, **settings)
words, gold = demalib.load_pair(config), demalib.load_gold(config)
mapping = demalib.align(words, config)

# %% [markdown]
# ## Five ways to choose a translation
#
# The map is done. What remains is to choose, for a mapped word $x'$, one of the target words $y$.
#
# - **NN**, the nearest neighbour, takes the largest $\cos(x', y)$.
# - **ISF**, the inverted softmax, turns that cosine into a probability over *source* words. A
#   target word that is near to everything is then near to nothing in particular.
# - **CSLS** takes the largest $2 \cos(x', y) - r_T(x') - r_S(y)$. Here $r_S(y)$ is the mean
#   cosine of $y$ to its ten nearest source words: how crowded it is around $y$.
# - **CSLS-D** (Section 4.1) is CSLS with log-densities in place of cosines. For unit vectors it is
#   $\mathrm{CSLS} / \sigma^2 - (2 / \tau) |\log i - \log j|$: CSLS with a penalty on words
#   whose frequency ranks $i$ and $j$ differ.
# - **CSLS-S** is CSLS with a bonus for words that look alike; its size is found without gold data.

# %%
judged = evaluate(mapping, words, gold, config, METRICS)
results = summarise(judged, gold)
results_table(results)

# %%
axes = plots.precision(results)

# %% [markdown]
# **See:** all five are far above copying, and their intervals overlap. But each interval includes
# the luck of which words are in the test, and that luck is the same for all five. The paired
# bootstrap looks only at the queries on which two metrics disagree.

# %%
rows = []
for direction, frames in judged.items():
    for better, worse in (("isf", "nn"), ("csls", "nn"), ("csls", "isf"), ("csls-d", "csls")):
        found = paired_bootstrap(frames[better], frames[worse])
        low, high = (100 * end for end in found["ci95"])
        rows.append({"compared": f"{better} - {worse}", "direction": direction,
                     "points": 100 * found["difference"], "low": low, "high": high})  # fmt: skip
compared = pd.DataFrame(rows).set_index(["compared", "direction"]).sort_index()
compared.round(1)

# %% [markdown]
# CSLS beats NN in both directions, and neither interval includes zero. Between CSLS-D and CSLS the
# difference is less than a point, and both intervals include zero: these test words cannot decide between
# the two.

# %%
if default:
    assert (compared.loc["csls - nn", "low"] > 0).all()
    assert compared.loc["csls-d - csls", "points"].abs().max() < 1.5

# %% [markdown]
# ## Hubs
#
# Why does NN lose? In many dimensions, a few words are close to very many others. Take the list of the ten
# best translations of every source word, and count in how many of these lists a given target word appears:
# its *k-occurrence* $N_k$. The mean is 10 when both sides have the same number of words. A *hub* is in many
# more lists, and crowds out words that are then in none.

# %%
counts = {}
sides = ((words.src, words.tgt, config.sigma2_tgt), (words.tgt, words.src, config.sigma2_src))
for retriever, (src, tgt, sigma2) in zip(
    retrievers(mapping, words, config.knn), sides, strict=True
):
    metrics = {name: Metric(name, sigma2=sigma2, tau=config.tau) for name in METRICS}
    found = {name: k_occurrence(retriever, m, k).cpu().numpy() for name, m in metrics.items()}
    counts[f"{src.lang}-{tgt.lang}"] = pd.DataFrame(found, index=tgt.words)
for direction, frame in counts.items():
    axes = plots.hubness(frame[["nn", "csls", "csls-d"]])
    axes[0].figure.suptitle(direction.replace("-", " → "))

# %% [markdown]
# **See:** CSLS pulls in both ends: the tail is shorter, and most of the words that were in none of
# NN's lists are back. CSLS-D looks just the same.

# %%
table = {
    (direction, name): {"skewness": column.skew(), "spread": column.std(),
                        "highest": column.max(), "in no list": (column == 0).sum()}
    for direction, frame in counts.items() for name, column in frame.items()
}  # fmt: skip
table = pd.DataFrame(table).T
table.round(2)

# %% [markdown]
# The spread (standard deviation) falls by more than a third. Skewness, the usual measure of hubness, falls
# for en → fr and *rises* for fr → en: it is relative to the spread, and the few hubs that remain stand out
# more from a narrower crowd. The inverted softmax leaves no word out, but makes new hubs of its own, and is
# no better than NN.

# %%
spread, alone = (table[name].unstack() for name in ("spread", "in no list"))
if default:
    assert (spread["csls"] < 0.8 * spread["nn"]).all()
    assert (alone["csls"] < 0.2 * alone["nn"]).all()

# %% [markdown]
# The worst hubs under NN, with the number of lists that they are in under each metric:

# %%
hubs = []
for frame, (_, tgt, _) in zip(counts.values(), sides, strict=True):
    worst = frame.nlargest(shown, "nn").rename_axis("hub").reset_index()
    worst.insert(1, "rank", [tgt.index[word] + 1 for word in worst["hub"]])
    hubs.append(worst)
pd.concat(hubs, keys=counts).droplevel(1)

# %% [markdown]
# Most hubs shrink to about half their size (*match*, *affirme*) or less (*international*); a few hardly
# shrink (*sophomore*, *senior*).
#
# ## What CSLS-D changes
#
# These are all queries that CSLS and CSLS-D answer differently:

# %%
changed = []
for frames, (_, tgt, _), lexicon in zip(judged.values(), sides, gold, strict=True):
    both = frames["csls"].merge(frames["csls-d"], on=["query", "rank"], suffixes=("", " d"))
    both = both[both["answer"] != both["answer d"]]
    hit, hit_d = both["position"] == 1, both["position d"] == 1
    changed.append(both[["query", "rank"]].assign(**{
        "csls": both["answer"], "csls rank": both["answer"].map(tgt.index) + 1,
        "csls-d": both["answer d"], "csls-d rank": both["answer d"].map(tgt.index) + 1,
        "right": np.select([hit & hit_d, hit, hit_d], ["both", "csls", "csls-d"], "neither"),
        "gold": [", ".join(sorted(lexicon.gold[query])) for query in both["query"]],
    }))  # fmt: skip
changed = pd.concat(changed, keys=judged).droplevel(1)
changed

# %% [markdown]
# The new answer is always the one whose rank is closer to the query's; that is all CSLS-D adds. It corrects
# *car*, which CSLS translated as *but*. It spoils *girl* and *prochain*, whose translations are much more
# frequent than they are, and *fourth*, whose translation is rarer.

# %%
gap = np.log(changed[["csls rank", "csls-d rank"]]).sub(np.log(changed["rank"]), axis=0).abs()
assert (gap["csls-d rank"] < gap["csls rank"]).all()
changed["right"].value_counts()

# %% [markdown]
# **Try next:** `max_vocab = 3000`, where the gain of CSLS for fr → en is smaller and its interval
# includes zero; `k = 1`, where a hub is the one answer to many queries; `pair = "en-ja"` with
# `solver = "procrustes"`. Then 09, where CSLS builds dictionaries to improve the map.
#
# ## Exercises
#
# 1. *Predict.* With `k = 1` a hub is the single answer to many words. Will the skewness be higher or lower
#    than with ten? Will more words be in no list, or fewer?
# 2. *Change.* CSLS looks at ten neighbours. Try 1, 3 and 100: `Retriever(..., knn)`. How much does P@1 depend
#    on it?
# 3. *Build.* Write CSLS in four lines of torch: cosines, two means of the ten largest, one subtraction.
#    Check that it gives the same answers as `Retriever`.
#
# Solutions: [solutions/08_retrieval](solutions/08_retrieval.ipynb).
