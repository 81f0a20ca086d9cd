import pytest
import torch
from torch.distributions import MultivariateNormal

from demalib.flow import LinearFlow, random_orthogonal


def free_flow(gen, d=4):
    """A flow that is far from orthogonal, and shrinks."""
    return LinearFlow(d, weight=0.3 * torch.randn(d, d, generator=gen, dtype=torch.float64))


def test_rows_times_w(gen):
    flow = free_flow(gen)
    x = torch.randn(5, 4, generator=gen, dtype=torch.float64)
    torch.testing.assert_close(flow(x)[2], flow.W.T @ x[2])


def test_inverse_undoes_forward(gen):
    flow = free_flow(gen)
    x = torch.randn(5, 4, generator=gen, dtype=torch.float64)
    torch.testing.assert_close(flow.inverse(flow(x)), x)


def test_log_abs_det_is_that_of_the_jacobian(gen):
    flow = free_flow(gen)
    x = torch.randn(4, generator=gen, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: flow(x[None])[0], x)
    torch.testing.assert_close(flow.log_abs_det(), jacobian.det().abs().log())


def test_change_of_variables(gen):
    """A Gaussian pulled back through the flow is the Gaussian with the pulled-back covariance."""
    flow = free_flow(gen)
    x = torch.randn(5, 4, generator=gen, dtype=torch.float64)
    eye, zero = torch.eye(4).double(), torch.zeros(4).double()
    got = MultivariateNormal(zero, eye).log_prob(flow(x)) + flow.log_abs_det(x)
    want = MultivariateNormal(zero, precision_matrix=flow.W @ flow.W.T).log_prob(x)
    torch.testing.assert_close(got, want)


def test_log_abs_det_gradient_is_the_inverse_transpose(gen):
    flow = free_flow(gen)
    flow.log_abs_det().backward()
    torch.testing.assert_close(flow.W.grad, flow.W.detach().inverse().T)


def test_start_is_orthogonal_and_keeps_volume(gen):
    flow = LinearFlow(50, gen, dtype=torch.float64)
    torch.testing.assert_close(flow.W @ flow.W.T, torch.eye(50).double())
    assert flow.log_abs_det().abs() < 1e-12


def test_start_is_uniform_over_rotations(gen):
    """Haar: entries have mean 0 and variance 1/d, and half the matrices are reflections."""
    many = torch.stack([random_orthogonal(3, gen, torch.float64) for _ in range(4000)])
    assert many.mean(0).abs().max() < 0.04
    assert (many.square().mean(0) - 1 / 3).abs().max() < 0.03
    assert many.det().mean().abs() < 0.06


def test_one_seed_one_start():
    a, b = (LinearFlow(4, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(a.W, b.W)


def test_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"must be \(3, 3\)"):
        LinearFlow(3, weight=torch.zeros(3, 2))
