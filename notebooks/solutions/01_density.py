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
# # Solutions to 01 · Densities in the plane
#
# The exercises are at the end of [01_density](../01_density.ipynb).

# %%
import pandas as pd
import torch

from demalib import LinearFlow, WordMixture, make_pair, plots
from demalib.device import make_generator
from demalib.losses import Batch
from demalib.teaching import plane

plots.style()
src, tgt, gold = plane.plane(120, 0.05, 0)
pair = make_pair(src, tgt, normalisation=("center",))
x, y = pair.x.cpu(), pair.y.cpu()

# %% [markdown]
# ## 1. Predict: a mirror image and a shear

# %%
french, fine, step = WordMixture(y, 0.01), plane.grid(6.0, 401), 12 / 400
maps = {
    "mirror": torch.diag(torch.tensor([1.0, -1.0])),
    "shear": torch.tensor([[1.0, 0.5], [0.0, 1.0]]),
}
for name, W in maps.items():
    flow = LinearFlow(2, weight=W).requires_grad_(False)
    mass = french.log_prob(flow(fine)).exp().sum() * step**2 * flow.log_abs_det().exp()
    print(f"{name}: det {float(W.det()):+.0f}, mass {float(mass):.3f}")
    assert abs(float(mass) - 1) < 1e-3

# %% [markdown]
# Both masses are one. The formula takes the absolute value of the determinant: area has no sign. A shear
# keeps areas, so its determinant is one.
#
# ## 2. Change: the temperature of the rank prior

# %%
angles = pd.Index(range(0, 361, 3), name="angle of the map (degrees)")
rotations, losses, gen = (
    [plane.rotation(a) for a in angles],
    pd.DataFrame(index=angles),
    make_generator(0, x.device),
)
for tau in (0.5, 2.0, 10.0):
    english, french = (WordMixture(side, 0.1, tau=tau) for side in (x, y))
    _, points, ranks = Batch.draw(english, 2000, gen)
    losses[f"τ = {tau}"] = plane.landscape(rotations, points, french, ranks)
assert all(plane.degrees_apart(a, 120) < 10 for a in losses.idxmin())
axes = plots.curves(losses - losses.min(), "loss above its lowest (nats)")

# %% [markdown]
# A large τ flattens the prior, as if all words were equally frequent, and false valleys come back. A small
# one is strict about ranks, and the valley becomes deep; but real frequencies differ between corpora, and a
# strict prior would trust them too much.
#
# ## 3. Build: an E-step by hand

# %%
french = WordMixture(y, 0.1)
point, rank = x[:1] @ plane.rotation(120), torch.tensor([1])
logits = french.log_prior(rank) - (point - y).square().sum(1) / (2 * 0.1)
shares = torch.softmax(logits, dim=1)
mean = shares @ y
found = french.posterior(point, rank).mean
print(
    src.words[0],
    "→",
    ", ".join(f"{tgt.words[j]} {float(shares[0, j]):.2f}" for j in shares[0].topk(3).indices),
)
assert torch.allclose(mean, found, atol=1e-4)
