"""Langevin dynamics on a linear-Gaussian model, whose posterior is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from algorithms.core.optim import Adam, Langevin
from tests.agents.support import torch_generator

NOISE, PRIOR = 0.5, 1.0


def problem() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """y = X theta + eps; posterior N(mean, covariance)."""
    generator = torch_generator()
    x = torch.randn(60, 3, dtype=torch.float64, generator=generator) * torch.tensor([1.0, 0.6, 1.4]).double()
    x[:, 1] += 0.5 * x[:, 0]
    y = x @ torch.tensor([1.0, -2.0, 0.5]).double() + NOISE * torch.randn(
        60, dtype=torch.float64, generator=generator
    )
    precision = x.T @ x / NOISE**2 + torch.eye(3).double() / PRIOR**2
    covariance = torch.linalg.inv(precision)
    return x, y, covariance @ x.T @ y / NOISE**2, covariance


def chain(
    *, preconditioned: bool, every: int, temperature: float, lr: float, steps: int
) -> tuple[Tensor, Tensor]:
    """Mean and covariance along a chain with minibatches of a third of the data."""
    x, y, mean, _ = problem()
    theta = mean.clone()
    sampler = Langevin(
        theta,
        lr=lr,
        temperature=temperature,
        generator=torch_generator(5),
        preconditioned=preconditioned,
        every=every,
    )
    generator = torch_generator(6)
    samples = []
    n = len(y)
    for step in range(steps):
        pick = torch.randint(n, (n // 3,), generator=generator) if not preconditioned else torch.arange(n)
        residual = y[pick] - x[pick] @ theta
        # the gradient of (1/N) [-log likelihood - log prior]
        grad = -x[pick].T @ residual / NOISE**2 / len(pick) + theta / PRIOR**2 / n
        sampler.step(grad, n)
        if step > steps // 10 and step % 10 == 0:
            samples.append(theta.clone())
    stacked = torch.stack(samples)
    return stacked.mean(0), torch.cov(stacked.T)


@pytest.mark.parametrize("every", [1, 10])
def test_plain_langevin_samples_the_posterior(every: int) -> None:
    _, _, mean, covariance = problem()
    scale = covariance.diagonal().sqrt()
    found_mean, found = chain(preconditioned=False, every=every, temperature=1.0, lr=2e-3, steps=60_000)
    assert ((found_mean - mean) / scale).abs().max() < 0.15
    torch.testing.assert_close(
        found / scale.outer(scale), covariance / scale.outer(scale), atol=0.2, rtol=0.0
    )


def test_preconditioned_langevin_has_the_posterior_mean_and_scale() -> None:
    """Adam's scaling is itself estimated along the chain, hence the wider tolerance."""
    _, _, mean, covariance = problem()
    scale = covariance.diagonal().sqrt()
    found_mean, found = chain(preconditioned=True, every=1, temperature=1.0, lr=1e-3, steps=60_000)
    assert ((found_mean - mean) / scale).abs().max() < 0.2
    ratio = found.diagonal().sqrt() / scale
    assert (ratio > 0.7).all()
    assert (ratio < 1.4).all()


def test_temperature_scales_the_covariance_and_zero_is_descent() -> None:
    _, _, mean, covariance = problem()
    _, found = chain(preconditioned=False, every=1, temperature=0.25, lr=2e-3, steps=40_000)
    assert (found.diagonal() / covariance.diagonal()).mean() == pytest.approx(0.25 + 0.03, abs=0.1)
    x, y, _, _ = problem()
    theta = torch.zeros(3, dtype=torch.float64)
    sampler = Langevin(theta, lr=1e-2, temperature=0.0, generator=torch_generator())
    for _ in range(3000):
        grad = -x.T @ (y - x @ theta) / NOISE**2 / 60 + theta / PRIOR**2 / 60
        sampler.step(grad, 60)
    torch.testing.assert_close(theta, mean, atol=1e-3, rtol=0.0)


def test_adam_gives_the_bytes_of_pytorch() -> None:
    theta = torch.randn(3, 50, generator=torch_generator())
    reference = theta.clone().requires_grad_()
    ours, theirs = Adam(theta, 3e-4), torch.optim.Adam([reference], lr=3e-4, fused=True)
    for step in range(20):
        grad = torch.randn(3, 50, generator=torch_generator(step))
        reference.grad = grad.clone()
        ours.step(grad)
        theirs.step()
        assert torch.equal(theta, reference.detach())
