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
# # 10 · Every system of the tables, side by side
#
# **Claim.** Of the systems that need no dictionary, density matching by `em` finds the most
# translations in all twelve directions, between English and French as many as the best that learn
# from one, and between Japanese and Russian hardly any, as all of them.
#
# Each paper copies the others' numbers. Here all systems get the same vectors, the same hint of
# their kind, the same test words and the same evaluation. *Reads* `results/runs/` and the vectors of
# a pair · *writes* `results/tables/rivals.csv` and `results/figures/rivals.png` · *takes* about
# 55 seconds on two cores.

# %% tags=["parameters"]
pairs = ["en-fr", "en-ja", "en-ru", "fr-ja", "fr-ru", "ja-ru"]  # pairs of the table
pair = "en-fr"  # the pair that is solved here
systems = ["em", "identical", "procrustes", "xing", "artetxe16", "shigeto", "msf"]  # solved here
max_vocab = 5000  # most frequent words per side that are used for it
write = True  # keep the table and the figure, unless that would lose figures

# %%
import time

import pandas as pd

import demalib
from demalib import evaluate, plots, runs, tables

plots.style()

# %% [markdown]
# ## Some of them, here and now
#
# The quick systems on the most frequent words. A system is a function
# `fit(pair, config) -> Mapping`; what its paper asks for around it, the normalisation and the
# retrieval, is in `demalib.SOLVERS`. Everything else is shared.

# %%
judged, seconds = {}, {}
for name in systems:
    config = demalib.preset(pair, solver=name, max_vocab=max_vocab)
    words = demalib.load_pair(config)
    started = time.perf_counter()
    mapping = demalib.align(words, config)
    seconds[name] = time.perf_counter() - started
    gold, ways = demalib.load_gold(config), demalib.retrievers(mapping, words, config.knn)
    judged[name] = demalib.evaluate(ways, words, gold, config, ("csls",))

# %% [markdown]
# The first system's answers are compared with each of the others', query by query: the paired
# bootstrap resamples queries and asks how far the difference could move.

# %%
rows, first = [], systems[0]
for name, frames in judged.items():
    for way, by_metric in frames.items():
        here, there = by_metric["csls"], judged[first][way]["csls"]
        gain = evaluate.paired_bootstrap(here, there)
        rows.append({"system": name, "direction": way, "P@1": (here["position"] <= 1).mean(),
                     "copy": here["copied"].mean(), f"gain over {first}": gain["difference"],
                     "low": gain["ci95"][0], "high": gain["ci95"][1]})  # fmt: skip
quick = pd.DataFrame(rows).set_index(["system", "direction"])
(100 * quick).round(1).assign(hint=[demalib.SOLVERS[name].hint for name, _ in quick.index])

# %% [markdown]
# **See:** an interval of the gain that holds 0 means that these test words cannot tell the two
# apart. With a cut vocabulary and a dictionary cut with it the levels are not those of the table
# below.
#
# ## All of them, on whole vocabularies
#
# The runs come from one command, which skips what is finished:
#
#     demalib sweep --seeds 0 --solvers all --scheduler local

# %%
table = tables.rivals(pairs)
outcome = tables.write_table("rivals", table) if write else "not written"
print(f"results/tables/rivals.csv {outcome}")
table = pd.read_csv(runs.results_dir() / "tables" / "rivals.csv")

# %%
shown = table.assign(cell=tables.cells(table)).query("pair in @pairs")
wide = shown.pivot(index=["hint", "name"], columns="direction", values="cell")
wide = wide.reindex(columns=shown["direction"].unique())
copy = shown.groupby("direction")["copy"].max().map("{:.1f}".format, na_action="ignore")
wide.loc[("-", "(copy the query)"), :] = copy
wide

# %% [markdown]
# **See:** CSLS P@1 in percent with the 95 % interval over queries, by what a system learns from.
# The bundled test words ask for rare words as often as for frequent ones, so these levels are lower
# than those that papers print.

# %%
gains = shown[shown["gain"].notna() & (shown["name"] != "em")]
text = [f"{g:+.1f} [{low:+.1f}, {high:+.1f}]"
        for g, low, high in gains[["gain", "gain_low", "gain_high"]].to_numpy()]  # fmt: skip
wide = gains.assign(cell=text).pivot(index=["hint", "name"], columns="direction", values="cell")
wide.reindex(columns=gains["direction"].unique())

# %% [markdown]
# **See:** points gained over `em` on the same queries, with the interval of the paired bootstrap.
# Below zero: `em` is better.

