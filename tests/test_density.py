import math

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from demalib.density import (
    log_density,
    posterior,
    rank_log_normalizer,
    rank_log_prior,
    sample_mixture,
    word_weights,
)

VARIANCE = 0.3


def problem(gen, b=5, n=7, d=3):
    """Points, centers and ranks (some beyond the last component)."""
    y = torch.randn(b, d, generator=gen, dtype=torch.float64)
    centers = torch.randn(n, d, generator=gen, dtype=torch.float64)
    return y, centers, torch.randint(1, n + 4, (b,), generator=gen)


def reference(y, centers, log_weights, sigma2):
    """The mixture as torch.distributions has it; ``log_weights`` is (N,) or (B, N)."""
    parts = Independent(Normal(centers, math.sqrt(sigma2)), 1)
    logits = log_weights.expand(len(y), len(centers))
    return MixtureSameFamily(Categorical(logits=logits), parts.expand(logits.shape)).log_prob(y)


def explicit_prior(ranks, n, tau):
    """log pi(y_j | x_i) word by word, as Section 3.3 writes it."""
    rows = []
    for i in ranks.tolist():
        weights = [math.exp(-abs(math.log(j) - math.log(i)) / tau) for j in range(1, n + 1)]
        rows.append([math.log(w / sum(weights)) for w in weights])
    return torch.tensor(rows, dtype=torch.float64)


# ---- sampling


def test_samples_sit_around_their_words(gen):
    centers = 10 * torch.randn(6, 4, generator=gen, dtype=torch.float64)
    points, ranks = sample_mixture(centers, 20_000, 0.25, generator=gen)
    noise = points - centers[ranks - 1]
    assert ranks.min() == 1 and ranks.max() == 6
    torch.testing.assert_close(noise.var(), torch.tensor(0.25).double(), rtol=0.05, atol=0)
    assert noise.mean().abs() < 0.01


@pytest.mark.parametrize(
    "weights", [None, word_weights(4), word_weights(4, torch.tensor([1, 0, 2, 5]))]
)
def test_words_come_by_weight(gen, weights):
    _, ranks = sample_mixture(torch.zeros(4, 1), 40_000, 1.0, weights, gen)
    want = torch.full((4,), 0.25).double() if weights is None else weights
    torch.testing.assert_close(
        ranks.bincount(minlength=5)[1:] / 40_000.0, want.float(), atol=0.01, rtol=0
    )


def test_weights_without_counts_follow_zipf():
    want = torch.tensor([6, 3, 2]) / 11
    torch.testing.assert_close(word_weights(3).float(), want)


def test_one_seed_one_sample():
    draws = [
        sample_mixture(torch.ones(9, 2), 5, 1.0, word_weights(9), torch.Generator().manual_seed(3))
        for _ in range(2)
    ]
    assert all(torch.equal(a, b) for a, b in zip(*draws, strict=True))


# ---- the rank prior


