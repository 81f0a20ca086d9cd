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
# **Claim.** Match two densities from a few random rotations and keep the run with the lowest loss: this
# recovers the rotation between two clouds of words, without knowing which word is which.
#
# *Reads* nothing · *writes* nothing · *takes* about 20 seconds on two cores.
#
# Real word vectors have hundreds of dimensions, which nobody can see. Here everything happens in two, with
# 21 words in made-up positions, so that the formulas of the paper's Sections 2 and 3 become pictures.
# `WordMixture` and `LinearFlow`, used throughout, are the same classes that align real languages. The
# positions were chosen to make clear pictures, which makes the task easier than usual; the section that
# checks the claim discusses how much easier.

# %% tags=["parameters"]
degrees = 120  # angle between English and French
noise = 0.05  # standard deviation of the noise on French words
seed = 0  # seeds that noise, the samples and the starts
tau = 2.0  # temperature of the rank prior, the paper has 2
wide = 0.5  # variance of the Gaussians at first
middle = 0.1  # variance in between
narrow = 0.01  # variance of the Gaussians in the end, the paper has 0.01
tries = 5  # random rotations to start from
tolerance = 3  # degrees within which a rotation counts as found

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from demalib import LinearFlow, WordMixture, make_pair, plots
from demalib.device import make_generator
from demalib.gradient import Settings, fit_gradient
from demalib.losses import Batch
from demalib.procrustes import orthogonal_factor
from demalib.teaching import plane

plots.style()
torch.set_num_threads(1)  # with 21 words, threads would only wait for each other

# %% [markdown]
# ## Two spaces
#
# French is English rotated by 120 degrees, with a little noise on every word. Each side is sorted
# by frequency, and the two orders differ, as they do in real vocabularies. No word has the same
# spelling on both sides, so there is no hint at all. The dictionary `gold` is only for checking; no
# solver sees it.
#
# The paper subtracts the mean of each side and scales all vectors to unit length. In the plane, unit length
# would put every word on one circle, so here we subtract only the mean.

# %% tags=["nbval-check-output"]
src, tgt, gold = plane.plane(degrees, noise, seed)
pair = make_pair(src, tgt, normalisation=("center",))
x, y = pair.x.cpu(), pair.y.cpu()  # far too small for a GPU
partners = gold.rows(src, tgt)[:, 1]
print("English by frequency:", *src.words)
print("French by frequency: ", *tgt.words)
print(len(pair.identical), "identical words")

# %% [markdown]
# ## A space of words as a density
#
# A vector is never exact: another training run would put it somewhere nearby. So let a word be a small
# Gaussian instead of a point, and a language the mixture of its words (Eqs. 3 and 4):
#
# $$p(\mathbf{x}) = \sum_i \pi(x_i)\,\mathcal{N}(\mathbf{x} \mid \mathbf{x}_i, \sigma^2 \mathbf{I}).$$
#
# The weight $\pi(x_i)$ is the word's frequency. Without counts, we use Zipf's law instead: one over the
# rank. To sample, draw a word by its weight, then a point around it. French has its own mixture
# $p(\mathbf{y})$ (Eq. 5), and its log-density is a landscape with a hill on every word.

# %%
english, french = WordMixture(x, narrow), WordMixture(y, narrow)
gen = make_generator(seed, x.device)
points = english.sample(600, gen)
grid = plane.grid(1.8)

left, right = axes = plots.panels(2)[0]
plots.cloud(left, "English: 600 samples", samples=points, words=x, labels=src.words)
drawn = {"words": y, "labels": tgt.words, "color": plots.TGT}
plots.cloud(right, "French: log-density", french.log_prob(grid), **drawn)
plots.Picture(axes)

