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
# # 01 · Densities in the plane
#
# **Claim.** Matching two densities, from a few random rotations of which the one with the lowest loss
# is kept, recovers the rotation between two clouds of words without knowing which word is which.
#
# *Reads* nothing · *writes* nothing · *takes* about 25 seconds on two cores.
#
# Real word vectors have hundreds of dimensions, and nobody can see them. Here everything happens
# in two, with 21 words whose places are made up, so that the formulas of the paper's Sections 2
# and 3 become pictures. The functions called here are the ones that align real languages. The
# places were picked to make clear pictures, and that makes the task easier than usual: how much
# easier is said where the claim is checked.

# %% tags=["parameters"]
degrees = 120  # how far French is turned against English
noise = 0.05  # standard deviation of what else moves a French word
seed = 0  # seeds that noise, the samples and the starts
tau = 2.0  # temperature of the rank prior, the paper has 2
wide = 0.5  # variance of the Gaussians at first
middle = 0.1  # variance in between
narrow = 0.01  # variance of the Gaussians in the end, the paper has 0.01
tries = 5  # random rotations to start from
tolerance = 3  # degrees within which a rotation counts as found

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

import demalib
from demalib import flow, plots, toy, train
from demalib.density import log_density, posterior, rank_log_prior, sample_mixture, word_weights
from demalib.refine import orthogonal_factor

plots.style()
torch.set_num_threads(1)  # with 21 words, threads would only wait for each other

# %% [markdown]
# ## Two spaces
#
# French is English turned by 120 degrees, with a little noise on every word. Each side is sorted
# by frequency, and the two orders differ, as they do in real vocabularies. No word is spelled alike
# on both sides, so there is no hint at all. The dictionary `gold` is for us, to check; no solver
# sees it.
#
# The paper subtracts the mean of each side and brings all vectors to unit length. In the plane
# unit length would put every word on one circle, so here only the mean is subtracted.

# %% tags=["nbval-check-output"]
src, tgt, gold = toy.plane(degrees, noise, seed)
pair = demalib.make_pair(src, tgt, steps=("center",))
partners = gold.rows(src, tgt)[:, 1]
print("English by frequency:", *src.words)
print("French by frequency: ", *tgt.words)
print(len(pair.identical), "words spelled alike on both sides")

# %% [markdown]
# ## A space of words as a density
#
# A vector is never exact: train it again and it lies a little elsewhere. So let a word be not a
# point but a small Gaussian around it, and a language the mixture of them (Eqs. 3 and 4):
#
# $$p(\mathbf{x}) = \sum_i \pi(x_i)\,\mathcal{N}(\mathbf{x} \mid \mathbf{x}_i, \sigma^2 \mathbf{I}).$$
#
# The weight $\pi(x_i)$ is the word's frequency. Where there are no counts, Zipf's law stands in:
# one over the rank. To sample, draw a word by its weight, then a point around it. French has
# a mixture $p(\mathbf{y})$ of its own (Eq. 5), and its log-density is a landscape with a hill on every
# word.

# %%
x, y = pair.x, pair.y
weights = word_weights(len(x)).float()
by_frequency = {"log_prior": weights.log()}
gen = torch.Generator().manual_seed(seed)
points, _ = sample_mixture(x, 600, narrow, weights, gen)
grid = toy.grid(1.8)
hills = log_density(grid, y, narrow, **by_frequency)

left, right = axes = plots.panels(2)[0]
plots.cloud(left, "English: 600 samples", samples=points, words=x, labels=src.words)
french = {"words": y, "labels": tgt.words, "color": plots.TGT}
plots.cloud(right, "French: log-density", hills, **french)
plots.Picture(axes)

# %% [markdown]
# **See:** on the left, many samples around *time*, *day* and *school*, the most frequent words, and
# few around *bread*, the rarest. On the right, a hill on every word, a nat from shade to
# shade, higher for frequent words; and the shape of the left panel, turned. Eyes match the two
# at once. A solver has to do it by numbers.
#
# ## A map pays for the room it takes
#
# A linear map takes a sample across, $\mathbf{y} = \mathbf{x} W$ (vectors are rows here, columns in
# the paper), and the French density says how likely it is there. By the rule for changing variables (Eq. 2), that makes a density over *English*
# points only if the change of volume is counted (Eq. 6):
#
# $$\log p(\mathbf{x}; W) = \log p(\mathbf{x} W) + \log |\det W|.$$
#
# A density has mass one. Here the mass is added up over a fine grid, for maps that turn as they
# should but shrink or stretch.

