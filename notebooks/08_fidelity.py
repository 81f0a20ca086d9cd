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
# # 08 · Where the paper and its released code differ
#
# **Claim.** Of nine points where the released code departs from the text or from good practice
# three move P@1: the text's sum over the identical words would cost 10 to 19 points, test words
# in the hint lend 4 to 7, CSLS-D without faiss loses 2 to 4; the other six stay below one point.
#
# *Reads* the vectors of a pair · *writes* nothing · *takes* about 40 seconds on two cores.

# %% tags=["parameters"]
pair = "en-fr"  # a registry pair such as en-ru, or one of the paper such as en-es
max_vocab = 5000  # most frequent words per side, 0 takes all of them
seed = 0  # seeds sampling and initialisation
solver = "identical"  # finds the map that the loop goes on from, identical or em
random_start = False  # whether the loop starts from a random map instead, as the paper does
components = 5000  # words per side that are components of the mixtures
batch = 256  # samples of either side in a step
steps = 80  # steps of the loop, 150000 in the released scripts
rate = 2e-3  # step size of Adam, 1e-3 in the released scripts
validate_every = 10  # steps between validations
max_rank = 2500  # most frequent words that the unsupervised criterion looks at
share = 0.25  # most frequent words whose mean the export uses, 50k of 200k in the released code

# %%
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import normalize

import demalib
from demalib import evaluate, pipeline, plots, refine, released, train

plots.style()
config = demalib.preset(
    pair, "script", solver="gradient", seed=seed, max_vocab=max_vocab, components=components,
    batch=batch, steps=steps, rate=rate, validate_every=validate_every, selection="last",
)  # fmt: skip

# %% [markdown]
# ## The hint
#
# The hint is all identical words, and some of them stand in the test lexicon. The text does not
# mention it; the code does nothing about it. To see what they add they are left out. A hint of
# fewer words is also a weaker one, so as a control as many other words are left out instead.

# %% tags=["nbval-check-output"]
words, apart = (
    demalib.load_pair(replace(config, exclude_test=exclude)) for exclude in (False, True)
)
gold = demalib.load_gold(config)
leaked, rng = len(words.identical) - len(apart.identical), np.random.default_rng(seed)
dropped = {tuple(row) for row in rng.permutation(apart.identical)[:leaked]}
rest = [row for row in words.identical if tuple(row) not in dropped]
control = replace(words, identical=np.array(rest))
print(len(words.identical), "identical words,", leaked, "of them in the test lexicon")

# %%
begin, judged, rows = {}, {}, []
for name, spaces in {"all": words, "apart": apart, "control": control}.items():
    begin[name] = demalib.align(spaces, replace(config, solver=solver, refinements=5))
    ways = demalib.retrievers(begin[name], spaces, config.knn)
    judged[name] = demalib.evaluate(ways, spaces, gold, config, ("csls",))
    for direction, frames in judged[name].items():
        found, same = frames["csls"]["position"] <= 1, frames["csls"]["copied"]
        rows.append({"hint": name, "words": len(spaces.identical), "direction": direction,
                     "P@1": found.mean(), "of identical queries": found[same].mean(),
                     "of other queries": found[~same].mean(), "copy": same.mean()})  # fmt: skip
differences = {"test words in the hint": ("csls", judged["apart"], judged["all"])}
(100 * pd.DataFrame(rows).set_index(["direction", "hint", "words"]).sort_index()).round(1)

# %% [markdown]
# The control loses nothing, so the number of words is not what matters. The identical words of
# the test lexicon are checked translations, hence better hints: without them all queries fare
# worse, not only those that copying would solve.
#
# ## The loop
#
# The recipe `script` is the released loop: words drawn uniformly, a mean over the identical
# words. The text says frequency and sum. To save time the loop goes on from the map above and
# takes few steps, so this shows where each way pulls a good map, not where 150,000 steps end.

# %%
kept = {}


def keep(step, *maps):
    """Note the maps of every validation."""
    kept[step] = [W.clone() for W in maps]
    return {}


# %%
maps, first = {}, None if random_start else begin["all"]
changes = {"code": {}, "sum": {"reduction": "sum"}, "frequency": {"sampling": "frequency"}}
for name, change in changes.items():
    watch = keep if name == "code" else None
    maps[name] = train.fit_gradient(words, replace(config, **change), first, watch)
    ways = demalib.retrievers(maps[name], words, config.knn)
    judged[name] = demalib.evaluate(ways, words, gold, config)