# %% [markdown]
# **See:** on the left, many samples are around *time*, *day* and *school*, the most frequent words, and few
# around *bread*, the rarest. On the right, every word has a hill, higher for frequent words (one nat from
# shade to shade), and the whole has the shape of the left panel, rotated. The eye matches the two at once.
# A solver has to do it with numbers.
#
# ## A map pays for the volume it takes
#
# A linear map takes a sample to $\mathbf{y} = \mathbf{x} W$ (vectors are rows here, columns in the
# paper), and the French density says how likely it is there. By the change of variables (Eq. 2),
# this is a density over *English* points only if the change of volume is included (Eq. 6):
#
# $$\log p(\mathbf{x}; W) = \log p(\mathbf{x} W) + \log |\det W|.$$
#
# A density has mass one. Here we add up the mass over a fine grid, for maps that have the right rotation
# but also shrink or stretch.

# %%
fine, step = plane.grid(6.0, 401), 12 / 400
mass = pd.DataFrame(columns=["det W", "mass without", "mass with |det W|"], dtype=float)
for scale in (0.5, 1.0, 2.0):
    flow = LinearFlow(2, weight=scale * plane.rotation(degrees)).requires_grad_(False)
    without = french.log_prob(flow(fine)).exp().sum() * step**2
    volume = flow.log_abs_det().exp()
    mass.loc[f"scale {scale}"] = [float(v) for v in (volume, without, without * volume)]
assert np.allclose(mass["mass with |det W|"], 1, atol=1e-3)
mass.round(3)

# %% [markdown]
# Without the term, a map that halves all lengths has a mass of four. It claims too much everywhere, and
# maximising the likelihood rewards it for that. To see where this leads, follow the objective downhill
# (Eq. 8: sample, map, score, step), with the term and without it, both times from the *right* rotation.

# %%
english, french, ends = WordMixture(x, middle), WordMixture(y, middle), {}
for name, charge in (("with log|det W|", 1.0), ("without", 0.0)):
    flow = LinearFlow(2, weight=plane.rotation(degrees))
    adam = torch.optim.Adam([flow.W], lr=0.03)
    for _ in range(250):
        score = french.log_prob(flow(english.sample(256, gen)))
        adam.zero_grad()
        (-score.mean() - charge * flow.log_abs_det()).backward()
        adam.step()
    ends[name] = flow.W.detach()
thinnest = [float(torch.linalg.svdvals(W)[-1]) for W in ends.values()]
assert thinnest[0] > 0.8 and thinnest[1] < 0.1
print("smallest singular value: {:.2f} with log|det W|, {:.2f} without".format(*thinnest))

# %%
axes, points, hills = plots.panels(2)[0], english.sample(256, gen), french.log_prob(grid)
for ax, (name, W), labels in zip(axes, ends.items(), (src.words, ()), strict=True):
    plots.cloud(ax, name, hills, samples=points @ W, words=x @ W, labels=labels)
plots.Picture(axes)

# %% [markdown]
# **See:** mapped English words and samples on the French density. With the term, the cloud keeps its shape.
# Without it, the whole plane collapses onto a line across the highest hill, where every sample is likely,
# and points that a map has put in one place cannot be separated again. A singular value of zero would make
# $\log|\det W|$ minus infinity: a wall that keeps the map invertible.
#
# ## How wide should the Gaussians be?
#
# A rotation of the plane is a single number, so we can draw the whole loss, over all angles. It is the
# negative log-likelihood of the mapped samples, in the paper's notation $-\mathcal{L}_{xy}$.

# %%
angles = pd.Index(range(0, 361, 3), name="angle of the map (degrees)")
rotations = [plane.rotation(a) for a in angles]
losses = pd.DataFrame(index=angles)
for sigma2 in (0.003, 0.05, wide):
    english, french = WordMixture(x, sigma2), WordMixture(y, sigma2)
    losses[f"σ² = {sigma2}"] = plane.landscape(rotations, english.sample(2000, gen), french)
assert all(plane.degrees_apart(a, degrees) < 10 for a in losses.idxmin())
plots.Picture(plots.landscapes(losses, degrees))