# %%
fine, step = toy.grid(6.0, 401), 12 / 400
mass = pd.DataFrame(columns=["det W", "mass without", "mass with |det W|"], dtype=float)
for scale in (0.5, 1.0, 2.0):
    shrink = flow.LinearFlow(2, weight=scale * toy.rotation(degrees)).requires_grad_(False)
    without = log_density(shrink(fine), y, narrow, **by_frequency).exp().sum() * step**2
    volume = shrink.log_abs_det().exp()
    mass.loc[f"scale {scale}"] = [float(v) for v in (volume, without, without * volume)]
assert np.allclose(mass["mass with |det W|"], 1, atol=1e-3)
mass.round(3)

# %% [markdown]
# Without the term, a map that halves all lengths has a mass of four. It claims too much
# everywhere, and who maximises the likelihood is rewarded for it. To see where that leads, follow
# the objective downhill (Eq. 8: sample, map, score, step), with the term and without, both times
# from the *right* rotation.

# %%
ends = {}
for name, charge in (("with log|det W|", 1.0), ("without", 0.0)):
    free = flow.LinearFlow(2, weight=toy.rotation(degrees))
    adam = torch.optim.Adam([free.W], lr=0.03)
    for _ in range(250):
        points, _ = sample_mixture(x, 256, middle, weights, gen)
        score = log_density(free(points), y, middle, **by_frequency)
        adam.zero_grad()
        (-score.mean() - charge * free.log_abs_det()).backward()
        adam.step()
    ends[name] = free.W.detach()
thinnest = [float(torch.linalg.svdvals(W)[-1]) for W in ends.values()]
assert thinnest[0] > 0.8 and thinnest[1] < 0.1
print("smallest singular value: {:.2f} with log|det W|, {:.2f} without".format(*thinnest))

# %%
hills = log_density(grid, y, middle, **by_frequency)
axes = plots.panels(2)[0]
for ax, (name, W), labels in zip(axes, ends.items(), (src.words, ()), strict=True):
    plots.cloud(ax, name, hills, samples=points @ W, words=x @ W, labels=labels)
plots.Picture(axes)

# %% [markdown]
# **See:** English words and samples, mapped, on the French density. With the term the cloud keeps
# its shape. Without it the whole plane falls onto a line across the highest hill: every sample is
# likely there, and what a map has once laid on top of each other cannot be told apart again. A
# singular value of zero would make $\log|\det W|$ minus infinity: a wall that keeps the map
# invertible.
#
# ## How wide should the Gaussians be?
#
# A rotation of the plane is one number, so the whole loss can be drawn. It is the
# negative log-likelihood of mapped samples, minus the paper's $\mathcal{L}_{xy}$, over all angles.

# %%
angles = pd.Index(range(0, 361, 3), name="angle of the map (degrees)")
turns = [toy.rotation(a) for a in angles]
losses = pd.DataFrame(index=angles)
for sigma2 in (0.003, 0.05, wide):
    points, _ = sample_mixture(x, 2000, sigma2, weights, gen)
    losses[f"σ² = {sigma2}"] = toy.landscape(turns, points, y, sigma2, **by_frequency)
assert all(toy.degrees_apart(a, degrees) < 10 for a in losses.idxmin())
plots.Picture(plots.landscapes(losses, degrees))

# %% [markdown]
# **See:** dots mark valleys, the dashed line the truth. Narrow Gaussians make a valley of every
# partial match, and whoever starts in a wrong one stays there. Wide ones leave a single valley,
# which leads home from everywhere. But look at the scales: it is shallow, half a nat deep, and its
# floor is round, since every Gaussian covers many words: it says little about the last degrees.
# Hence a plan: begin wide, end narrow.
#
# The paper does not anneal. For en-fr it keeps $\sigma^2 = 0.01$ and lets words spelled alike choose
# the valley (Section 3.5); without them, says its Table 4, precision is 0.1 %.
#
# ## What the ranks say
#
# So far a French word weighs what its frequency says. Section 3.3 goes further: a sample
# that came from the word of rank $i$ expects a word of similar rank $j$ (Eqs. 9 and 10),
#
# $$\pi(y_j \mid x_i) \propto \exp(-|\log j - \log i| / \tau).$$

# %%
extremes = rank_log_prior(torch.tensor([1, len(x)]), len(y), tau).exp()
names = [f"rank prior\nof {word}" for word in (src.words[0], src.words[-1])]
priors = pd.DataFrame(extremes.T.numpy(), columns=names)
priors["naive prior\nof all words"] = weights
priors.index = pd.Index(range(1, len(y) + 1), name="rank of the French word")

