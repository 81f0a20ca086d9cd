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
# # 02 · Train one pair
#
# **Claim.** With words of the same or a similar spelling as its only hints, density matching also
# translates words that are spelled differently: most frequent English words find their French translations.
# The paper's loop takes fifteen lines, and they give the same map as the library.
#
# *Reads* the vectors of a pair · *writes* `results/runs/<pair>/<solver>/<seed>/` ·
# *takes* about 30 seconds on two cores, a whole pair about one minute.

# %% tags=["parameters"]
pair = "en-fr"  # a registry pair such as en-ja, or one of the paper such as en-es
solver = "em"  # gradient, identical, procrustes, geomm, or another of demalib.SOLVERS
seed = 0  # seeds sampling and initialisation
recipe = "laptop"  # hyper-parameters, or the paper's loop as paper, script or fixed
ablate = ""  # part of the objective to leave out, density, cycle, identical or prior
max_vocab = 3000  # most frequent words per side, 0 takes all of them
exclude_test = ""  # True leaves test pairs out of the hints; the recipe decides if empty
hints = ""  # what em starts from, identical, numerals, cognates; all of them if empty
last = ""  # how em ends, such as symmetric or free; held-out hints choose if empty
vectors = ""  # registry, or muse for the paper's; those of the pair's preset if empty
english = ""  # other English vectors of the registry, glove or spacy; GoogleNews if empty
lexicons = ""  # dictionaries, bundled or muse, likewise
matmul_dtype = "float32"  # of the loop's large products, or bfloat16, faster on a GPU
folder = ""  # where this run is saved, its own folder in results if empty

# %%
from pathlib import Path

import torch

import demalib
from demalib import LinearFlow, plots, runs
from demalib.alignment import findings
from demalib.device import make_generator
from demalib.evaluation.benchmark import results_table
from demalib.evaluation.translation import by_frequency
from demalib.losses import cosine_loss
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.runs.folder import CHECKPOINT
from demalib.solvers import mixtures

# %%
plots.style()
config = demalib.preset(
    pair, recipe, solver=solver, seed=seed, ablate=ablate, max_vocab=max_vocab,
    exclude_test=exclude_test, hints=hints, last=last, vectors=vectors, english=english,
    lexicons=lexicons, matmul_dtype=matmul_dtype,
)  # fmt: skip
config

# %% [markdown]
# ## The two spaces
#
# Every vector is scaled to unit length, the mean of its language is subtracted, and it is scaled to
# unit length again (Section 5.2). The summary counts the words that the clean-up dropped.

# %%
words, gold = demalib.load_pair(config), demalib.load_gold(config)
print(words.src.summary(), words.tgt.summary(), sep="\n")

# %% tags=["nbval-check-output"]
print(len(words.identical), "identical words:")
print(", ".join(words.src.words[i] for i, _ in words.identical[100:110]))

# %% [markdown]
# ## Find the map and judge it
#
# The solver sees the two spaces and its hint, never the test lexicons in `gold`. `em` alternates between
# two steps: it estimates which word could be which (E-step), then finds the best rotation for that estimate
# (M-step). Meanwhile the Gaussians around the words become narrower. Before all this, a quick trial without
# a fourth of the hints chooses the last step and says whether the alignment will work. At the end, both
# directions are judged.

# %%
folder = Path(folder) if folder else runs.run_dir(config)
checkpoint, known = DiskCheckpoint(folder / CHECKPOINT), runs.known_map(config)
solved = demalib.solve_and_judge(words, gold, config, checkpoint, known)
runs.save_run(folder, solved)
print(f"solved in {solved.metrics['seconds']:.1f} s")
for name, fact in findings(solved.mapping).items():
    print(f"{name}: {fact}")

# %%
if len(solved.mapping.history):
    plots.history(solved.mapping.history)

# %% [markdown]
# **See:** the solver's own record. It knows no translations; what it can observe is the number of
# candidates per word, the variance that goes with it, and how close the pairs of its own dictionary are.
#
# Now the test results. Every query counts once, and any of its translations is accepted. The copy baseline
# answers with the query itself, so what it gets right says nothing about the map. Coverage is the share of
# test queries inside the vocabularies.

# %%
figures = solved.metrics["results"]
results_table(figures)

# %%
axes = plots.precision(figures)
axes.figure.savefig(folder / "precision.png")

# %% [markdown]
# **See:** the distance from the dashed line is what the map has really translated. Where intervals overlap
# this much, the figure cannot say which metric is better. To check the claim, we count only the queries
# whose translation is spelled differently:

# %%
others = {name: by_metric["csls"]["p@1_not_identical"] for name, by_metric in figures.items()}
print(", ".join(f"{name} {share:.0%}" for name, share in others.items()))
assert min(others.values()) > 0.5 or config != demalib.preset("en-fr", max_vocab=3000)

