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
# # 14 · Where the paper and its released code differ
#
# **Claim.** Of nine points where the released code departs from the text or from good practice,
# three move P@1 by more than two points: the text's sum over the identical words would cost 7 to 10
# points, test words in the hint add 6, and CSLS-D without faiss loses 2 in one direction.
#
# *Reads* the vectors of a pair · *writes* nothing · *takes* about 25 seconds on two cores.

# %% tags=["parameters"]
pair = "en-fr"  # a registry pair such as en-ru, or one of the paper such as en-es
max_vocab = 3000  # most frequent words per side, 0 takes all of them
seed = 0  # seeds sampling and initialisation
solver = "identical"  # finds the map that the loop starts from, identical or em
refinements = 3  # rounds of refinement of that map
random_start = False  # start the loop from a random map instead, as the paper does
components = 3000  # words per side that are components of the mixtures
batch = 256  # samples of either side in a step
steps = 60  # steps of the loop, 150000 in the released scripts
rate = 2e-3  # step size of Adam, 1e-3 in the released scripts
validate_every = 10  # steps between validations
max_rank = 2500  # most frequent words that the unsupervised criterion uses
share = 0.25  # most frequent words whose mean the export uses, 50k of 200k in the released code

# %%
from dataclasses import replace

import numpy as np
import pandas as pd

import demalib
from demalib import plots
from demalib.evaluation import benchmark
from demalib.evaluation.translation import judge, paired_bootstrap
from demalib.procrustes import dictionary_cosine
from demalib.retrieval import Metric, Retriever
from demalib.solvers import fit_gradient
from demalib.teaching import released

plots.style()

# %% [markdown]
# ## The hint
#
# The hint consists of all identical words, and some of them are in the test lexicon. The text does not
# mention this, and the code does nothing about it. To see what these words contribute, we leave them out. A
# hint of fewer words is also a weaker one, so a control leaves out the same number of other words instead.

# %% tags=["nbval-check-output"]
config = demalib.preset(
    pair, "script", solver="gradient", seed=seed, max_vocab=max_vocab, components=components,
    batch=batch, steps=steps, rate=rate, validate_every=validate_every, selection="last",
)  # fmt: skip
words, gold = demalib.load_pair(config), demalib.load_gold(config)
apart = demalib.load_pair(config.replace(exclude_test=True))
leaked, rng = len(words.identical) - len(apart.identical), np.random.default_rng(seed)
dropped = {tuple(row) for row in rng.permutation(apart.identical)[:leaked]}
rest = [row for row in words.identical if tuple(row) not in dropped]
control = replace(words, identical=np.array(rest))
print(len(words.identical), "identical words,", leaked, "of them in the test lexicon")

# %%
begin, judged, rows = {}, {}, []
for name, spaces in {"all": words, "apart": apart, "control": control}.items():
    chosen = config.replace(solver=solver, refinements=refinements)
    begin[name] = demalib.align(spaces, chosen)
    judged[name] = benchmark.evaluate(begin[name], spaces, gold, config, ("csls",))
    for direction, frames in judged[name].items():
        found, same = frames["csls"]["position"] <= 1, frames["csls"]["copied"]
        rows.append({"hint": name, "words": len(spaces.identical), "direction": direction,
                     "P@1": found.mean(), "of identical queries": found[same].mean(),
                     "of other queries": found[~same].mean(), "copy": same.mean()})  # fmt: skip
differences = {"test words in the hint": ("csls", judged["apart"], judged["all"])}
(100 * pd.DataFrame(rows).set_index(["direction", "hint", "words"]).sort_index()).round(1)

# %% [markdown]
# The control loses most of it too, but not on the queries that are identical words: these are lost only if
# they themselves leave the hint. So with this few hints, most of the gain comes from their number, and the
# rest from test words that the hint gives away.
#
# ## The loop
#
# The recipe `script` is the released loop: words drawn uniformly, a mean over the identical words. The text
# says by frequency, and a sum. To save time, the loop starts from the map above and takes only a few steps,
# so this shows in which direction each variant pulls a good map, not where 150,000 steps would end.

# %%
changes = {"code": {}, "sum": {"reduction": "sum"}, "frequency": {"sampling": "frequency"}}
kept, maps, start = {name: {} for name in changes}, {}, None if random_start else begin["all"]
for name, change in changes.items():
    maps[name] = fit_gradient(
        words, config.replace(**change), start,
        lambda step, *both, name=name: kept[name].update({step: [W.clone() for W in both]}) or {},
    )  # fmt: skip
    judged[name] = benchmark.evaluate(maps[name], words, gold, config)