differences["mean in L_sup"] = ("csls", judged["sum"], judged["code"])
differences["uniform sampling"] = ("csls", judged["frequency"], judged["code"])
demalib.results_table(demalib.measure(judged["code"], gold))

# %% [markdown]
# This is the loop of the code judged by mended formulas, with the copy baseline beside it.
#
# ## CSLS-D
#
# Three slips, added one at a time to the same map. Ranks count from 0, and log 0 is -inf. Mapped
# words keep their lengths. Without the faiss library the code adds mean dot products where mean
# distances belong, so that hubs are rewarded.

# %%
both = [(words.x @ maps["code"].W_xy, words.y), (words.y @ maps["code"].W_yx, words.x)]
slips = {
    "ranks": [released.ReleasedRetriever(normalize(a, dim=1), b) for a, b in both],
    "lengths": [released.ReleasedRetriever(a, b) for a, b in both],
    "no faiss": [released.ReleasedRetriever(a, b, faiss=False) for a, b in both],
}
for name, ways in slips.items():
    judged[name] = demalib.evaluate(ways, words, gold, config, ("csls-d",))
differences |= {
    "ranks from 0": ("csls-d", judged["code"], judged["ranks"]),
    "lengths in CSLS-D": ("csls-d", judged["ranks"], judged["lengths"]),
    "CSLS-D without faiss": ("csls-d", judged["lengths"], judged["no faiss"]),
}

# %% tags=["nbval-check-output"]
scores = released.csls_d(*both[0], torch.arange(4))
print("scores of the source word of rank 1:", scores[0, :4].tolist())
print("scores for the target word of rank 1:", scores[:, 0].tolist())
sides = (words, words.swap())
for side, lexicon in zip(sides, gold, strict=True):
    pairs = lexicon.rows(side.src, side.tgt)
    touched = sorted({side.src.words[q] for q, t in pairs if q == 0 or t == 0})
    print(f"queries that meet rank 1 in {lexicon.name}:", ", ".join(touched))

# %% [markdown]
# The most frequent word is lost on either side. Four queries meet it here, and the verdict on
# none of them changes.
#
# ## Which step is reported
#
# The text picks a step without the test set. The code judges every validation on the test set
# and prints the best, which is a slip: that number is no estimate any more. Its unsupervised
# criterion also forgets to normalise the mapped words, so it grows with the map.

# %%
validations = []
for step, there in kept.items():
    for direction, side, lexicon, W in zip(judged["code"], sides, gold, there, strict=True):
        mapped = side.x @ W
        way = demalib.Retriever(mapped, side.y, config.knn)
        row = {"direction": direction, "step": step}
        row["csls"] = evaluate.judge(way, side.src, side.tgt, lexicon, demalib.Metric("csls"))
        row["test"] = (row["csls"]["position"] <= 1).mean()
        row["cosine"] = refine.dictionary_cosine(mapped, side.y, max_rank, config.knn)
        row["released"] = released.criterion(mapped, side.y, max_rank, config.knn)
        validations.append(row)
validations = pd.DataFrame(validations)
validations.drop(columns="csls").pivot(index="step", columns="direction").round(3)

# %%
groups = dict(list(validations.groupby("direction", sort=False)))
chosen = {
    by: {name: rows.loc[rows[by].idxmax()] for name, rows in groups.items()}
    for by in ("cosine", "test", "released")
}
differences |= {
    "best step on test": ("csls", chosen["cosine"], chosen["test"]),
    "dot-product criterion": ("csls", chosen["cosine"], chosen["released"]),
}
for criterion in (refine.dictionary_cosine, released.criterion):
    values = [criterion(scale * both[0][0], words.y, max_rank) for scale in (1, 2)]
    print(f"{criterion.__name__}: {values[0]:.3f} for W, {values[1]:.3f} for 2 W")

# %% [markdown]
# How much of the gain from choosing on test is real? Choose the step on a random half of the
# test queries and look at the other half, which had no say; both gains are over the unsupervised
# choice, averaged over 1,000 halves.

