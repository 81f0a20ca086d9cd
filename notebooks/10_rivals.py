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
# translations in all twelve directions. Between English and French it is level with the best systems
# that learn from a dictionary; between Japanese and Russian it finds hardly any, and no other system
# without a dictionary finds more.
#
# Papers usually copy each other's numbers. Here all systems get the same vectors, the same hint where
# they use the same kind, the same test words and the same evaluation. *Reads* `results/runs/` and the
# vectors of a pair · *writes* `results/tables/rivals.csv` and `results/figures/rivals.png` · *takes*
# about 30 seconds on two cores.

# %% tags=["parameters"]
pairs = ["en-fr", "en-ja", "en-ru", "fr-ja", "fr-ru", "ja-ru"]  # pairs of the table
pair = "en-fr"  # the pair to solve here
systems = [
    "em",
    "identical",
    "procrustes",
    "xing",
    "artetxe16",
    "shigeto",
    "msf",
]  # systems to solve it with
max_vocab = 3000  # most frequent words per side for that pair, 0 takes all of them
write = True  # update the table and the figure, unless numbers would be lost

# %%
import pandas as pd

import demalib
from demalib import plots, runs
from demalib.evaluation import tables
from demalib.evaluation.translation import paired_bootstrap

plots.style()

# %% [markdown]
# ## Some of them, here and now
#
# The quick systems on the most frequent words. A system is a function
# `fit(pair, config) -> Mapping`; the normalisation and the retrieval that its paper uses are in
# `demalib.SOLVERS`. Everything else is shared.

# %%
judged = {}
for name in systems:
    config = demalib.preset(pair, solver=name, max_vocab=max_vocab)
    words, gold = demalib.load_pair(config), demalib.load_gold(config)
    judged[name] = demalib.solve_and_judge(words, gold, config).judged

# %% [markdown]
# Each system's answers are compared with the first system's, query by query: the paired bootstrap
# resamples queries to see how far the difference could move.

# %%
rows, first = [], systems[0]
for name, frames in judged.items():
    for direction, by_metric in frames.items():
        ours, base = by_metric["csls"], judged[first][direction]["csls"]
        gain = paired_bootstrap(ours, base)
        rows.append({"system": name, "direction": direction, "P@1": (ours["position"] <= 1).mean(),
                     "copy": ours["copied"].mean(), f"gain over {first}": gain["difference"],
                     "low": gain["ci95"][0], "high": gain["ci95"][1]})  # fmt: skip
quick = pd.DataFrame(rows).set_index(["system", "direction"])
(100 * quick).round(1).assign(hint=[demalib.SOLVERS[name].hint for name, _ in quick.index])

# %% [markdown]
# **See:** where the interval of the gain includes 0, these test words cannot decide between the two.
# With a cut vocabulary, and the train dictionary cut to it, the levels differ from the table below.
#
# ## All of them, on whole vocabularies
#
# The runs come from one command, which skips finished ones:
#
#     demalib sweep --seeds 0 --solvers all --scheduler local
#
# Where these runs are not on this machine, the committed table is kept and shown.

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
# **See:** CSLS P@1 in percent with the 95 % interval over queries, grouped by what a system learns
# from. The bundled test words include as many rare words as frequent ones, so these levels are lower
# than those in papers.

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
# **See:** seconds to solve both directions; P@1 under CSLS and under the retrieval of the system's own
# row; the paper's number for it, on its own vectors and test words; and the size of the job, where it
# is smaller here than in the system's paper. Such a system may well do better at its full size.

# %%
axes = plots.rivals(shown)
if outcome == "written":
    plots.save(axes, runs.results_dir() / "figures" / "rivals.png")
plots.Picture(axes)

# %% [markdown]
# **See:** further up is better, further left is faster. Without any hint no system gets off the
# ground: these vectors were trained by different programs on different texts, and the sizes here are
# smaller than published. It is not due to their code: on a rotated copy of the English words with a
# little noise all of them find every word at these sizes (`python -m bench control` in `tests`). Among the systems that
# learn from a dictionary, more time gains little.
#
# ## What each of them assumes
#
# **From identical words**
#
# | system | assumption |
# |---|---|
# | `em`, `gradient` (this paper) | A language is a mixture of Gaussians around its words, and an invertible linear map takes one mixture to the other. Identical words only select one of the many such maps. |
# | `identical` (Søgaard et al. 2018) | Identical words are mostly translations, enough for a first rotation. Mutual nearest neighbours under it are even better ones. |
# | `sl-unsup-id` (Artetxe et al. 2018b) | As `identical`; but the dictionary is drawn at random at first, so that errors do not settle. At the end, directions that agree across languages count more. |
#
# **From nothing**
#
# | system | assumption |
# |---|---|
# | `sl-unsup` (Artetxe et al. 2018b) | A word and its translation have the same distribution of similarities within their own languages. That is enough for a start, and self-learning does the rest. |
# | `muse` (Conneau et al. 2018) | One rotation makes the two clouds so similar that a classifier cannot distinguish them. Adversarial training finds it. |
# | `sinkhorn` (Xu et al. 2018) | Translations are what optimal transport pairs up between the mapped cloud and the other. A map and its transpose undo each other. |
# | `non-adv`, `non-adv-r` (Hoshen and Wolf 2018) | The principal axes of two languages agree up to their signs. From there, matching nearest points and fitting a map to the matches converges. |
# | `ws-procrustes` (Grave et al. 2018) | The words of one language, rotated, are those of the other in another order. A convex relaxation finds an order that is good enough to start from. |
#
# **From a dictionary**
#
# | system | assumption |
# |---|---|
# | `procrustes`, `procrustes-r` (Conneau et al. 2018) | Two languages differ by a rotation only. With refinement, its own best guesses are a better dictionary than the given one. |
# | `xing` (Xing et al. 2015) | Words have length one, so the map should be a rotation. Nearest neighbours are translations. |
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
# **Try next:** `systems = ["em", "geomm", "rcsls", "sl-unsup-id"]`; `pair = "en-ja"` with
# `max_vocab = 0`, where identical words are hardly a hint; your own vectors with `demalib align --solver geomm`.