# %%
frames = {name: by_frequency(frames["csls"]) for name, frames in solved.judged.items()}
axes = plots.by_frequency(frames)
axes.figure.savefig(folder / "by_frequency.png")

# %% [markdown]
# **See:** precision by frequency; the intervals of the two bins overlap. With `max_vocab = 0` there are
# four bins, and precision falls from each to the next: vectors of rare words are less reliable.

# %%
for word in ("city", "music", "winter", "doctor"):
    best = ["(unknown)"]
    if words.src.knows(word):
        best = demalib.translate(solved.mapping, words, word, k=3)["translation"]
    print(word, "→", ", ".join(best))

# %% [markdown]
# ## The loop, written out
#
# `em` is a close relative of the paper's method. Here is the paper's own loop, with nothing hidden: draw
# 512 points from each language, map them, ask the other language how likely they are there, and let Adam
# update both maps. `WordMixture` is a language as a density, `LinearFlow` an invertible map (01 draws
# both), and the loss is Eq. 11 of Zhou et al. (2019), with weights for a short run:
#
# $$-(\mathcal{L}_{xy} + \mathcal{L}_{yx}) + \tfrac12 \mathcal{L}_{bt} + 60\, \mathcal{L}_{sup}.$$

# %%
loop_steps = 40  # whole pairs leave the loop out
plain = config.replace(solver="gradient", ablate="prior", sampling="frequency", steps=loop_steps)
plain = plain.replace(anneal=False, components=10_000)  # the paper's loop, from a random start
draw = make_generator(seed, words.x.device)
steps = range(loop_steps if max_vocab and len(words.identical) else 0)
there, back = (LinearFlow(words.src.dim, draw).to(words.x) for _ in range(2))
adam = torch.optim.Adam([there.W, back.W], betas=(0.9, 0.98))
src_words, tgt_words = mixtures(words, plain)
v_x, v_y = words.hint(plain) if steps else (words.x, words.y)

# %%
for step in steps:
    x, y = src_words.sample(512, draw), tgt_words.sample(512, draw)
    L_xy = tgt_words.log_prob(there(x)).mean() + there.log_abs_det()
    L_yx = src_words.log_prob(back(y)).mean() + back.log_abs_det()
    L_bt = cosine_loss(back(there(x)), x).mean() + cosine_loss(there(back(y)), y).mean()
    L_sup = (cosine_loss(there(v_x), v_y) + cosine_loss(back(v_y), v_x)).mean()
    loss = -(L_xy + L_yx) + 0.5 * L_bt + 60 * L_sup
    adam.param_groups[0]["lr"] = plain.gradient.learning_rate(step)  # up, then down to zero
    adam.zero_grad()
    loss.backward()
    adam.step()
    if step % 10 == 0:
        parts = {"L_xy": L_xy, "L_yx": L_yx, "L_bt": L_bt, "L_sup": L_sup}
        print(step, ", ".join(f"{name} {part.item():.2f}" for name, part in parts.items()))

# %% [markdown]
# **See:** the two losses fall from the first step. At first the likelihoods fall too, because the identical
# words pull hard; then they recover. With the same settings (points drawn by frequency, no rank prior), the
# library's `gradient` solver draws the same points and takes the same steps:

# %%
if steps:
    same = demalib.align(words, plain)
    apart = float((same.W_xy - there.W.detach().cpu()).abs().max())
    print(
        f"largest difference of two entries: {apart:.1e}, of entries up to {same.W_xy.abs().max():.2f}"
    )
    assert apart < 1e-4

# %% [markdown]
# Forty steps are too few for a good map. The paper takes 150,000; `gradient` begins with wide Gaussians
# (`anneal`), so that it needs fewer. The library adds the rank prior, a checkpoint and a choice of the best
# step. 03 shows why EM needs only fifteen rounds.
#
# **Try next:** `pair = "en-ja"` with `max_vocab = 0`, where 112 identical words are hardly a hint;
# `solver = "em+lexicon"`, which learns from a dictionary as well; `ablate = "density"`.
#
# ## Exercises
#
# 1. *Predict.* In the loop, set the weight of `L_sup` to zero. Which of the four numbers still rises or
#    falls as before, and will even one word be translated? Guess, then run the cell.
# 2. *Change.* Draw words evenly instead of by frequency: `src_words.sample_ranks(512, draw, uniform=True)`,
#    then `sample_around`. Does the map get better or worse in forty steps?
# 3. *Build.* Put the rank prior back in: keep the ranks of the words that you draw, and give them to
#    `log_prob`. Then compare with `align` without `ablate`.
#
# Solutions: [solutions/02_train](solutions/02_train.ipynb).