differences["mean in L_sup"] = ("csls", judged["sum"], judged["code"])
differences["uniform sampling"] = ("csls", judged["frequency"], judged["code"])
benchmark.results_table(benchmark.summarise(judged["code"], gold))

# %% [markdown]
# This is the loop of the released code, judged by correct formulas, with the copy baseline beside it.
#
# ## CSLS-D
#
# The released CSLS-D has three slips, added here one at a time to the same map. Ranks count from 0, and log
# 0 is -inf. Mapped words keep their lengths. Without the faiss library, the code adds mean dot products
# where mean distances belong, so hubs are rewarded.

# %%
sides = (words, words.swap())
mapped = words.x @ maps["code"].W_xy.to(words.x), words.y @ maps["code"].W_yx.to(words.y)


def judge_released(unit, faiss):
    """Judge both directions under CSLS-D as the released code computes it."""
    found, sigmas = {}, (config.sigma2_tgt, config.sigma2_src)
    for side, x, lexicon, sigma2 in zip(sides, mapped, gold, sigmas, strict=True):
        x = x / x.norm(dim=1, keepdim=True) if unit else x
        retriever = released.ReleasedRetriever(x, side.y, faiss)
        metric = Metric("csls-d", sigma2=sigma2, tau=config.tau)
        frame = judge(retriever, side.src, side.tgt, lexicon, metric)
        found[f"{side.src.lang}-{side.tgt.lang}"] = {"csls-d": frame}
    return found


# %%
judged["ranks"] = judge_released(unit=True, faiss=True)
judged["lengths"] = judge_released(unit=False, faiss=True)
judged["no faiss"] = judge_released(unit=False, faiss=False)
differences |= {
    "ranks from 0": ("csls-d", judged["code"], judged["ranks"]),
    "lengths in CSLS-D": ("csls-d", judged["ranks"], judged["lengths"]),
    "CSLS-D without faiss": ("csls-d", judged["lengths"], judged["no faiss"]),
}

# %% tags=["nbval-check-output"]
rows = words.x.new_tensor([0, 1, 2, 3]).long()  # the four most frequent words
scores = released.csls_d(mapped[0], words.y, rows)
print("scores of the source word of rank 1:", scores[0, :4].tolist())
print("scores for the target word of rank 1:", scores[:, 0].tolist())
for side, lexicon in zip(sides, gold, strict=True):
    pairs = lexicon.rows(side.src, side.tgt)
    touched = sorted({side.src.words[q] for q, t in pairs if q == 0 or t == 0})
    print(f"queries that involve rank 1 in {lexicon.name}:", ", ".join(touched))

# %% [markdown]
# The most frequent word is lost on both sides. Four queries involve it here, so the effect on P@1 is at most
# a fraction of a point.
#
# ## Which step is reported
#
# The text picks a step without the test set. The code judges every validation on the test set
# and prints the best one, which is a slip: that number is no longer an estimate. Its unsupervised
# criterion also forgets to normalise the mapped words, so it grows with the map.

# %%
validations = []
for step, both in kept["code"].items():
    for direction, side, lexicon, W in zip(judged["code"], sides, gold, both, strict=True):
        retriever = Retriever(side.x @ W, side.y, config.knn)
        row = {"direction": direction, "step": step}
        row["csls"] = judge(retriever, side.src, side.tgt, lexicon, Metric("csls"))
        row["test"] = (row["csls"]["position"] <= 1).mean()
        row["cosine"] = dictionary_cosine(side.x @ W, side.y, max_rank, config.knn)
        row["released"] = released.criterion(side.x @ W, side.y, max_rank, config.knn)
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
for criterion in (dictionary_cosine, released.criterion):
    values = [criterion(scale * mapped[0], words.y, max_rank) for scale in (1, 2)]
    print(f"{criterion.__name__}: {values[0]:.3f} for W, {values[1]:.3f} for 2 W")

# %% [markdown]
# How much of the gain from choosing on the test set is real? Choose the step on a random half of the test
# queries and look at the other half, which had no influence. Both gains are relative to the unsupervised
# choice, averaged over 1,000 halves.

