import torch
from torch.nn.functional import normalize

from demalib.baselines import sinkhorn


def test_a_transport_plan_has_uniform_sums(gen):
    plan = sinkhorn.transport(torch.rand(6, 4, generator=gen, dtype=torch.float64), 10.0, 200)
    torch.testing.assert_close(plan.sum(dim=1), torch.full((6,), 1 / 6, dtype=torch.float64))
    torch.testing.assert_close(plan.sum(dim=0), torch.full((4,), 1 / 4, dtype=torch.float64))


def test_a_sharp_plan_is_the_cheapest_assignment(gen):
    cost = torch.rand(5, 5, generator=gen, dtype=torch.float64)
    order = torch.tensor([3, 0, 4, 1, 2])
    cost[torch.arange(5), order] -= 1.0
    plan = 5 * sinkhorn.transport(cost, 50.0, 200)
    torch.testing.assert_close(plan[torch.arange(5), order], torch.ones(5, dtype=torch.float64))


def test_the_distance_of_a_batch_in_another_order_is_nearly_nothing(gen):
    a = normalize(torch.randn(40, 30, generator=gen, dtype=torch.float64), dim=1)
    b = normalize(torch.randn(40, 30, generator=gen, dtype=torch.float64), dim=1)
    order = torch.randperm(40, generator=gen)
    same, scaled = sinkhorn.sinkhorn_distance(a, a[order]), sinkhorn.sinkhorn_distance(a, 3 * a)
    assert same < 0.05 < 0.5 < sinkhorn.sinkhorn_distance(a, b)
    torch.testing.assert_close(same, scaled)


def test_a_rotation_brings_words_back_and_any_other_map_does_not(gen):
    x, y = torch.randn(2, 30, 4, generator=gen, dtype=torch.float64)
    q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
    assert abs(float(sinkhorn.cycle_loss(x, y, q))) < 1e-9
    stretched = q * torch.tensor([3.0, 1, 1, 1], dtype=torch.float64)
    assert sinkhorn.cycle_loss(x, y, stretched) > 0.1
