import torch

from demalib.baselines import shigeto


def test_shigeto_leaves_one_out_as_if_by_hand(gen):
    b = torch.randn(40, 3, generator=gen, dtype=torch.float64)
    a = b @ torch.randn(3, 3, generator=gen, dtype=torch.float64)
    a = a + torch.randn(40, 3, generator=gen, dtype=torch.float64)

    def solve(b, a, penalty):
        return torch.linalg.solve(b.T @ b + penalty * torch.eye(3, dtype=b.dtype), b.T @ a)

    unit = float(torch.linalg.eigvalsh(b.T @ b).mean())
    errors = {}
    for penalty in shigeto.PENALTIES:
        keep = [torch.arange(40) != i for i in range(40)]
        found = [a[i] - b[i] @ solve(b[k], a[k], penalty * unit) for i, k in enumerate(keep)]
        errors[penalty] = float(torch.stack(found).square().sum())
    best = min(errors, key=errors.get)
    torch.testing.assert_close(shigeto.ridge(b, a), solve(b, a, best * unit))


def test_shigeto_ignores_the_scale_of_the_vectors(gen):
    a, b = torch.randn(2, 40, 3, generator=gen, dtype=torch.float64)
    torch.testing.assert_close(shigeto.ridge(5 * b, 5 * a), shigeto.ridge(b, a))
