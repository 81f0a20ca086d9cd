import pytest
import torch
from torch.nn.functional import cosine_similarity, normalize

from demalib.flow import LinearFlow
from demalib.losses import Batch, cosine_loss, cycle_loss, density_loss, identical_loss, total
from demalib.mixture import WordMixture


@pytest.fixture
def world(gen):
    """Two flows, two batches and some identical words, d = 4."""
    flows = [LinearFlow(4, weight=torch.randn(4, 4, generator=gen).double()) for _ in "xy"]
    sides = []
    for n, sigma2 in ((9, 0.1), (11, 0.2)):
        centers = normalize(torch.randn(n, 4, generator=gen).double())
        sides.append(Batch.draw(WordMixture(centers, sigma2, noise=0.05, tau=1.5), 6, gen))
    return *flows, *sides, tuple(side.mixture.centers[:3] for side in sides)


def test_density_loss_is_minus_the_mean_log_density_of_x(world):
    flow, _, src, tgt, _ = world
    got = density_loss(flow, src.points, tgt.mixture, src.ranks)
    each = tgt.mixture.log_prob(src.points @ flow.W, src.ranks)
    torch.testing.assert_close(got, -each.mean() - torch.slogdet(flow.W)[1])


def test_density_loss_does_not_gain_by_shrinking(gen):
    """Shrinking W pulls samples under the peaks, and log|det W| charges for it: the true map,
    here the identity, beats both a smaller and a larger one on average."""
    words = WordMixture(0.1 * torch.randn(5, 2, generator=gen).double(), 0.1)
    x = words.sample(20_000, gen)
    eye = torch.eye(2).double()
    small, true, large = (
        density_loss(LinearFlow(2, weight=s * eye), x, words) for s in (0.7, 1.0, 1.4)
    )
    assert true < small and true < large


def test_gradients_reach_the_flow(world):
    flow, _, src, tgt, _ = world

    def loss(w):
        moved = LinearFlow(4, weight=w)
        del moved.W
        moved.W = w
        return density_loss(moved, src.points, tgt.mixture, src.ranks)

    assert torch.autograd.gradcheck(loss, (flow.W.detach().clone().requires_grad_(),))


def test_cosine_loss_by_hand():
    a, b = torch.tensor([[1.0, 0], [1, 0], [1, 0]]), torch.tensor([[5.0, 0], [0, 1], [-2, 0]])
    torch.testing.assert_close(cosine_loss(a, b), torch.tensor([0.0, 1, 2]))


def test_cycle_loss_is_zero_for_inverse_maps(world):
    flow, _, src, tgt, _ = world
    back = LinearFlow(4, weight=flow.W.inverse())
    assert cycle_loss(flow, back, src.points, tgt.points).abs() < 1e-12
    scaled = LinearFlow(4, weight=3 * flow.W.inverse())  # direction is all that counts
    assert cycle_loss(flow, scaled, src.points, tgt.points).abs() < 1e-12


def test_cycle_loss_adds_one_mean_per_direction(world):
    f, g, src, tgt, _ = world
    x, y = src.points, tgt.points
    want = (1 - cosine_similarity(x @ f.W @ g.W, x)).mean()
    want = want + (1 - cosine_similarity(y @ g.W @ f.W, y)).mean()
    torch.testing.assert_close(cycle_loss(f, g, x, y), want)


def test_identical_loss_mean_and_sum(world):
    f, g, _, _, (v_x, v_y) = world
    each = [
        2 - cosine_similarity(a @ f.W, b, dim=0) - cosine_similarity(b @ g.W, a, dim=0)
        for a, b in zip(v_x, v_y, strict=True)
    ]
    torch.testing.assert_close(identical_loss(f, g, v_x, v_y), sum(each) / 3)
    torch.testing.assert_close(identical_loss(f, g, v_x, v_y, "sum"), sum(each))


def test_total_adds_its_weighted_parts(world):
    f, g, src, tgt, identical = world
    loss, parts = total(*world, lam=0.7, alpha=3.0)
    xy = density_loss(f, src.points, tgt.mixture, src.ranks)
    yx = density_loss(g, tgt.points, src.mixture, tgt.ranks)
    cycle = cycle_loss(f, g, src.points, tgt.points)
    same = identical_loss(f, g, *identical)
    torch.testing.assert_close(loss, xy + yx + 0.7 * cycle + 3 * same)
    want = {"density_xy": xy, "density_yx": yx, "cycle": cycle, "identical": same}
    torch.testing.assert_close(parts, {name: part.detach() for name, part in want.items()})
    assert not any(part.requires_grad for part in parts.values())


@pytest.mark.parametrize("name", ["density", "cycle", "identical"])
def test_an_ablated_part_is_gone(world, name):
    whole, parts = total(*world)
    loss, left = total(*world, ablate=name)
    assert left == {key: part for key, part in parts.items() if not key.startswith(name)}
    weight = {"density": 1, "cycle": 0.5, "identical": 10}[name]
    gone = sum(part for key, part in parts.items() if key.startswith(name))
    torch.testing.assert_close(loss, whole - weight * gone)


def test_ablating_the_prior_scores_with_the_naive_one(world):
    f, _, src, tgt, _ = world
    _, parts = total(*world, ablate=["prior", "cycle"])
    want = density_loss(f, src.points, tgt.mixture)
    torch.testing.assert_close(parts["density_xy"], want.detach())
    assert "cycle" not in parts


def test_every_map_learns_from_the_total(world):
    loss, _ = total(*world)
    loss.backward()
    assert all(flow.W.grad.abs().sum() > 0 for flow in world[:2])


def test_errors_say_what_is_wrong(world):
    f, g, src, tgt, (v_x, v_y) = world
    with pytest.raises(ValueError, match="no loss called"):
        total(*world, ablate="cycles")
    with pytest.raises(ValueError, match="nothing is left"):
        total(*world, ablate=("density", "cycle", "identical"))
    with pytest.raises(ValueError, match="no identical words"):
        total(f, g, src, tgt)
    with pytest.raises(ValueError, match="same words"):
        identical_loss(f, g, v_x, v_y[:2])
    with pytest.raises(ValueError, match="reduction"):
        identical_loss(f, g, v_x, v_y, "max")