# %% [markdown]
# **See:** dots mark valleys, the dashed line the truth. Narrow Gaussians turn every partial match into a
# valley, and a solver that starts in a wrong one stays there. Wide ones leave a single valley, which can be
# reached from everywhere. But look at the scales: it is only half a nat deep, and its floor is round,
# because every Gaussian covers many words, so it says little about the last few degrees. Hence the plan:
# begin wide, end narrow.
#
# The paper does not anneal. For en-fr it keeps $\sigma^2 = 0.01$ and lets identical words choose the valley
# (Section 3.5); without them, according to its Table 4, precision is 0.1 %.
#
# ## What the ranks say
#
# So far, the weight of a French word has been its frequency. Section 3.3 goes further: a sample from the
# word of rank $i$ expects a word of similar rank $j$ (Eqs. 9 and 10),
#
# $$\pi(y_j \mid x_i) \propto \exp(-|\log j - \log i| / \tau).$$

# %%
english, french = WordMixture(x, middle), WordMixture(y, middle, tau=tau)
extremes = french.log_prior(torch.tensor([1, len(x)])).exp()
names = [f"rank prior\nof {word}" for word in (src.words[0], src.words[-1])]
priors = pd.DataFrame(extremes.T.numpy(), columns=names)
priors["naive prior\nof all words"] = french.log_prior().exp().numpy()
priors.index = pd.Index(range(1, len(y) + 1), name="rank of the French word")

same = torch.ones(len(x))  # counts that make all words equally frequent
even, losses = WordMixture(x, middle, same).sample(2000, gen), pd.DataFrame(index=angles)
losses["no\nfrequencies"] = plane.landscape(rotations, even, WordMixture(y, middle, same))
_, points, ranks = Batch.draw(english, 2000, gen)
losses["rank prior"] = plane.landscape(rotations, points, french, ranks)
losses["naive prior"] = plane.landscape(rotations, points, french)

# %%
_, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4))
plots.curves(priors, "prior probability", left)
plots.curves(losses - losses.min(), "loss above its lowest (nats)", right, degrees)
left.set(xticks=(1, 5, 10, 15, 20), title="what a word expects")
right.set(xticks=range(0, 361, 90), title=f"the loss over the angle, σ² = {middle}")
plots.Picture(left)

# %% [markdown]
# **See:** on the left, the naive prior favours *temps* and *jour* whatever the sample; the rank prior moves
# with the word, gently at $\tau = 2$. On the right, when words are drawn and weighted evenly, two false
# valleys reach about halfway down to the true one. Either prior knows at which end of the cloud the
# frequent words are: the rank prior reduces the false valleys to two shallow dents, and the naive prior
# removes them. So the rank prior is no better here; on real vectors the paper finds it a little better,
# 82.6 % against 82.1 % for en-fr (Table 4).
#
# ## Two ways down
#
# Which French words could a mapped point $\mathbf{y}$ have come from? Each takes a share
# $r_j \propto \pi(y_j \mid x_i)\,\mathcal{N}(\mathbf{y} \mid \mathbf{y}_j, \sigma^2 \mathbf{I})$, and
# $\mathbf{m} = \sum_j r_j \mathbf{y}_j$ is where the point should be: `french.posterior(y, ranks).mean`.
# Both solvers follow the arrows from $\mathbf{y}$ to $\mathbf{m}$:
#
# - **Gradient**, the paper's: $\nabla \log p(\mathbf{y}) = (\mathbf{m} - \mathbf{y}) / \sigma^2$, so every
#   step moves an unconstrained $W$ a little along the arrows of a fresh batch. A second map learns
#   the reverse direction, and each should undo the other (Section 3.4).
# - **EM**: let $W$ be orthogonal, so that $\log|\det W| = 0$. The E-step computes all $\mathbf{m}_i$; the
#   M-step takes the best rotation for all arrows at once: $W = UV^\top$, where $U S V^\top$ is the
#   singular value decomposition of $\sum_i \pi(x_i)\, \mathbf{x}_i^\top \mathbf{m}_i$. `demalib.em` does this
#   in both directions at once, for unit vectors, and narrows the Gaussians by a rule.
#
# The gradient solver is the one used for real pairs, `fit_gradient`, here without identical words.