losses = pd.DataFrame(index=angles)
points, _ = sample_mixture(x, 2000, middle, None, gen)
losses["no\nfrequencies"] = toy.landscape(turns, points, y, middle)
points, ranks = sample_mixture(x, 2000, middle, weights, gen)
losses["rank prior"] = toy.landscape(turns, points, y, middle, ranks=ranks, tau=tau)
losses["naive prior"] = toy.landscape(turns, points, y, middle, **by_frequency)

# %%
_, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4))
plots.curves(priors, "prior probability", left)
plots.curves(losses - losses.min(), "loss above its lowest (nats)", right, degrees)
left.set(xticks=(1, 5, 10, 15, 20), title="what a word expects")
right.set(xticks=range(0, 361, 90), title=f"the loss over the angle, σ² = {middle}")
plots.Picture(left)

# %% [markdown]
# **See:** left, the naive prior favours *temps* and *jour* whatever the sample; the rank prior
# moves with the word, gently at $\tau = 2$. Right, where words are drawn and weighed evenly, two
# false valleys reach about halfway down to the true one. Either prior knows which end of the
# cloud holds the frequent words: the rank prior leaves two shallow dents of them, the naive prior
# none. So the rank prior is no better here; on real vectors the paper finds it a little better, 82.6 % against 82.1 % for en-fr
# (Table 4).
#
# ## Two ways down
#
# Which French words could have made a mapped point $\mathbf{y}$? Each takes a share
# $r_j \propto \pi(y_j \mid x_i)\,\mathcal{N}(\mathbf{y} \mid \mathbf{y}_j, \sigma^2 \mathbf{I})$, and
# $\mathbf{m} = \sum_j r_j \mathbf{y}_j$ is where the point should be. Both solvers follow these arrows:
#
# - **Gradient**, the paper's: $\nabla \log p(\mathbf{y}) = (\mathbf{m} - \mathbf{y}) / \sigma^2$, so every
#   step moves a free $W$ a little along the arrows of a fresh batch. A second map learns the way
#   back, and the two should undo each other (Section 3.4).
# - **EM**: let $W$ be orthogonal, so that $\log|\det W| = 0$. The E-step computes all $\mathbf{m}_i$; the
#   M-step takes the best rotation for all arrows at once: $W = UV^\top$, where $U S V^\top$ is the
#   singular value decomposition of $\sum_i \pi(x_i)\, \mathbf{x}_i^\top \mathbf{m}_i$.


# %%
def em(W, widths, weights, **prior):
    """Textbook EM for one direction of Eq. 10: the map before and after every round."""
    path = [W]
    for sigma2 in widths:
        found = posterior(x @ path[-1], y, float(sigma2), **prior)  # E-step
        path.append(orthogonal_factor(x.T @ (weights[:, None] * found.mean)))  # M-step
    return path


starts = 360 * torch.rand(tries, generator=torch.Generator().manual_seed(seed))
anneal = [wide] * 30 + list(np.geomspace(wide, narrow, 10))
by_rank = {"ranks": torch.arange(1, len(x) + 1), "tau": tau}
em_paths = [em(toy.rotation(float(a)), anneal, weights, **by_rank) for a in starts]

# %% [markdown]
# `demalib.em` does this in both directions at once, for unit vectors, and narrows the Gaussians by
# a rule. The gradient solver is the one of real pairs, `fit_gradient`, told to do without
# identical words.

# %%
config = demalib.Config("en-fr", "gradient", seed, ablate="identical", tau=tau, batch=256, rate=0.1,
                        sampling="frequency", validate_every=20)  # fmt: skip
variances = ("noise_src", "noise_tgt", "sigma2_src", "sigma2_tgt")
gradient_paths = [[toy.rotation(float(a))] for a in starts]
for path in gradient_paths:
    mapping = demalib.Mapping.orthogonal(path[0], pair, config)
    for sigma2, steps in ((wide, 300), (middle, 100), (narrow, 100)):
        stage = replace(config, steps=steps, **dict.fromkeys(variances, sigma2))
        mapping = train.fit_gradient(
            pair, stage, mapping, lambda step, W, back, path=path: path.append(W.clone()) or {}
        )

# %% [markdown]
# The start that is furthest off, at four moments of each solver:

# %%
far = max(range(tries), key=lambda k: toy.degrees_apart(float(starts[k]), degrees))
moments = {"gradient, free W": (gradient_paths[far], "step", 20, (0, 2, 4, -1)),
           "EM, orthogonal W": (em_paths[far], "round", 1, (0, 4, 9, -1))}  # fmt: skip