# %%
columns = ["seconds", "p@1", "own", "own_p@1", "paper", "size"]
shown[shown["direction"] == pair].set_index("name")[columns].round(1)

# %% [markdown]
# **See:** seconds to solve both directions; P@1 under CSLS and under the retrieval that the
# system's own row uses; what the paper prints there, on its own vectors and test words; and the
# size of the job, where that is smaller here than in the system's paper. A system that was given
# less than its paper gives it may well do better there.

# %%
axes = plots.rivals(shown)
if outcome == "written":
    plots.save(axes, runs.results_dir() / "figures" / "rivals.png")
plots.Picture(axes)

# %% [markdown]
# **See:** further up is better, further left is faster. Without any hint none of the systems gets
# going: these vectors were trained by different programs on different texts, and the sizes here are
# smaller than published. On a turned, slightly noised copy of the English words all of them find
# every word at these sizes (`python -m demalib.bench control`), so it is not for their code. Among
# those that learn from a dictionary, time buys little.
#
# ## What each of them assumes
#
# **From words spelled alike**
#
# | system | assumption |
# |---|---|
# | `em`, `gradient` (this paper) | A language is a mixture of Gaussians around its words, and an invertible linear map carries one mixture into the other. Words spelled alike only say which of the many such maps is meant. |
# | `identical` (Søgaard et al. 2018) | Words spelled alike are mostly translations, enough for a first rotation. Mutual nearest neighbours under it are better translations still. |
# | `sl-unsup-id` (Artetxe et al. 2018b) | As `identical`; but the dictionary is drawn at random at first, so that errors do not settle. At the end, directions that agree across languages count more. |
#
# **From nothing**
#
# | system | assumption |
# |---|---|
# | `sl-unsup` (Artetxe et al. 2018b) | A word and its translation have the same distribution of similarities within their own languages. That is enough for a start, and self-learning does the rest. |
# | `muse` (Conneau et al. 2018) | One rotation makes the two clouds so alike that a classifier cannot tell them apart. Training against a classifier finds it. |
# | `sinkhorn` (Xu et al. 2018) | Translations are what optimal transport pairs up between the mapped cloud and the other. A map and its transpose undo each other. |
# | `non-adv`, `non-adv-r` (Hoshen and Wolf 2018) | The principal axes of two languages agree up to their signs. From there, matching nearest points and fitting a map to the matches converges. |
# | `ws-procrustes` (Grave et al. 2018) | The words of one language, rotated, are those of the other in another order. A convex relaxation finds an order that is good enough to start from. |
#
# **From a dictionary**
#
# | system | assumption |
# |---|---|
# | `procrustes`, `procrustes-r` (Conneau et al. 2018) | A rotation is all that is between two languages. With refinement, its own best guesses are a better dictionary than the given one. |
# | `xing` (Xing et al. 2015) | Words have length one, so that a translation is a rotation away. Nearest neighbours are translations. |
# | `artetxe16` (Artetxe et al. 2016) | As `xing`, and two random words should have cosine zero. So the mean of each language is subtracted first. |
# | `artetxe17` (Artetxe et al. 2017) | A small dictionary is right often enough for the neighbours it finds to be a better one. Repeated, this converges. |
# | `shigeto` (Shigeto et al. 2015) | Regression shrinks what it maps, and what is shrunk makes hubs of the others. So map the candidates, not the queries. |
# | `msf`, `msf-isf` (Artetxe et al. 2018a) | Translations correlate in whitened space, more in some directions than in others. What correlates little should count little. |
# | `rcsls` (Joulin et al. 2018) | The dictionary is large enough for a map without constraints. The loss to minimise is the retrieval criterion itself. |
# | `geomm` (Jawanpuria et al. 2019) | Both languages are rotated into a common space with a metric of its own. All pairs of its words that a dictionary does not list are wrong. |

# %% [markdown]
# The claim, checked:

# %%
free = shown[(shown["hint"] != "train") & (shown["seeds"] > 0)]
best = free.loc[free.groupby("direction")["p@1"].idxmax()].set_index("direction")["name"]
print(best.to_string())
assert set(best) == {"em"} or "em" not in set(free["name"])

# %% [markdown]
# **Try next:** `systems = ["em", "geomm", "rcsls", "sl-unsup-id"]`; `pair = "en-ja"`, where words
# spelled alike are hardly a hint; your own vectors with `demalib align --solver geomm`.