# %%
def em(W, widths, ranks, counts=None, x=x, y=y):
    """Textbook EM for one direction of Eq. 10: the map before and after every round."""
    path = [W]
    for sigma2 in widths:
        french = WordMixture(y, float(sigma2), counts, tau=tau)
        found = french.posterior(x @ path[-1], ranks)  # E-step
        weights = french.weights.to(x)[:, None]  # by rank, so those of English as well
        path.append(orthogonal_factor(x.T @ (weights * found.mean)))  # M-step
    return path


starts = 360 * torch.rand(tries, generator=make_generator(seed, x.device))
anneal = [wide] * 30 + list(np.geomspace(wide, narrow, 10))
by_rank = torch.arange(1, len(x) + 1)
em_paths = [em(plane.rotation(float(a)), anneal, by_rank) for a in starts]

# %%
gradient_paths, none = [[plane.rotation(float(a))] for a in starts], x[:0]
for path in gradient_paths:
    maps = (path[0], path[0].T)
    for sigma2, steps in ((wide, 300), (middle, 100), (narrow, 100)):
        english, french = (WordMixture(side, sigma2, tau=tau) for side in (x, y))
        settings = Settings(
            batch=256, steps=steps, rate=0.1, sampling="frequency", validate_every=20
        )
        *maps, _ = fit_gradient(
            english, french, none, none, settings, ablate="identical", start=maps,
            generator=make_generator(seed, x.device),
            watch=lambda step, W, back, path=path: path.append(W.clone()) or {},
        )  # fmt: skip

# %%
far = max(range(tries), key=lambda k: plane.degrees_apart(float(starts[k]), degrees))
moments = {"gradient, free W": (gradient_paths[far], "step", 20, (0, 2, 4, -1)),
           "EM, orthogonal W": (em_paths[far], "round", 1, (0, 4, 9, -1))}  # fmt: skip
rows = {}
for solver, (path, unit, every, shown) in moments.items():
    rows[solver] = {}
    for k in shown:
        off = plane.degrees_apart(plane.angle(path[k]), degrees)
        caption = f"{unit} {k % len(path) * every}: {off:.1f}° off"
        rows[solver][caption] = (x @ path[k]).numpy()
plots.Picture(plots.snapshots(rows, y.numpy(), partners))

# %% [markdown]
# **See:** four moments of each solver, from the start that is furthest from the truth. Dots are mapped
# English words, rings French words, and a line joins a word to its translation, which the solver does not
# know. Both rotate the cloud into place. Each starts wide, finds the valley, and only then settles the
# details. On the way, the gradient's $W$ need not be a rotation, and at step 40 the cloud is a little out
# of shape; EM's $W$ is always a rotation.
#
# ## The claim, and its limits

# %%
pairs = zip(gradient_paths, em_paths, strict=True)
found = pd.DataFrame(
    [[plane.degrees_apart(plane.angle(path[-1]), degrees) for path in both] for both in pairs],
    columns=["gradient, degrees off", "EM, degrees off"],
    index=pd.Index([f"{float(a):.0f}°" for a in starts], name="start"),
)
french = WordMixture(y, narrow, tau=tau)
for paths, column in zip((gradient_paths, em_paths), found, strict=True):
    height = plane.landscape([path[-1] for path in paths], x, french, by_rank)
    assert found[column].iloc[np.argmin(height)] < tolerance  # the run of lowest loss
found.round(1)

# %% [markdown]
# Here every start arrives at the truth, not only the best one.
#
# EM is quick enough to be started every ten degrees, all around the circle. The first row is the recipe
# above; every other row changes one thing. The last row starts from mirror images: rotations with one axis
# flipped. The loss is in nats, under the rank prior and the narrow variance, and needs no dictionary.

# %%
rotate, mirror = torch.eye(2), torch.diag(torch.tensor([1.0, -1.0]))
variants = {"wide to narrow, rank prior": (rotate, anneal, by_rank),
            "naive prior": (rotate, anneal, None),
            "no frequencies": (rotate, anneal, None, same),
            "narrow from the start": (rotate, [narrow] * 40, by_rank),
            "from mirror images": (mirror, anneal, by_rank)}  # fmt: skip
