"""Algorithm 2 in the space of m random Fourier features (Eq. 4) for the one-dimensional regulator."""

from __future__ import annotations

import numpy as np

from analysis.theory.dynamic_programming import Plan
from analysis.theory.regulator import Regulator
from analysis.theory.spectral import Array, FourierBasis, gaussian, integral_of_phi

TAIL = 8.0  # standard deviations of noise beyond the largest mean: P < 1e-15


def cell_limits(problem: Regulator, f_SA: Array) -> tuple[Array, Array]:
    """Each cell's ends. The open outer cells are cut where no transition reaches: int V mu is finite."""
    reach = max(float(np.abs(f_SA).max()), float(np.abs(problem.inner_edges).max())) + TAIL * problem.sigma
    return np.append(-reach, problem.inner_edges), np.append(problem.inner_edges, reach)


def mu_of_cells(problem: Regulator, f_SA: Array, basis: FourierBasis) -> Array:
    """The integral of mu(s') = (2 pi sigma^2)^(-1/2) phi(s') over each cell (Eq. 7)."""
    lower_C, upper_C = cell_limits(problem, f_SA)
    normaliser = gaussian(problem.sigma).density_at_zero(1)
    return normaliser * integral_of_phi(basis.omega_MD[:, 0], basis.b_M, lower_C, upper_C)


def phi_of_pairs(f_SA: Array, basis: FourierBasis) -> Array:
    """phi(s, a) = sqrt(2) cos(omega f(s, a) + b)."""
    return basis.phi(f_SA.reshape(-1, 1)).reshape(*f_SA.shape, basis.size)


def plan_in_feature_space(problem: Regulator, f_SA: Array, basis: FourierBasis) -> Plan:
    """Algorithm 2 to the letter: w_h = int V_{h+1} mu, Q_h = r + <phi, w_h>, V_h = max_a Q_h."""
    phi_SAM, mu_CM = phi_of_pairs(f_SA, basis), mu_of_cells(problem, f_SA, basis)
    states, actions = f_SA.shape
    V_HIS = np.zeros((problem.horizon + 1, 1, states))
    Q_HISA = np.zeros((problem.horizon, 1, states, actions))
    for h in reversed(range(problem.horizon)):
        w_M = V_HIS[h + 1, 0] @ mu_CM
        Q_HISA[h, 0] = problem.r_SA + phi_SAM @ w_M / basis.size
        V_HIS[h, 0] = Q_HISA[h, 0].max(axis=-1)
    return Plan(V_HIS, Q_HISA, Q_HISA.argmax(axis=-1))


def summed_transition(problem: Regulator, f_SA: Array, basis: FourierBasis) -> Array:
    """Sum over features of phi(s, a) mu(cell): divided by m, the transition that the features believe in.

    Since <phi, sum_C V_C mu_C> = sum_C V_C <phi, mu_C>, planning on it is Algorithm 2 in feature space; and
    sums over disjoint sets of features add up, which gives all feature counts from one pass.
    """
    states, actions = f_SA.shape
    flat = phi_of_pairs(f_SA, basis).reshape(states * actions, -1) @ mu_of_cells(problem, f_SA, basis).T
    return flat.reshape(states, actions, -1)
