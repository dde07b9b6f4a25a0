"""The conjugate posterior of the regulator, for many independent histories at once.

Prior theta ~ N(0, lambda^2 I) on each column, data s' = theta^T varphi + epsilon. Then (Bayesian linear
regression)

    precision = I / lambda^2 + sum varphi varphi^T / sigma^2
    mean      = precision^-1 sum varphi s'^T / sigma^2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Posterior:
    """Natural parameters: they add up, so that updating in any order and in any batches gives the same."""

    precision_IDD: Array
    shift_IDO: Array  # O: coordinates of the next state
    sigma: float

    def updated(self, varphi_IND: Array, next_state_INO: Array) -> Posterior:
        """The posterior after N more transitions in each history."""
        transposed_IDN = np.swapaxes(varphi_IND, -1, -2) / self.sigma**2
        return Posterior(
            self.precision_IDD + transposed_IDN @ varphi_IND,
            self.shift_IDO + transposed_IDN @ next_state_INO,
            self.sigma,
        )

    def mean(self) -> Array:
        return np.asarray(np.linalg.solve(self.precision_IDD, self.shift_IDO), dtype=np.float64)

    def sample(self, rng: np.random.Generator) -> Array:
        """mean + L^-T z has covariance (L L^T)^-1 = precision^-1."""
        lower_IDD = np.linalg.cholesky(self.precision_IDD)
        z_IDO = rng.standard_normal(self.shift_IDO.shape)
        return self.mean() + np.linalg.solve(np.swapaxes(lower_IDD, -1, -2), z_IDO)


def prior(histories: int, features: int, outputs: int, prior_scale: float, sigma: float) -> Posterior:
    """The posterior of an empty history."""
    precision_IDD = np.broadcast_to(np.eye(features) / prior_scale**2, (histories, features, features)).copy()
    return Posterior(precision_IDD, np.zeros((histories, features, outputs)), sigma)