# %%
for direction, rows in groups.items():
    hits = np.stack([frame["position"] <= 1 for frame in rows["csls"]])  # (validations, queries)
    gain = 100 * (hits - 1.0 * hits[rows["cosine"].argmax()])
    gains = []
    for _ in range(1000):
        one, other = np.array_split(rng.permutation(hits.shape[1]), 2)
        best = hits[:, one].mean(axis=1).argmax()
        gains.append((gain[best, one].mean(), gain[best, other].mean()))
    seen, unseen = np.mean(gains, axis=0)
    print(f"{direction}: {seen:+.1f} points on the half that chose, {unseen:+.1f} on the other")

# %% [markdown]
# Choosing on the test set gains almost nothing even on the queries used to choose, since the validations
# hardly differ, and it loses a little on the others.
#
# ## The exported vectors
#
# The released export centres both languages on the mean of fewer words than training did, then applies the
# same map. In demalib, `Normalisation` carries the mean along, so this cannot happen unnoticed.

# %%
centred = []
for side in (words.src, words.tgt):
    raw = benchmark.load_embedding_of(side.lang, config)
    fewer = raw.head(int(share * len(raw))).normalise().normalisation
    centred.append(replace(side, vectors=fewer.apply(raw.vectors)))
    apart_by = np.linalg.norm(fewer.means[0] - side.normalisation.means[0])
    print(side.lang, f"the two means are {apart_by:.3f} apart")
exported = replace(words, src=centred[0], tgt=centred[1])
judged["export"] = benchmark.evaluate(maps["code"], exported, gold, config, ("csls",))
differences["mean of the export"] = ("csls", judged["code"], judged["export"])

# %% [markdown]
# ## All of them
#
# The effect is what the code's choice adds to P@1, compared query by query. The three CSLS-D rows build on
# each other. Intervals are over the queries; they do not include the luck of the seed. Where the text is
# silent, brackets say what a corrected version does.

# %%
says = {
    "ranks from 0": ("count from 1", "count from 0"),
    "lengths in CSLS-D": ("(scaled to 1)", "kept as they are"),
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
    metric, *both = differences[name]
    for direction in judged["code"]:
        paper, code = (judgement[direction][metric] for judgement in both)
        test = paired_bootstrap(code, paper, seed=seed)
        rows.append({
            "difference": name, "paper says": texts[0], "code does": texts[1], "metric": metric,
            "direction": direction, "paper P@1": 100 * (paper["position"] <= 1).mean(),
            "code P@1": 100 * (code["position"] <= 1).mean(), "effect": 100 * test["difference"],
            "low": 100 * test["ci95"][0], "high": 100 * test["ci95"][1],
        })  # fmt: skip
table = pd.DataFrame(rows)
table.round(1).set_index(["difference", "paper says", "code does", "metric", "direction"])

# %%
axes = plots.effects(table)

# %%
if (pair, max_vocab) == ("en-fr", 3000):  # the run that the claim describes
    effect = table.set_index("difference")[["effect", "low", "high"]]
    large = ["mean in L_sup", "test words in the hint", "CSLS-D without faiss"]
    assert (effect.loc[large[:2], "low"] > 0).all()
    assert effect.loc[large[2], "effect"].min() < -1 and effect.loc[large[2], "high"].min() < 1
    assert (effect.drop(large)["effect"].abs() < 2).all()

# %% [markdown]
# **See:** to the right of zero, the code's choice scores higher. The code is right to use the mean in
# L_sup: with the text's sum, the identical words outweigh the density. Test words in the hint are the
# opposite, a gain that was not earned. To the left of zero, CSLS-D without faiss rewards hubs; for en → fr
# its interval includes zero. All other intervals touch zero.
#
# A small vocabulary exaggerates some of this. On the whole pair, with the parameters below, the sum cost 14
# points for en → fr but nothing that the interval could show for fr → en, test words in the hint added 1
# point or less, and the lack of faiss cost 2 to 3.
#
# **Try next:** that run, about ten minutes on two cores: `max_vocab = 0` with `components = 10000`,
# `batch = 512`, `steps = 100`, `max_rank = 10000` and `refinements = 5`; `solver = "em"`: how much does
# it need the test words?
#
# ## Exercises
#
# 1. *Predict.* The export takes the mean of the first quarter of the words. What if it took only the first
#    30 words? Which words are these, and is their mean a good estimate of the mean of all?
# 2. *Change.* Give hubs a reward by hand: add the neighbourhood means instead of subtracting them. Which word
#    becomes the answer to most queries?
#
# Solutions: [solutions/14_fidelity](solutions/14_fidelity.ipynb).
