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
# translates words that are spelled differently: most of the frequent English words find their
# French translations.
#
# *Reads* the vectors of a pair · *writes* `results/runs/<pair>/<solver>/<seed>/` ·
# *takes* about 15 seconds on two cores, a whole pair about one minute.

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

import demalib
from demalib import plots, runs
from demalib.alignment import findings
from demalib.evaluation.benchmark import results_table
from demalib.evaluation.translation import by_frequency
from demalib.runs.checkpoint import DiskCheckpoint
from demalib.runs.folder import CHECKPOINT

plots.style()

# %%
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
# The solver sees the two spaces and its hint, never the test lexicons in `gold`. `em` alternates
# between two steps: which word could be which (E-step), and the best rotation for that (M-step).
# Meanwhile the Gaussians around the words become narrower. Before that, a quick trial without a
# fourth of the hints chooses the last step and says whether the alignment will work. Then both
# directions are judged.

# %%
folder = Path(folder) if folder else runs.run_dir(config)
solved = demalib.solve_and_judge(words, gold, config, DiskCheckpoint(folder / CHECKPOINT))
runs.save_run(folder, solved)
print(f"solved in {solved.metrics['seconds']:.1f} s")
for name, fact in findings(solved.mapping).items():
    print(f"{name}: {fact}")

# %%
if len(solved.mapping.history):
    plots.history(solved.mapping.history)

# %% [markdown]
# **See:** the solver's own record. It knows no translations; what it can observe is the number
# of candidates per word, the variance that goes with it, and how close the words of its own
# dictionary are.
#
# The test results: every query counts once, and any of its translations is accepted. The copy
# baseline answers with the query itself, so what it gets right says nothing about the map. Coverage
# is the share of test queries inside the vocabularies.

# %%
figures = solved.metrics["results"]
results_table(figures)

# %%
axes = plots.precision(figures)
axes.figure.savefig(folder / "precision.png")

# %% [markdown]
# **See:** the distance from the dashed line is what the map has really translated. Where intervals
# overlap this much, the figure cannot say which metric is better. The claim, on queries whose
# translation is a different string:

# %%
others = {name: by_metric["csls"]["p@1_not_identical"] for name, by_metric in figures.items()}
print(", ".join(f"{name} {share:.0%}" for name, share in others.items()))
assert min(others.values()) > 0.5 or config != demalib.preset("en-fr", max_vocab=3000)

# %%
frames = {name: by_frequency(frames["csls"]) for name, frames in solved.judged.items()}
axes = plots.by_frequency(frames)
axes.figure.savefig(folder / "by_frequency.png")

# %% [markdown]
# **See:** precision by frequency; the intervals of the two bins overlap. With `max_vocab = 0` there
# are four bins, and precision falls from each to the next: vectors of rare words are less certain.

# %%
for word in ("city", "music", "winter", "doctor"):
    best = ["(unknown)"]
    if words.src.knows(word):
        best = demalib.translate(solved.mapping, words, word, k=3)["translation"]
    print(word, "→", ", ".join(best))

# %% [markdown]
# **Try next:** `pair = "en-ja"` with `max_vocab = 0`, where 112 identical words are hardly a hint;
# `solver = "em+lexicon"`, which learns from a dictionary as well; `ablate = "density"`.