table = {}
for name, (flip, *how) in variants.items():
    ends = [em(flip @ plane.rotation(a), *how)[-1] for a in range(0, 360, 10)]
    right = [W.det() > 0 and plane.degrees_apart(plane.angle(W), degrees) < tolerance for W in ends]
    height = plane.landscape(ends, x, french, by_rank)
    table[name] = {"right of 36 starts": sum(map(bool, right)), "lowest loss": round(min(height), 2),
                   "is that one right": bool(right[np.argmin(height)])}  # fmt: skip
pd.DataFrame(table).T

# %% [markdown]
# **See:** in this layout the recipe arrives from everywhere, with either prior. Without frequencies, or
# without the wide beginning, most starts end in a false valley. No start from a mirror image arrives. EM
# could jump out, but does not; a gradient's $W$ would have to pass through determinant zero, the wall
# described above. A random *orthogonal* start is a mirror image half of the time. But the loss gives it
# away: of several runs, keep the one with the lowest loss; if any run is right, that one is.
#
# **It is not typical that every start arrives.** We chose these positions because wide Gaussians leave a
# single valley in them, and we tuned the steps and widths on them. So we also try thirty layouts that
# nobody chose, each with 21 words at random positions and twelve starts:

# %%
rows, around = [], range(0, 360, 30)
for _ in range(30):
    here = torch.randn(x.shape, generator=gen) * x.std()
    here -= here.mean(0)
    there = torch.empty_like(here)
    there[partners] = here @ plane.rotation(degrees) + noise * torch.randn(x.shape, generator=gen)
    ends = [em(plane.rotation(a), anneal, by_rank, x=here, y=there)[-1] for a in around]
    off = [plane.degrees_apart(plane.angle(W), degrees) for W in ends]
    height = plane.landscape(ends, here, WordMixture(there, narrow, tau=tau), by_rank)
    rows.append((sum(a < tolerance for a in off), off[np.argmin(height)] < tolerance))
layouts = pd.DataFrame(rows, columns=["starts that arrive", "lowest loss is right"])
print(f"starts that arrive: {layouts.iloc[:, 0].mean() / len(around):.0%}; all of a layout's: "
      f"{(layouts.iloc[:, 0] == len(around)).sum()}; lowest loss right: {layouts.iloc[:, 1].sum()}")  # fmt: skip
assert layouts["lowest loss is right"].mean() > 0.8

# %% [markdown]
# **See:** many starts end in a false valley, and yet the run with the lowest loss is right. That is why the
# claim keeps that run.
#
# What is the map good for? The nearest French word is the translation:

# %% tags=["nbval-check-output"]
nearest = torch.cdist(x @ em_paths[0][-1], y).argmin(dim=1).numpy()
print(int((nearest == partners).sum()), "of", len(partners), "words translated correctly:")
print(", ".join(f"{src.words[i]} → {tgt.words[j]}" for i, j in enumerate(nearest)))

# %% [markdown]
# Real spaces are harder: they are not copies of each other, and in 300 dimensions there are far more
# false valleys. That is what identical words are for.
#
# **Try next:** `noise = 0.15`, where some translations fail although the rotation is found;
# `tau = 10`, which leaves hardly any prior, or `wide = 0.02`: with either, some starts go astray.
# Then `02_train`, the same on real words.
#
# ## Exercises
#
# 1. *Predict.* A mirror image has determinant -1. Will its mass, added up over the grid as above, be one,
#    minus one, or something else? And the mass of a shear, which moves points but keeps areas?
# 2. *Change.* Draw the loss over all angles with `tau = 10`, and with `tau = 0.5`. When do false valleys
#    return?
# 3. *Build.* One E-step by hand: for the word *time*, mapped by the right rotation, compute the shares $r_j$
#    with `torch.softmax`, and compare $\sum_j r_j \mathbf{y}_j$ with `french.posterior(...).mean`.
#
# Solutions: [solutions/01_density](solutions/01_density.ipynb).