# %%
for direction, rows in groups.items():
    hits = np.stack([frame["position"] <= 1 for frame in rows["csls"]])  # (validations, queries)
    gain = 100 * (hits - 1.0 * hits[rows["cosine"].argmax()])
    gains = []
    for _ in range(1000):
        here, there = np.array_split(rng.permutation(hits.shape[1]), 2)
        best = hits[:, here].mean(axis=1).argmax()
        gains.append((gain[best, here].mean(), gain[best, there].mean()))
    seen, unseen = np.mean(gains, axis=0)
    print(f"{direction}: {seen:+.1f} points on the half that chose, {unseen:+.1f} on the other")

# %% [markdown]
# What the choice on test seems to win is gone on the queries that had no say.
#
# ## The exported vectors
#
# The export centres both languages on the mean of fewer words than the training did, then
# applies the same map. `Normalisation` carries the mean along, so this cannot happen unseen.

# %%
centred = []
for side in (words.src, words.tgt):
    raw = pipeline.load_embedding_of(side.lang, config)
    fewer = raw.head(int(share * len(raw))).normalise().normalisation
    centred.append(replace(side, vectors=fewer.apply(raw.vectors)))
    apart_by = np.linalg.norm(fewer.means[0] - side.normalisation.means[0])
    print(side.lang, f"the two means are {apart_by:.3f} apart")
exported = replace(words, src=centred[0], tgt=centred[1])
ways = demalib.retrievers(maps["code"], exported, config.knn)
judged["export"] = demalib.evaluate(ways, words, gold, config, ("csls",))
differences["mean of the export"] = ("csls", judged["code"], judged["export"])

# %% [markdown]
# ## All of them
#
# The effect is what the code's way adds to P@1, compared query by query. The three CSLS-D rows
# build on each other. Intervals are over the queries; they do not cover the luck of the seed,
# which moves the sampling row by a point or two. Where the text is silent, brackets say what a
# mended version does.

# %%
says = {
    "ranks from 0": ("count from 1", "count from 0"),
    "lengths in CSLS-D": ("(brought to 1)", "kept as they are"),
    "CSLS-D without faiss": ("hubs are punished", "hubs are rewarded"),
    "mean in L_sup": ("sum over the words", "mean over the words"),
    "uniform sampling": ("by frequency", "all words alike"),
    "test words in the hint": ("(left out)", "used"),
    "best step on test": ("chosen without test", "best on test"),
    "mean of the export": ("(as in training)", f"of the first {share:.0%}"),
    "dot-product criterion": ("cosine", "dot product"),
}

# %%
rows = []
for name, texts in says.items():
    metric, *ways = differences[name]
    for direction in judged["code"]:
        paper, code = (way[direction][metric] for way in ways)
        test = evaluate.paired_bootstrap(code, paper, seed=seed)
        rows.append({
            "difference": name, "paper says": texts[0], "code does": texts[1], "metric": metric,
            "direction": direction, "paper P@1": 100 * (paper["position"] <= 1).mean(),
            "code P@1": 100 * (code["position"] <= 1).mean(), "effect": 100 * test["difference"],
            "low": 100 * test["ci95"][0], "high": 100 * test["ci95"][1],
        })  # fmt: skip
table = pd.DataFrame(rows)
table.round(1).set_index(["difference", "paper says", "code does", "metric", "direction"])

# %%
plots.effects(table)

# %%
if (pair, max_vocab) == ("en-fr", 5000):  # what the claim speaks of
    effect = table.set_index("difference")[["effect", "low", "high"]]
    large = ["mean in L_sup", "test words in the hint", "CSLS-D without faiss"]
    assert (effect.loc[large[:2], "low"] > 0).all()
    assert (effect.loc[large[2], "effect"] < -0.5).all() and effect.loc[large[2], "high"].min() < 0
    assert (effect.drop(large)["effect"].abs() < 2).all()

# %% [markdown]
# **See:** right of zero the code's way scores more. The mean in L_sup is the code being right:
# weighed as the text has it, the identical words drown the density, more so with every step.
# Test words in the hint are the opposite, a gain that was not earned. Left of zero CSLS-D
# without faiss rewards hubs; for en → fr its interval just reaches zero. All other intervals
# touch zero.
#
# On the full pair (17,000 to 26,000 words a side, 100 steps) the sum cost 14 points for en → fr
# but nothing that could be told from chance for fr → en, test words lent 1 point or less, and
# faiss missing cost 2 to 3.
#
# **Try next:** `max_vocab = 0` with `components = 10000`, `batch = 512` and `max_rank = 10000`
# for that run; `solver = "em"`: how much does it need the test words?
