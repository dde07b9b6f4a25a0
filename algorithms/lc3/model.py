"""The kernelised nonlinear regulator of LC3: random features, and an exact posterior of the linear map on them.

s' = s + W phi(s, a) + noise,      phi(x) = [sqrt(2/D) cos(omega^T z + b), z, 1],   z = (x - mean) / scale
omega ~ N(0, I / bandwidth^2),     b ~ U[0, 2 pi]
W ~ N(0, prior^2 I) a priori,      noise ~ N(0, noise^2 I)
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


class BayesianLinearMap:
    """The Gaussian posterior of W given (phi_i, y_i), y = W^T phi + noise; every column has the same covariance.

        precision A = I / prior^2 + sum phi phi^T / noise^2
        mean        W = A^-1 sum phi y^T / noise^2

    `update` is the rank-one (Sherman-Morrison) step, O(D^2); `refresh` solves anew, O(D^3), against drift.
    """

    def __init__(self, features: int, outputs: int, *, prior: float, noise: float) -> None:
        self.noise_variance = noise**2
        self.precision = torch.eye(features, dtype=torch.float64) / prior**2
        self.covariance = torch.eye(features, dtype=torch.float64) * prior**2
        self.information = torch.zeros(features, outputs, dtype=torch.float64)
        self.mean = torch.zeros(features, outputs, dtype=torch.float64)

    def update(self, phi: Tensor, y: Tensor) -> None:
        """One more observation: phi [D], y [d]."""
        self.precision.addr_(phi, phi, alpha=1.0 / self.noise_variance)
        self.information.addr_(phi, y, alpha=1.0 / self.noise_variance)
        direction = self.covariance @ phi
        gain = direction / (self.noise_variance + phi @ direction)
        self.mean.addr_(gain, y - phi @ self.mean)
        self.covariance.addr_(gain, direction, alpha=-1.0)

    def refresh(self) -> Tensor:
        """Mean and covariance from the sums; returns the Cholesky factor L of the precision, A = L L^T."""
        factor = torch.linalg.cholesky(self.precision)
        self.mean = torch.cholesky_solve(self.information, factor)
        self.covariance = torch.cholesky_inverse(factor)
        return factor

    def sample(self, scale: float) -> Tensor:
        """W ~ N(mean, scale^2 A^-1), by W = mean + scale L^-T z."""
        factor = self.refresh()
        normal = torch.randn(self.mean.shape, dtype=torch.float64)
        return self.mean + scale * torch.linalg.solve_triangular(factor.T, normal, upper=True)

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("precision", "covariance", "information", "mean")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


class RandomFeatures:
    """phi of (s, a). The units are taken from data once and then stay, as the posterior is about fixed features."""

    def __init__(self, width: int, count: int, *, bandwidth: float) -> None:
        self.omega = torch.randn(width, count) / (bandwidth * math.sqrt(width))
        self.phase = 2.0 * math.pi * torch.rand(count)
        self.mean, self.scale = torch.zeros(width), torch.ones(width)
        self.dimension = count + width + 1

    def set_units(self, inputs: Tensor, inflation: float) -> None:
        """From inputs [n, width]; inflated, because random actions see little of the space."""
        scale = inputs.std(0, unbiased=False)
        self.mean = inputs.mean(0)
        self.scale = torch.where(scale < 1e-6, 1.0, inflation * scale)

    def __call__(self, inputs: Tensor) -> Tensor:
        z = (inputs - self.mean) / self.scale
        waves = torch.cos(z @ self.omega + self.phase).mul_(math.sqrt(2.0 / len(self.phase)))
        return torch.cat([waves, z, torch.ones_like(z[..., :1])], -1)

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("omega", "phase", "mean", "scale")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