rows = {}
for solver, (path, unit, every, shown) in moments.items():
    rows[solver] = {}
    for k in shown:
        off = toy.degrees_apart(toy.angle(path[k]), degrees)
        caption = f"{unit} {k % len(path) * every}: {off:.1f}° off"
        rows[solver][caption] = (x @ path[k]).numpy()
plots.Picture(plots.moments(rows, y.numpy(), partners))

# %% [markdown]
# **See:** dots are mapped English words, rings French words, and a line joins a word to its
# translation, which the solver does not know. Both turn the cloud home. Each started
# wide, found the valley, and only then looked closely. On its way the gradient's $W$ need not be a
# rotation, and the cloud is a little out of shape at step 40; EM's cannot be.
#
# ## The claim, and where it ends

# %%
pairs = zip(gradient_paths, em_paths, strict=True)
found = pd.DataFrame(
    [[toy.degrees_apart(toy.angle(path[-1]), degrees) for path in both] for both in pairs],
    columns=["gradient, degrees off", "EM, degrees off"],
    index=pd.Index([f"{float(a):.0f}°" for a in starts], name="start"),
)
for paths, column in zip((gradient_paths, em_paths), found, strict=True):
    height = toy.landscape([path[-1] for path in paths], x, y, narrow, **by_rank)
    assert found[column].iloc[np.argmin(height)] < tolerance  # the run of lowest loss
found.round(1)

# %% [markdown]
# Here every start arrives, not only the best. With the same places and other noise, `seed` 0 to 19,
# EM was within three degrees from all of 120 random rotations, the gradient from 59 of 60.
#
# **That is not typical.** These places were chosen among 174 random layouts because wide Gaussians
# leave a single valley in them, and the steps and widths were tuned on them. On all 174, with the
# same settings, EM arrived from 59 % of twelve starts on average, and from all twelve in only 11
# layouts. But the run of the lowest loss was right in 171. That is why the claim speaks of it.
# (The gradient, tried on 20 of the layouts, arrived from 35 of 40 starts.)
#
# EM is quick enough to be started all around the circle, every ten degrees. The first row is the
# recipe of above; each other row changes one thing. The last row starts from mirror images,
# rotations with one axis turned over. The loss, in nats under the rank prior and the narrow
# variance, needs no dictionary.

# %%
rotate, mirror = torch.eye(2), torch.diag(torch.tensor([1.0, -1.0]))
same = torch.full_like(weights, 1 / len(x))
variants = {"wide to narrow, rank prior": (rotate, anneal, weights, by_rank),
            "naive prior": (rotate, anneal, weights, by_frequency),
            "no frequencies": (rotate, anneal, same, {}),
            "narrow from the start": (rotate, [narrow] * 40, weights, by_rank),
            "from mirror images": (mirror, anneal, weights, by_rank)}  # fmt: skip
table = {}
for name, (flip, widths, shares, prior) in variants.items():
    ends = [em(flip @ toy.rotation(a), widths, shares, **prior)[-1] for a in range(0, 360, 10)]
    right = [W.det() > 0 and toy.degrees_apart(toy.angle(W), degrees) < tolerance for W in ends]
    height = toy.landscape(ends, x, y, narrow, **by_rank)
    table[name] = {"right of 36 starts": sum(map(bool, right)), "lowest loss": round(min(height), 2),
                   "is that one right": bool(right[np.argmin(height)])}  # fmt: skip
pd.DataFrame(table).T

# %% [markdown]
# **See:** in this layout the recipe arrives from everywhere, with either prior. Without frequencies,
# or without the wide beginning, most starts end in a false valley. From a mirror image no start
# arrives. EM could jump, but does not; a gradient's $W$ would have to pass through determinant
# zero, the wall of above. A random *orthogonal* start is a mirror image half the time.
# But the loss tells: of several runs keep the one with the lowest, and it is right if any is.
#
# What is the map good for? The nearest French word is the translation:

# %% tags=["nbval-check-output"]
nearest = torch.cdist(x @ em_paths[0][-1], y).argmin(dim=1).numpy()
print(int((nearest == partners).sum()), "of", len(partners), "words translated correctly:")
print(", ".join(f"{src.words[i]} → {tgt.words[j]}" for i, j in enumerate(nearest)))

# %% [markdown]
# Real spaces are harder: they are not copies of each other, and in 300 dimensions there are far more
# valleys to fall into. That is where words spelled alike come in.
#
# **Try next:** `noise = 0.15`, where some translations fail though the rotation is found; `tau = 10`,
# which leaves hardly a prior, or `wide = 0.02`: with either, some starts go astray. Then `02_train`, the same on real words.
