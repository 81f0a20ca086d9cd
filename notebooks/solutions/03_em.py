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
# # Solutions to 03 · EM, watched
#
# The exercises are at the end of [03_em](../03_em.ipynb).

# %%
import numpy as np
import torch

import demalib
from demalib import WordMixture
from demalib.em import choose_sigma2, start_map
from demalib.evaluation.translation import judge
from demalib.procrustes import orthogonal_factor
from demalib.retrieval import Metric, Retriever

config = demalib.preset("en-fr", max_vocab=2000)
words, gold = demalib.load_pair(config), demalib.load_gold(config)
x, y, tau = words.x, words.y, config.tau
ranks = torch.arange(1, len(x) + 1, device=x.device)
prior = (
    WordMixture(y, 1.0, tau=tau).log_prior(ranks),
    WordMixture(x, 1.0, tau=tau).log_prior(ranks).T,
)


# %%
def em(first=500, power=0.5, by_rank=True):
    """Twelve rounds; the map, the last weights g and P@1 by nearest neighbours."""
    v_x, v_y = words.hint(config)
    W = start_map(v_x.T @ v_y)
    for candidates in np.geomspace(first, 2, 12):
        logits = (x @ W) @ y.T / choose_sigma2(x, y, W, candidates, tau, by_rank)
        there, back = (logits + log_prior * by_rank for log_prior in prior)
        g = (torch.softmax(there, 1) * torch.softmax(back, 0)) ** power
        W = orthogonal_factor(x.T @ g @ y)
    frame = judge(Retriever(x @ W, y), words.src, words.tgt, gold.forward, Metric("nn"))
    return W, g, float((frame["position"] <= 1).mean())


# %% [markdown]
# ## 1. Predict: two candidates from the start

# %%
(_, g, usual), (_, _, early) = em(), em(first=2)
print(f"from 500 candidates {usual:.0%}, from 2 {early:.0%}")
assert abs(early - usual) < 0.06

# %% [markdown]
# The same, within the noise: about two hundred identical words are a good start for French. In the first
# round many guesses are wrong, and with two candidates each word insists on its guess; but right guesses
# add up, while wrong ones point in all directions and cancel. Where hints are few, a wide beginning makes
# the difference (`plan` in `demalib.em`).
#
# ## 2. Change: the product instead of its root

# %%
_, product, sharp = em(power=1.0)
print(f"heaviest word {float(g.sum(0).max()):.1f} and {float(product.sum(0).max()):.1f}, "
      f"all words {float(g.sum()):.0f} and {float(product.sum()):.0f}, P@1 {usual:.0%} and {sharp:.0%}")  # fmt: skip
assert product.sum(0).max() <= 1 + 1e-4 < g.sum(0).max() and product.sum() < g.sum()

# %% [markdown]
# With the product no word can weigh more than one, since $p(j|i)\,p(i|j) \le p(i|j)$, and those sum to one.
# All weights shrink, most of all where the two languages disagree. `demalib` uses the root first and the
# product last.
#
# ## 3. Build: without the rank prior

# %%
_, g, plain = em(by_rank=False)
for word in ("winter", "music", "city", "bank"):
    share, best = g[words.src.index[word]].topk(2)
    print(
        word,
        "→",
        ", ".join(
            f"{words.tgt.words[j]} {s:.2f}"
            for j, s in zip(best.tolist(), share.tolist(), strict=True)
        ),
    )
print(f"P@1 {plain:.0%} without, {usual:.0%} with the prior")
assert abs(plain - usual) < 0.06

# %% [markdown]
# The prior is gentle: it changes few words. In the paper it gains half a point.
