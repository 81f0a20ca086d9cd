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
# **Claim.** Hinted only by words spelled alike, density matching translates words that are spelled
# differently: most of the frequent English words find their French ones.
#
# *Reads* the vectors of a pair · *writes* `results/runs/<pair>/<solver>/<seed>/` ·
# *takes* about 20 seconds on two cores, a whole pair about one minute.

# %% tags=["parameters"]
pair = "en-fr"  # a registry pair such as en-ja, or one of the paper such as en-es
solver = "em"  # gradient, identical, procrustes, geomm, or another of demalib.SOLVERS
seed = 0  # seeds sampling and initialisation
recipe = "laptop"  # hyper-parameters, or the paper's loop as paper, script or fixed
ablate = ""  # part of the objective to leave out, density, cycle, identical or prior
max_vocab = 5000  # most frequent words per side, 0 takes all of them
exclude_test = False  # leave identical words of the test lexicon out of the hint
vectors = ""  # registry, or muse for the paper's; what the pair has if empty
lexicons = ""  # dictionaries, bundled or muse, likewise
matmul_dtype = "float32"  # of the loop's large products, or bfloat16, faster on a GPU
folder = ""  # where to keep this run, its own place in results if empty

# %%
import time
from pathlib import Path

import demalib
from demalib import evaluate, plots, runs

plots.style()
config = demalib.preset(
    pair, recipe, solver=solver, seed=seed, ablate=ablate, max_vocab=max_vocab,
    exclude_test=exclude_test, vectors=vectors, lexicons=lexicons,
    matmul_dtype=matmul_dtype,
)  # fmt: skip
config

# %% [markdown]
# ## The two spaces
#
# Every vector is brought to unit length, the mean of its language is subtracted, and it is
# brought to unit length again (Section 5.2). What the clean-up dropped is counted.

# %%
words = demalib.load_pair(config)
print(words.src.summary(), words.tgt.summary(), sep="\n")

# %% tags=["nbval-check-output"]
print(len(words.identical), "identical words:")
print(", ".join(words.src.words[i] for i, _ in words.identical[100:110]))

# %% [markdown]
# ## Find the map
#
# The solver sees the two spaces and its hint. The test lexicons are loaded after it is done.
# `em` alternates between asking which word could be which (E-step) and the best rotation for
# the answers (M-step), while the Gaussians around the words become narrower.

# %%
folder = Path(folder) if folder else runs.run_dir(config)
started = time.perf_counter()
mapping = demalib.align(words, config, folder / runs.CHECKPOINT)
seconds = time.perf_counter() - started
print(f"{seconds:.1f} s")

# %%
if len(mapping.history):
    plots.history(mapping.history)

# %% [markdown]
# **See:** the solver's own record. It knows no translations: what it watches is the likelihood,
# how many candidates a word has, and how close the words of its own dictionary are.
#
# ## Judge it
#
# Every query counts once and any of its translations counts. The copy baseline answers with
# the query itself; what it gets right says nothing about the map. Coverage is the share of
# test queries inside the vocabularies.

# %%
gold = demalib.load_gold(config)
ways = demalib.retrievers(mapping, words, config.knn)
judged = demalib.judge_both(ways, words, gold, config)
figures = demalib.measure(judged, gold)
demalib.results_table(figures)

# %%
runs.save_run(folder, mapping, demalib.record(config, words, gold, figures, seconds), judged)
axes = plots.precision(figures)
axes.figure.savefig(folder / "precision.png")

# %% [markdown]
# **See:** bars far above the dashed line are words that the map has really translated.
# Overlapping intervals mean that the two metrics cannot be told apart here. The claim, on queries
# whose translation is another string:

# %%
others = {way: by_metric["csls"]["p@1_not_identical"] for way, by_metric in figures.items()}
print(", ".join(f"{way} {share:.0%}" for way, share in others.items()))
assert min(others.values()) > 0.5 or config != demalib.preset("en-fr", max_vocab=5000)

# %%
frames = {name: evaluate.by_frequency(frame["csls"]) for name, frame in judged.items()}
axes = plots.by_frequency(frames)
axes.figure.savefig(folder / "by_frequency.png")

# %% [markdown]
# **See:** how far precision falls for rarer words, whose vectors are less certain.

# %% tags=["nbval-check-output"]
sample = ["city", "music", "winter", "doctor"]
for word, row in ((w, words.src.index[w]) for w in sample if w in words.src.index):
    best = ways[0].top(row, demalib.Metric("csls"), k=3)
    print(word, "→", ", ".join(words.tgt.words[column] for column in best))

# %% [markdown]
# **Try next:** `pair = "en-ja"`, where 112 identical words are hardly a hint; `solver =
# "procrustes"`, which learns from a dictionary; `ablate = "density"`.
