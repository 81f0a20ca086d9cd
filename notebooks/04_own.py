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
# # 04 · Your own vectors
#
# **Claim.** You can align two files of English and French vectors whatever else you own: with fifty pairs
# of words, with words of the same spelling, or with nothing but the files, about seven in ten frequent
# words are translated correctly, and the three results differ by less than their intervals.
#
# *Reads* vectors of a pair · *writes* a temporary folder · *takes* about 30 seconds on two cores.

# %% tags=["parameters"]
pair = "en-fr"  # a pair of the registry whose vectors are written to files first
max_vocab = 3000  # most frequent words per side, as many lines in each file
known = 50  # pairs of words in the small dictionary
asked = "winter music doctor church horse"  # words to translate

# %%
import tempfile
from pathlib import Path

import pandas as pd

import demalib
from demalib import plots
from demalib.alignment import findings
from demalib.data.text import write_vec
from demalib.evaluation.benchmark import evaluate, load_embedding_of, make_exclude, summarise
from demalib.hints import Lexicon

plots.style()
benchmark = demalib.preset(pair, max_vocab=max_vocab)
src, tgt = benchmark.langs

# %% [markdown]
# ## Two files
#
# A `.vec` file is text: a line with the number of words and of dimensions, then one word and its numbers
# per line, most frequent word first. Yours may come from fastText, word2vec or GloVe. Here we write two
# such files from the registry's vectors, and from then on pretend to know nothing else about them.

# %%
files = tempfile.TemporaryDirectory()
folder = Path(files.name)
for lang in (src, tgt):
    raw = load_embedding_of(lang, benchmark)
    write_vec(folder / f"news.{lang}.vec", list(raw.words), raw.vectors, digits=4)
for path in sorted(folder.glob("*.vec")):
    with path.open(encoding="utf-8") as lines:
        print(path.name, "·", next(lines).strip(), "·", next(lines)[:40], "...")

# %% [markdown]
# With files of your own, this is where you begin. The language is guessed from the file name.

# %%
english, french = (demalib.read_vectors(folder / f"news.{lang}.vec") for lang in (src, tgt))
print(english, french, sep="\n")

# %% [markdown]
# ## Whatever you own
#
# - **Nothing.** `hints="none"`: the start comes from the shapes of the two spaces alone, that is, from how
#   similar each word is to the others of its own language.
# - **The spelling.** The default: words of the same spelling suggest where to start; some may be wrong.
# - **A few pairs.** The pairs of a `Lexicon` are taken as true. All other words still take part.

# %%
gold = demalib.load_gold(benchmark)  # for judging; its pairs are in no hint
test = make_exclude(gold)
train = demalib.load_pair(benchmark.replace(solver="procrustes")).trained_on()
train = [pair for pair in train.pairs if pair not in set(test.pairs)]
few = Lexicon(train[:: max(1, len(train) // known)][:known])
print(", ".join(f"{a} = {b}" for a, b in few.pairs[:8]), "...")
config = demalib.Config(pair, vectors="files")
owned = {
    "nothing": (demalib.make_pair(english, french, exclude=test), "none"),
    "the spelling": (demalib.make_pair(english, french, exclude=test), "identical"),
    f"{known} pairs": (demalib.make_pair(english, french, few, exclude=test), "none"),
}

# %%
maps, results = {}, {}
for name, (words, hints) in owned.items():
    maps[name] = demalib.align(words, config.replace(hints=hints))
    judged = evaluate(maps[name], words, gold, config)
    results |= {f"{name}, {arrow}": found for arrow, found in summarise(judged, gold).items()}
    print(f"{name}:", findings(maps[name])["did it work"], end="\n\n")

# %% [markdown]
# **See:** the solver itself says whether it worked, by testing on hints that it held out. With no hints and
# so few words there is nothing to hold out, so the verdict stays doubtful, although the test words below
# are translated just as well.

# %%
table = {
    name: {"P@1": 100 * r["csls"]["p@1"], "low": 100 * r["csls"]["ci95"][0],
           "high": 100 * r["csls"]["ci95"][1], "copy": 100 * r["csls"]["copy"]}
    for name, r in results.items()
}  # fmt: skip
table = pd.DataFrame(table).T
table.round(1)

# %%
if (pair, max_vocab, known) == ("en-fr", 3000, 50):
    assert (table["P@1"] > 65).all() and table["low"].max() < table["high"].min()

# %% [markdown]
# English and French are close. English and Japanese, or English and Russian, cannot be aligned from nothing:
# there you need the spelling or a few pairs (12 shows how far you get).
#
# ## Use it, keep it, take it elsewhere

# %%
words, _ = owned["the spelling"]
mapping = maps["the spelling"]
best = demalib.translate(mapping, words, [w for w in asked.split() if words.src.knows(w)], k=3)
best.groupby("word", sort=False)["translation"].agg(", ".join).to_frame("three best translations")

# %%
demalib.save_alignment(folder / "aligned", mapping, words)
demalib.export_alignment(mapping, words, folder / "aligned", "vec")
print(*sorted(path.name for path in (folder / "aligned").iterdir()), sep="\n")

# %% [markdown]
# The exported files put both languages in one space, for any program that reads vectors. A word is close to
# its translation in the other language:

# %% tags=["nbval-check-output"]
again, shared = demalib.load_alignment(folder / "aligned")
same = demalib.translate(again, shared, "winter", k=1)["translation"].iloc[0]
lines = (folder / "aligned" / f"{src}.aligned.vec").read_text(encoding="utf-8").splitlines()
print("winter →", same, "·", lines[0])
files.cleanup()

# %% [markdown]
# From the command line this takes three lines; see [your own vectors](book/vectors.md):
#
#     demalib align --src news.en.vec --tgt news.fr.vec --out aligned
#     demalib translate aligned winter music -k 3
#     demalib export aligned --format vec
#
# **Try next:** your own two files in place of those in `folder`; `known = 10`; `pair = "en-ru"`, where
# "nothing" is not enough. Then 05, more than two languages.
#
# ## Exercises
#
# 1. *Predict.* Spoil the dictionary: pair every word of `few` with the translation of the next one. Will the
#    map be lost, or will the other words outvote fifty wrong pairs? And what will the verdict say?
# 2. *Change.* Shuffle the lines of the French file, so that it is no longer sorted by frequency. What does that
#    cost, and why?
# 3. *Build.* Translate a word that is in neither file: average the vectors of `winter` and `summer`, map the
#    average with `mapping.transform`, and look for the nearest French words.
#
# Solutions: [solutions/04_own](solutions/04_own.ipynb).
