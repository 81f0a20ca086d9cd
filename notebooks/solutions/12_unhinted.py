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
# # Solutions to 12 · When does it work without a hint?
#
# The exercises are at the end of [12_unhinted](../12_unhinted.ipynb). Here each language has 1,000 words.

# %%
import torch
from torch.nn.functional import normalize

import demalib
from demalib import Embedding, make_pair
from demalib.baselines.selflearn import start_dictionary, stochastic_dictionary
from demalib.device import make_generator
from demalib.embedding import Policy
from demalib.evaluation.translation import check_pairs
from demalib.flow import random_orthogonal
from demalib.hints import Lexicon
from demalib.pair import retrievers

config = demalib.preset("en-fr", max_vocab=1000)
words, gold = demalib.load_pair(config), demalib.load_gold(config).forward


# %%
def share(found, pair, truth):
    """Share of the judged pairs of a dictionary that are right."""
    right, judged = check_pairs(found.cpu(), pair.src, pair.tgt, truth)
    return right / judged


# %% [markdown]
# ## 1. Predict: more noise

# %%
same, copies, hits = Lexicon([(word, word) for word in words.src.words]), {}, {}
for noise in (0.1, 0.3, 0.5, 1.0):
    generator = make_generator(0, words.x.device)
    turned = words.x @ random_orthogonal(words.src.dim, generator)
    blur = torch.randn(turned.shape, generator=generator, device=turned.device)
    turned = turned + noise * blur / words.src.dim**0.5
    copy = make_pair(words.src, Embedding(words.src.words, turned.cpu().numpy(), "copy"))
    copies[noise], hits[noise] = copy, share(start_dictionary(copy, config.knn), copy, same)
print({noise: f"{hit:.1%}" for noise, hit in hits.items()})
assert hits[0.1] > 0.99 and hits[0.3] > 0.5 > hits[0.5] and hits[1.0] < 0.05

# %% [markdown]
# The profiles fail early: at half a word's length of noise most words are lost, and at a whole length nearly
# all of them, as in another language.
#
# ## 2. Change: another program instead of another language

# %%
old, new = (demalib.load_vectors(name, Policy(max_vocab=1000)) for name in ("en", "en-glove"))
models = make_pair(old, new)
both = Lexicon([(word, word) for word in old.words if word in new.index])
start = share(start_dictionary(models, config.knn), models, both)
french = share(start_dictionary(words, config.knn), words, gold)
print(f"profiles: {french:.1%} right in French, {start:.1%} in another model of English")
retriever, _ = retrievers(demalib.align(models, config.replace(hints="none")), models)
best = (retriever.mapped @ retriever.targets.T).argmax(1)
end = share(torch.stack([torch.arange(len(best)).to(best), best], 1), models, both)
print(f"`em` without a hint, in another model of English: {end:.1%} right")
assert start < 0.05 and end > 0.9

# %% [markdown]
# It is the program: in another model of the same language the profiles find as little as in French. Yet
# `em`, which starts from the shapes too, finds nearly every word. It does not trust one best match per word:
# every word keeps hundreds of candidates, and the right ones add up while the wrong ones cancel. So a poor
# start need not be a bad end.
#
# ## 3. Build: profiles of near neighbours

# %%
table = {}
for k in (10, 50, 200):
    for name, pair, truth in (("copy", copies[0.3], same), ("en-fr", words, gold)):
        tops = [(v @ v.T).topk(k + 1, dim=1).values[:, 1:] for v in (pair.x, pair.y)]
        src, tgt = (normalize(top - top.mean(dim=0), dim=1) for top in tops)
        table[name, k] = share(stochastic_dictionary(src, tgt, 1.0, config.knn)[0], pair, truth)
print({f"{name}, {k}": f"{hit:.1%}" for (name, k), hit in table.items()})
print(f"all similarities: copy {hits[0.3]:.1%}, en-fr {french:.1%}")
assert table["copy", 10] < table["copy", 50] < hits[0.3] < table["copy", 200]
assert max(table["en-fr", k] for k in (10, 50, 200)) < 0.05

# %% [markdown]
# Ten neighbours are too few to know most words by. With 200, even these plain profiles find at least as many
# words of the copy as the library's, which use all similarities. In French no profile helps.
