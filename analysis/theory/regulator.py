"""The kernelised non-linear regulator of Sec. 4 on problems small enough to know the optimum.

s' = theta^T varphi(s, a) + epsilon, epsilon ~ N(0, sigma^2), with s' any real number. The known feature map
varphi looks at the state through cells of a fixed width: it is constant on each cell. So values are
constant on cells too, the probability of each next cell is a difference of two Gaussian distribution
functions, and dynamic programming is exact, while the data stay continuous and the Gaussian posterior of
theta stays exact. Nothing is discretised away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.theory.normal import cdf

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SIGMA = 0.5
HORIZON = 5
BUMP_CENTRES = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
BUMP_WIDTH = 0.3
REWARD_TARGET, REWARD_WIDTH = 0.8, 0.4
ZERO_ACTION_BONUS = 0.1


@dataclass(frozen=True)
class Regulator:
    """One problem; the prior of theta is N(0, prior_scale^2 I)."""

    name: str
    title: str
    varphi_SAD: Array
    r_SA: Array
    inner_edges: Array
    middle_S: Array
    start_states: Indices
    sigma: float = SIGMA
    horizon: int = HORIZON
    prior_scale: float = 0.8

    @property
    def feature_count(self) -> int:
        return int(self.varphi_SAD.shape[-1])

    def f(self, theta_ID: Array) -> Array:
        """The mean of the next state, f(s, a) = theta^T varphi(s, a), for each model."""
        return np.einsum("sad,id->isa", self.varphi_SAD, theta_ID)

    def transition(self, f_ISA: Array) -> Array:
        """T(s'|s, a) summed over each cell of s' (Eq. 6, integrated exactly)."""
        return cell_probabilities(f_ISA, self.inner_edges, self.sigma)

    def cell_of(self, state: Array) -> Indices:
        return np.searchsorted(self.inner_edges, state, side="right")


def cell_probabilities(mean: Array, inner_edges: Array, sigma: float) -> Array:
    """P(s' in cell) for s' ~ N(mean, sigma^2); the outer cells reach to infinity, so rows sum to one."""
    cumulative = np.zeros((*mean.shape, len(inner_edges) + 2))
    cumulative[..., 1:-1] = cdf((inner_edges - mean[..., None]) / sigma)
    cumulative[..., -1] = 1.0
    return np.diff(cumulative, axis=-1)


def cells(limit: float = 2.0, count: int = 41) -> tuple[Array, Array]:
    """Inner edges and middles of equal cells on [-limit, limit], the outer ones open."""
    edges = np.linspace(-limit, limit, count + 1)
    return edges[1:-1], 0.5 * (edges[1:] + edges[:-1])


def bumps(middle_S: Array) -> Array:
    """Radial features psi_i(s) of the state."""
    return np.exp(-0.5 * ((middle_S[:, None] - np.array(BUMP_CENTRES)) / BUMP_WIDTH) ** 2)


def _build(name: str, title: str, actions: tuple[float, ...], bonus: float, drift: bool) -> Regulator:
    inner_edges, middle_S = cells()
    psi_SD = bumps(middle_S)
    action_A = np.array(actions)
    varphi_SAD = action_A[None, :, None] * psi_SD[:, None, :]
    if drift:  # a feature that does not vanish at a = 0
        drift_SA1 = np.broadcast_to(np.tanh(middle_S)[:, None, None], (*varphi_SAD.shape[:2], 1))
        varphi_SAD = np.concatenate([varphi_SAD, drift_SA1], axis=-1)
    target_S = np.exp(-0.5 * ((middle_S - REWARD_TARGET) / REWARD_WIDTH) ** 2)
    r_SA = (1.0 - bonus) * target_S[:, None] + bonus * (action_A == 0.0)[None, :]
    start_states = np.searchsorted(inner_edges, np.linspace(-1.0, 1.0, 5), side="right")
    return Regulator(name, title, varphi_SAD, r_SA, inner_edges, middle_S, start_states)


def variants() -> dict[str, Regulator]:
    """Four problems. A and D hide the actions from an agent that does not explore; B and C do not.

    In A and D the action a = 0 earns a bonus and tells nothing about the action features, whose prior mean
    is zero.
    """
    three, two = (-1.0, 0.0, 1.0), (-1.0, 1.0)
    problems = [
        _build("A", "A: bonus on a = 0 (a trap)", three, ZERO_ACTION_BONUS, drift=False),
        _build("B", "B: no bonus", three, 0.0, drift=False),
        _build("C", "C: no zero action", two, 0.0, drift=False),
        _build("D", "D: A plus a drift feature (a trap)", three, ZERO_ACTION_BONUS, drift=True),
    ]
    return {problem.name: problem for problem in problems}
