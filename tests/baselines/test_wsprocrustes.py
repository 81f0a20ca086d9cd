import torch

from demalib.baselines import wsprocrustes


def test_the_convex_start_takes_the_gradient_of_its_objective(gen, monkeypatch):
    x, y = torch.randn(2, 9, 3, generator=gen, dtype=torch.float64)
    seen = []
    monkeypatch.setattr(wsprocrustes, "assign", lambda g: seen.append(g) or g)
    wsprocrustes.convex_start(x, y, 1)
    a, b = wsprocrustes.root_spectrum(x), wsprocrustes.root_spectrum(y)
    K_x, K_y = a @ a.T, b @ b.T
    K_y = K_y * K_x.norm() / K_y.norm()
    P = torch.full((9, 9), 1 / 9, dtype=torch.float64, requires_grad=True)
    (want,) = torch.autograd.grad((K_x @ P - P @ K_y).square().sum() / 2, P)
    torch.testing.assert_close(seen[0], want)


def test_a_root_spectrum_keeps_the_directions_and_takes_roots(gen):
    x = torch.randn(9, 3, generator=gen, dtype=torch.float64)
    root = wsprocrustes.root_spectrum(x)
    torch.testing.assert_close(torch.linalg.svdvals(root), torch.linalg.svdvals(x).sqrt())
    u, _, vt = torch.linalg.svd(x, full_matrices=False)
    inner = u.T @ root @ vt.T
    torch.testing.assert_close(inner, torch.diag(inner.diagonal()))


def test_an_assignment_has_rows_and_columns_of_one(gen):
    cost = torch.rand(8, 8, generator=gen, dtype=torch.float64)
    soft = wsprocrustes.assign(cost)
    ones = torch.ones(8, dtype=torch.float64)
    torch.testing.assert_close(soft.sum(dim=0), ones, atol=1e-6, rtol=0)
    torch.testing.assert_close(soft.sum(dim=1), ones, atol=0.02, rtol=0)
    even = torch.full_like(cost, 1 / 8)
    assert (soft * cost).sum() < (even * cost).sum()
