import math

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from demalib.mixture import WordMixture, word_weights

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
    words = WordMixture(10 * torch.randn(6, 4, generator=gen, dtype=torch.float64), 0.25)
    ranks = words.sample_ranks(20_000, gen)
    noise = words.sample_around(ranks, gen) - words.centers[ranks - 1]
    assert ranks.min() == 1 and ranks.max() == 6
    torch.testing.assert_close(noise.var(), torch.tensor(0.25).double(), rtol=0.05, atol=0)
    assert noise.mean().abs() < 0.01


@pytest.mark.parametrize("counts", [None, torch.ones(4), torch.tensor([1, 0, 2, 5])])
@pytest.mark.parametrize("uniform", [False, True])
def test_words_come_by_weight(gen, counts, uniform):
    ranks = WordMixture(torch.zeros(4, 1), 1.0, counts).sample_ranks(40_000, gen, uniform)
    want = torch.full((4,), 0.25) if uniform else word_weights(4, counts).float()
    torch.testing.assert_close(ranks.bincount(minlength=5)[1:] / 40_000.0, want, atol=0.01, rtol=0)


def test_weights_without_counts_follow_zipf():
    want = torch.tensor([6, 3, 2]) / 11
    torch.testing.assert_close(word_weights(3).float(), want)


def test_one_seed_one_sample():
    words = WordMixture(torch.ones(9, 2), 1.0)
    first, again = (words.sample(5, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again) and not torch.equal(first, words.sample(5))


def test_samples_may_have_a_variance_of_their_own(gen):
    words = WordMixture(torch.zeros(1, 2), 4.0, noise=0.0)
    assert torch.equal(words.sample(5, gen), torch.zeros(5, 2))


def test_samples_fit_their_own_mixture_best(gen):
    """Gibbs: no other variance explains samples better than the one they were drawn with."""
    centers = torch.randn(5, 3, generator=gen, dtype=torch.float64)
    points = WordMixture(centers, VARIANCE).sample(20_000, gen)
    wider, true, narrower = (
        float(WordMixture(centers, s * VARIANCE).log_prob(points).mean()) for s in (1.3, 1.0, 0.7)
    )
    assert true > wider and true > narrower


# ---- the rank prior


@pytest.mark.parametrize("tau", [0.01, 0.5, 2.0, 50.0])
def test_rank_prior_is_the_softmax_of_the_paper(tau):
    ranks = torch.tensor([1, 2, 5, 8, 30])
    log_prior = WordMixture(torch.zeros(8, 1).double(), 1.0, tau=tau).log_prior(ranks)
    torch.testing.assert_close(log_prior.exp().sum(1), torch.ones(5).double(), rtol=1e-5, atol=0)
    if tau > 0.1:
        torch.testing.assert_close(log_prior, explicit_prior(ranks, 8, tau), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tau", [0.001, 0.5, 2.0, 50.0])
def test_normalizer_by_cumulative_sums_is_the_sum(tau):
    ranks = torch.tensor([1, 2, 50, 99, 100, 101, 5000])
    gap = ranks.double().log()[:, None] - torch.arange(1, 101).double().log()
    want = torch.logsumexp(-gap.abs() / tau, 1)
    words = WordMixture(torch.zeros(100, 1), 1.0, tau=tau)
    torch.testing.assert_close(words._rank_log_normalizer(ranks), want)


# ---- the density


def test_uniform_mixture_is_torch_distributions(gen):
    y, c, _ = problem(gen)
    want = reference(y, c, torch.zeros(7).double(), VARIANCE)
    got = WordMixture(c, VARIANCE, torch.ones(7)).log_prob(y)
    torch.testing.assert_close(got, want)


def test_naive_prior_is_torch_distributions(gen):
    y, c, _ = problem(gen)
    counts = torch.tensor([9, 4, 0, 2, 1, 1, 1])
    words = WordMixture(c, VARIANCE, counts)
    want = reference(y, c, words.log_prior(), VARIANCE)  # -inf for the word never seen
    torch.testing.assert_close(words.log_prob(y), want)


@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_rank_prior_is_torch_distributions(gen, tau):
    y, c, ranks = problem(gen)
    got = WordMixture(c, VARIANCE, tau=tau).log_prob(y, ranks)
    torch.testing.assert_close(got, reference(y, c, explicit_prior(ranks, 7, tau), VARIANCE))


@pytest.mark.parametrize(("b", "n", "d"), [(1, 1, 1), (1, 7, 3), (5, 1, 3), (5, 7, 1), (0, 7, 3)])
def test_degenerate_sizes(gen, b, n, d):
    y, c, ranks = problem(gen, b, n, d)
    got = WordMixture(c, VARIANCE).log_prob(y, ranks)
    assert got.shape == (b,)
    if b:
        torch.testing.assert_close(got, reference(y, c, explicit_prior(ranks, n, 2.0), VARIANCE))


@pytest.mark.parametrize("tile", [(1, 1), (2, 3), (5, 6), (100, 100)])
def test_tiles_do_not_matter(gen, tile):
    y, c, ranks = problem(gen)
    whole = WordMixture(c, VARIANCE).posterior(y, ranks, entropy=True)
    tiled = WordMixture(c, VARIANCE).posterior(y, ranks, entropy=True, tile=tile)
    torch.testing.assert_close(tiled, whole)


@pytest.mark.parametrize("prior", ["rank", "naive"])
def test_gradient_is_exact(gen, prior):
    y, c, ranks = problem(gen)
    words, ranks = WordMixture(c, VARIANCE), ranks if prior == "rank" else None
    assert torch.autograd.gradcheck(
        lambda y: words.log_prob(y, ranks, tile=(2, 3)), (y.requires_grad_(),), atol=1e-7
    )


def test_rotating_both_spaces_changes_nothing(gen):
    y, c, ranks = problem(gen)
    rotation = torch.linalg.qr(torch.randn(3, 3, generator=gen, dtype=torch.float64)).Q
    turned = WordMixture(c @ rotation, VARIANCE).posterior(y @ rotation, ranks)
    straight = WordMixture(c, VARIANCE).posterior(y, ranks)
    torch.testing.assert_close(turned.log_prob, straight.log_prob)
    torch.testing.assert_close(turned.mean, straight.mean @ rotation)


def test_density_integrates_to_one():
    grid = torch.linspace(-15, 15, 30_001, dtype=torch.float64)[:, None]
    centers = torch.tensor([[-2.0], [0.5], [1.0]], dtype=torch.float64)
    ranks = torch.full((len(grid),), 2)
    density = WordMixture(centers, VARIANCE).log_prob(grid, ranks).exp()
    assert torch.trapezoid(density, grid[:, 0]).item() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("far", [1.0, 1.7, 30.0])
@pytest.mark.parametrize("tile", [(64, 16), (64, 300)])
def test_far_off_points_stay_exact(gen, far, tile):
    """Logits that differ by thousands of nats, best component last: no overflow, no zero sum."""
    c = torch.nn.functional.normalize(torch.randn(300, 50, generator=gen, dtype=torch.float64))
    noise = torch.nn.functional.normalize(torch.randn(64, 50, generator=gen, dtype=torch.float64))
    y, ranks = c[-64:] + far * noise, torch.arange(237, 301)
    words = WordMixture(c, 0.001)
    want = reference(y, c, words.log_prior(ranks), 0.001)
    got = words.log_prob(y, ranks, tile=tile)
    torch.testing.assert_close(got, want, rtol=1e-7, atol=1e-5)
    single = WordMixture(c.float(), 0.001).log_prob(y.float(), ranks, tile=tile)
    torch.testing.assert_close(single.double(), want, rtol=1e-6, atol=2e-3)


def test_all_logits_may_be_far_below_zero(gen):
    """Long centers around a short point; and a first tile whose words have no weight at all."""
    y, c, _ = problem(gen)
    c = 50 * c
    words = WordMixture(c, 0.01, torch.tensor([0, 0, 0, 0, 1, 2, 3]))
    got = words.log_prob(y, tile=(5, 2))
    torch.testing.assert_close(got, reference(y, c, words.log_prior(), 0.01))


def test_float32_follows_float64(gen):
    y, c, ranks = problem(gen, 40, 500, 30)
    y, c = y / 5, c / 5
    exact = WordMixture(c, 0.05).posterior(y, ranks, entropy=True)
    single = WordMixture(c.float(), 0.05).posterior(y.float(), ranks, entropy=True)
    assert single.log_prob.dtype == torch.float32
    for a, b in zip(single, exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


def test_rounded_products_are_for_gpus(gen):
    """Some CPUs that list bfloat16 die of it, so no argument leads there."""
    y, c, _ = problem(gen)
    with pytest.raises(ValueError, match="bfloat16 is for GPUs"):
        WordMixture(c, VARIANCE).log_prob(y, matmul_dtype=torch.bfloat16)


# ---- the posterior


def test_posterior_is_the_softmax_of_the_e_step(gen):
    """On unit centers only the dot product matters; entropy counts the candidates."""
    y, c, ranks = problem(gen)
    c = torch.nn.functional.normalize(c)
    r = (y @ c.T / VARIANCE + explicit_prior(ranks, 7, 2.0)).softmax(1)
    got = WordMixture(c, VARIANCE).posterior(y, ranks, entropy=True, tile=(2, 2))
    torch.testing.assert_close(got.mean, r @ c)
    torch.testing.assert_close(got.candidates, Categorical(r).entropy().exp())


def test_posterior_knows_an_obvious_answer():
    c = torch.eye(4, dtype=torch.float64)
    got = WordMixture(c, 1e-3).posterior(c, entropy=True)
    torch.testing.assert_close(got.mean, c)
    torch.testing.assert_close(got.candidates, torch.ones(4).double())


# ---- what it costs, and what it refuses


def test_nothing_of_size_b_by_n_is_kept(gen):
    y, c, ranks = problem(gen, 50, 400, 4)
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.append(t.numel()) or t, lambda t: t
    ):
        WordMixture(c, VARIANCE).log_prob(y.requires_grad_(), ranks)
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

    words = WordMixture(c, VARIANCE)
    with Watch():
        words.log_prob(y.requires_grad_(), ranks, tile=(10, 20)).sum().backward()
    assert sizes and max(sizes) <= c.numel()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": torch.zeros(5, 2).double()}, "same d"),
        ({"y": torch.zeros(3).double()}, "same d"),
        ({"y": torch.zeros(5, 3)}, "share a dtype"),
        ({"centers": torch.zeros(7, 3).double().requires_grad_()}, "no gradient"),
        ({"centers": torch.zeros(0, 3).double()}, "N >= 1"),
        ({"sigma2": 0.0}, "sigma2 > 0"),
        ({"sigma2": math.nan}, "sigma2 > 0"),
        ({"tau": 0.0}, "tau > 0"),
        ({"noise": -1.0}, "noise >= 0"),
        ({"counts": torch.tensor([1, 2])}, "counts must hold 7"),
        ({"ranks": torch.ones(4).long()}, "ranks must have shape"),
        ({"ranks": torch.arange(5)}, "start at 1"),
        ({"ranks": torch.ones(5)}, "whole numbers"),
    ],
)
def test_errors_say_what_is_wrong(gen, change, message):
    y, c, ranks = problem(gen)
    given = {"y": y, "centers": c, "sigma2": VARIANCE, "ranks": ranks} | change
    y, ranks = given.pop("y"), given.pop("ranks")
    with pytest.raises(ValueError, match=message):
        WordMixture(**given).log_prob(y, ranks)