@pytest.mark.parametrize("tau", [0.01, 0.5, 2.0, 50.0])
def test_rank_prior_is_the_softmax_of_the_paper(tau):
    ranks = torch.tensor([1, 2, 5, 8, 30])
    log_prior = rank_log_prior(ranks, 8, tau).double()
    torch.testing.assert_close(log_prior.exp().sum(1), torch.ones(5).double(), rtol=1e-5, atol=0)
    if tau > 0.1:
        torch.testing.assert_close(log_prior, explicit_prior(ranks, 8, tau), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tau", [0.001, 0.5, 2.0, 50.0])
def test_normalizer_by_cumulative_sums_is_the_sum(tau):
    ranks = torch.tensor([1, 2, 50, 99, 100, 101, 5000])
    gap = ranks.double().log()[:, None] - torch.arange(1, 101).double().log()
    want = torch.logsumexp(-gap.abs() / tau, 1)
    torch.testing.assert_close(rank_log_normalizer(ranks, 100, tau), want)


# ---- the density


def test_uniform_mixture_is_torch_distributions(gen):
    y, c, _ = problem(gen)
    want = reference(y, c, torch.zeros(7).double(), VARIANCE)
    torch.testing.assert_close(log_density(y, c, VARIANCE), want)


def test_naive_prior_is_torch_distributions(gen):
    y, c, _ = problem(gen)
    counts = torch.tensor([9, 4, 0, 2, 1, 1, 1])
    log_prior = word_weights(7, counts).log()  # -inf for the word never seen
    got = log_density(y, c, VARIANCE, log_prior=log_prior)
    torch.testing.assert_close(got, reference(y, c, log_prior, VARIANCE))


@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_rank_prior_is_torch_distributions(gen, tau):
    y, c, ranks = problem(gen)
    got = log_density(y, c, VARIANCE, ranks=ranks, tau=tau)
    torch.testing.assert_close(got, reference(y, c, explicit_prior(ranks, 7, tau), VARIANCE))


@pytest.mark.parametrize(("b", "n", "d"), [(1, 1, 1), (1, 7, 3), (5, 1, 3), (5, 7, 1), (0, 7, 3)])
def test_degenerate_sizes(gen, b, n, d):
    y, c, ranks = problem(gen, b, n, d)
    got = log_density(y, c, VARIANCE, ranks=ranks)
    assert got.shape == (b,)
    if b:
        torch.testing.assert_close(got, reference(y, c, explicit_prior(ranks, n, 2.0), VARIANCE))


@pytest.mark.parametrize("tile", [(1, 1), (2, 3), (5, 6), (100, 100)])
def test_tiles_do_not_matter(gen, tile):
    y, c, ranks = problem(gen)
    whole = posterior(y, c, VARIANCE, ranks=ranks, entropy=True)
    tiled = posterior(y, c, VARIANCE, ranks=ranks, entropy=True, tile=tile)
    torch.testing.assert_close(tiled, whole)


@pytest.mark.parametrize("prior", ["rank", "naive"])
def test_gradient_is_exact(gen, prior):
    y, c, ranks = problem(gen)
    prior = {"ranks": ranks} if prior == "rank" else {"log_prior": word_weights(7).log()}
    y.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda y: log_density(y, c, VARIANCE, **prior, tile=(2, 3)), (y,), atol=1e-7
    )


def test_rotating_both_spaces_changes_nothing(gen):
    y, c, ranks = problem(gen)
    rotation = torch.linalg.qr(torch.randn(3, 3, generator=gen, dtype=torch.float64)).Q
    turned = posterior(y @ rotation, c @ rotation, VARIANCE, ranks=ranks)
    straight = posterior(y, c, VARIANCE, ranks=ranks)
    torch.testing.assert_close(turned.log_density, straight.log_density)
    torch.testing.assert_close(turned.mean, straight.mean @ rotation)


def test_density_integrates_to_one():
    grid = torch.linspace(-15, 15, 30_001, dtype=torch.float64)[:, None]
    centers = torch.tensor([[-2.0], [0.5], [1.0]], dtype=torch.float64)
    ranks = torch.full((len(grid),), 2)
    density = log_density(grid, centers, VARIANCE, ranks=ranks).exp()
    assert torch.trapezoid(density, grid[:, 0]).item() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("far", [1.0, 1.7, 30.0])
@pytest.mark.parametrize("tile", [(64, 16), (64, 300)])
def test_far_off_points_stay_exact(gen, far, tile):
    """Logits that differ by thousands of nats, best component last: no overflow, no zero sum."""
    c = torch.nn.functional.normalize(torch.randn(300, 50, generator=gen, dtype=torch.float64))
    noise = torch.nn.functional.normalize(torch.randn(64, 50, generator=gen, dtype=torch.float64))
    y, ranks = c[-64:] + far * noise, torch.arange(237, 301)
    want = reference(y, c, rank_log_prior(ranks, 300).double(), 0.001)
    got = log_density(y, c, 0.001, ranks=ranks, tile=tile)
    torch.testing.assert_close(got, want, rtol=1e-7, atol=1e-5)
    single = log_density(y.float(), c.float(), 0.001, ranks=ranks, tile=tile)
    torch.testing.assert_close(single.double(), want, rtol=1e-6, atol=2e-3)


def test_all_logits_may_be_far_below_zero(gen):
    """Long centers around a short point; and a first tile whose words have no weight at all."""
    y, c, _ = problem(gen)
    c = 50 * c
    log_prior = word_weights(7, torch.tensor([0, 0, 0, 0, 1, 2, 3])).log()
    got = log_density(y, c, 0.01, log_prior=log_prior, tile=(5, 2))
    torch.testing.assert_close(got, reference(y, c, log_prior, 0.01))


