"""LC3's posterior is the closed form, its features are those of the kernel, its samples have its covariance."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from algorithms.lc3.model import BayesianLinearMap, RandomFeatures


def data(count: int, features: int = 12, outputs: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    phi = torch.randn(count, features, generator=generator, dtype=torch.float64)
    truth = torch.randn(features, outputs, generator=generator, dtype=torch.float64)
    noise = torch.randn(count, outputs, generator=generator, dtype=torch.float64)
    return phi, phi @ truth + 0.1 * noise


def posterior_after(phi: Tensor, y: Tensor) -> BayesianLinearMap:
    posterior = BayesianLinearMap(phi.shape[1], y.shape[1], prior=2.0, noise=0.1)
    for features, target in zip(phi, y, strict=True):
        posterior.update(features, target)
    return posterior


@pytest.mark.parametrize("count", [1, 5, 300])
def test_rank_one_updates_give_the_closed_form(count: int) -> None:
    phi, y = data(count)
    posterior = posterior_after(phi, y)
    precision = torch.eye(12, dtype=torch.float64) / 2.0**2 + phi.T @ phi / 0.1**2
    torch.testing.assert_close(posterior.precision, precision)
    torch.testing.assert_close(posterior.covariance, torch.linalg.inv(precision), rtol=1e-7, atol=1e-10)
    torch.testing.assert_close(posterior.mean, torch.linalg.solve(precision, phi.T @ y / 0.1**2))


def test_refreshing_changes_nothing() -> None:
    posterior = posterior_after(*data(300))
    mean, covariance = posterior.mean.clone(), posterior.covariance.clone()
    posterior.refresh()
    torch.testing.assert_close(posterior.mean, mean)
    torch.testing.assert_close(posterior.covariance, covariance, rtol=1e-7, atol=1e-10)


def test_samples_have_the_posteriors_mean_and_covariance() -> None:
    torch.manual_seed(0)
    posterior = posterior_after(*data(5, features=3, outputs=2))
    samples = torch.stack([posterior.sample(1.0) for _ in range(6000)])
    torch.testing.assert_close(samples.mean(0), posterior.mean, atol=0.1, rtol=0.0)
    for column in range(2):
        torch.testing.assert_close(
            torch.cov(samples[:, :, column].T), posterior.covariance, atol=0.12, rtol=0.1
        )
    assert torch.equal(posterior.sample(0.0), posterior.mean)


def test_features_approximate_the_gaussian_kernel() -> None:
    torch.manual_seed(0)
    features = RandomFeatures(2, 20_000, bandwidth=1.0)
    x = torch.tensor([[0.0, 0.0], [0.5, -0.5], [1.5, 1.0]])
    waves = features(x)[:, :20_000]
    kernel = torch.exp(-torch.cdist(x, x).square() / (2.0 * 2.0))  # bandwidth^2 = width = 2
    torch.testing.assert_close(waves @ waves.T, kernel, atol=0.03, rtol=0.0)
    assert features.dimension == 20_000 + 2 + 1
    assert math.isclose(float(features(x)[0, -1]), 1.0)
