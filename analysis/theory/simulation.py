"""Both sides of the simulation lemma and of the lemma it rests on, exactly, for many pairs of models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.theory.bounds import simulation_bound
from analysis.theory.dynamic_programming import expected_value

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """I pairs of a true model f* and another model f_hat, each with its own reward and stochastic policy."""

    f_star_ISA: Array
    f_hat_ISA: Array
    T_star_ISAC: Array
    T_hat_ISAC: Array
    r_ISA: Array
    pi_HISA: Array
    sigma: float

    @property
    def horizon(self) -> int:
        return int(self.pi_HISA.shape[0])


@dataclass(frozen=True)
class Sides:
    """One value for each pair, all at the initial state s_0."""

    value_difference_I: Array  # V_hat^pi_0(s_0) - V^pi_0(s_0), the left-hand side of both lemmas
    optional_stopping_I: Array  # lem:option-stop-simulation with f_hat first, as its proof ends
    optional_stopping_swapped_I: Array  # the same with f* first, as it is displayed
    simulation_I: Array  # lem:simulation
    rms_error_I: Array  # sqrt(E mean_h |f* - f_hat|^2) / sigma along the trajectory


def values(T_ISAC: Array, r_ISA: Array, pi_HISA: Array) -> Array:
    """V^pi_h, h = 0..H."""
    horizon = pi_HISA.shape[0]
    V_HIS = np.zeros((horizon + 1, *T_ISAC.shape[:2]))
    for h in reversed(range(horizon)):
        V_HIS[h] = np.sum(pi_HISA[h] * (r_ISA + expected_value(T_ISAC, V_HIS[h + 1])), axis=-1)
    return V_HIS


def _move(mass_IS: Array, T_ISAC: Array, pi_ISA: Array) -> Array:
    """The distribution of the next cell when `mass_IS` is that of the present one."""
    return np.einsum("isa,isac->ic", mass_IS[:, :, None] * pi_ISA, T_ISAC, optimize=True)


def both_sides(pair: Pair, start: int) -> Sides:
    V_star_HIS = values(pair.T_star_ISAC, pair.r_ISA, pair.pi_HISA)
    V_hat_HIS = values(pair.T_hat_ISAC, pair.r_ISA, pair.pi_HISA)
    V_tilde_HIS = np.maximum(V_hat_HIS, V_star_HIS)
    error_ISA = ((pair.f_star_ISA - pair.f_hat_ISA) / pair.sigma) ** 2

    mass_IS = np.zeros(pair.f_star_ISA.shape[:2])
    mass_IS[:, start] = 1.0
    alive_IS = mass_IS.copy()
    stopping_I, clipped_I, error_I = np.zeros((3, len(mass_IS)))
    for h in range(pair.horizon):
        # tau is the first h with V_hat_h(s_h) <= V_h(s_h); `alive` is the mass with h < tau
        alive_IS = alive_IS * (V_hat_HIS[h] > V_star_HIS[h])
        gap_ISA = expected_value(pair.T_hat_ISAC - pair.T_star_ISAC, V_tilde_HIS[h + 1])
        stopping_I += np.sum(alive_IS[:, :, None] * pair.pi_HISA[h] * gap_ISA, axis=(1, 2))
        visit_ISA = mass_IS[:, :, None] * pair.pi_HISA[h]
        clipped_I += np.sum(visit_ISA * np.minimum(2.0 * error_ISA, 1.0), axis=(1, 2))
        error_I += np.sum(visit_ISA * error_ISA, axis=(1, 2))
        mass_IS = _move(mass_IS, pair.T_star_ISAC, pair.pi_HISA[h])
        alive_IS = _move(alive_IS, pair.T_star_ISAC, pair.pi_HISA[h])
    return Sides(
        value_difference_I=V_hat_HIS[0][:, start] - V_star_HIS[0][:, start],
        optional_stopping_I=stopping_I,
        optional_stopping_swapped_I=-stopping_I,
        simulation_I=simulation_bound(pair.horizon, clipped_I),
        rms_error_I=np.sqrt(error_I / pair.horizon),
    )