def test_float32_follows_float64(gen):
    y, c, ranks = problem(gen, 40, 500, 30)
    y, c = y / 5, c / 5
    exact = posterior(y, c, 0.05, ranks=ranks, entropy=True)
    single = posterior(y.float(), c.float(), 0.05, ranks=ranks, entropy=True)
    assert single.log_density.dtype == torch.float32
    for a, b in zip(single, exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


def test_rounded_products_are_close_and_used(gen):
    y, c, ranks = problem(gen, 40, 500, 30)
    y, c = (y / 5).float(), (c / 5).float()
    exact = posterior(y, c, 0.05, ranks=ranks)
    rounded = posterior(y, c, 0.05, ranks=ranks, matmul_dtype=torch.bfloat16)
    assert not torch.equal(exact.log_density, rounded.log_density)
    torch.testing.assert_close(rounded.log_density, exact.log_density, rtol=0, atol=0.2)
    torch.testing.assert_close(rounded.mean, exact.mean, rtol=0, atol=0.05)


# ---- the posterior


def test_posterior_is_the_softmax_of_the_e_step(gen):
    """On unit centers only the dot product matters; entropy counts the candidates."""
    y, c, ranks = problem(gen)
    c = torch.nn.functional.normalize(c)
    r = (y @ c.T / VARIANCE + explicit_prior(ranks, 7, 2.0)).softmax(1)
    got = posterior(y, c, VARIANCE, ranks=ranks, entropy=True, tile=(2, 2))
    torch.testing.assert_close(got.mean, r @ c)
    torch.testing.assert_close(got.candidates, Categorical(r).entropy().exp())


def test_posterior_knows_an_obvious_answer():
    c = torch.eye(4, dtype=torch.float64)
    got = posterior(c, c, 1e-3, entropy=True)
    torch.testing.assert_close(got.mean, c)
    torch.testing.assert_close(got.candidates, torch.ones(4).double())


# ---- what it costs, and what it refuses


def test_nothing_of_size_b_by_n_is_kept(gen):
    y, c, ranks = problem(gen, 50, 400, 4)
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.append(t.numel()) or t, lambda t: t
    ):
        log_density(y.requires_grad_(), c, VARIANCE, ranks=ranks)
    assert sizes and max(sizes) <= y.numel()


def test_nothing_of_size_b_by_n_is_made(gen):
    y, c, ranks = problem(gen, 50, 400, 4)
    sizes = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            sizes.extend(
                t.numel() for t in torch.utils._pytree.tree_leaves(out) if torch.is_tensor(t)
            )
            return out

    with Watch():
        log_density(y.requires_grad_(), c, VARIANCE, ranks=ranks, tile=(10, 20)).sum().backward()
    assert sizes and max(sizes) <= c.numel()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": torch.zeros(5, 2).double()}, "same d"),
        ({"y": torch.zeros(3).double()}, "same d"),
        ({"y": torch.zeros(5, 3)}, "share a dtype"),
        ({"centers": torch.zeros(7, 3).double().requires_grad_()}, "no gradient"),
        ({"centers": torch.zeros(0, 3).double()}, "need a center"),
        ({"sigma2": 0.0}, "sigma2 > 0"),
        ({"sigma2": math.nan}, "sigma2 > 0"),
        ({"tau": 0.0}, "tau > 0"),
        ({"ranks": torch.ones(4).long()}, "ranks must have shape"),
        ({"ranks": torch.arange(5)}, "start at 1"),
        ({"ranks": torch.ones(5)}, "whole numbers"),
        ({"ranks": None, "log_prior": torch.zeros(5)}, "log_prior must have shape"),
        ({"log_prior": torch.zeros(7)}, "not both"),
    ],
)
def test_errors_say_what_is_wrong(gen, change, message):
    y, c, ranks = problem(gen)
    good = {"y": y, "centers": c, "sigma2": VARIANCE, "ranks": ranks}
    with pytest.raises(ValueError, match=message):
        log_density(**(good | change))


def test_sampling_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="counts must hold 3"):
        word_weights(3, torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="one per center"):
        sample_mixture(torch.zeros(4, 2), 5, 1.0, torch.ones(3))
    with pytest.raises(ValueError, match="sigma2 is a variance"):
        sample_mixture(torch.zeros(4, 2), 5, -1.0)
