"""The right-hand sides of the paper's statements, as displayed and as we read them.

Labels are those of the paper's source: lem:confidence_set, lem:simulation, lem:expectation_diff,
sec:linear_case. `docs/theory.md` says where a displayed form and our reading differ, and why.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.theory.normal import cdf

Array = NDArray[np.float64]


def expectation_factor(shift: Array) -> Array:
    """lem:expectation_diff: min{sqrt(2) |mu_1 - mu_2| / sigma, 1}; `shift` is in units of sigma."""
    return np.minimum(np.sqrt(2.0) * shift, 1.0)


def expectation_factor_last_line(shift: Array) -> Array:
    """The same factor as the last line of its proof displays it: 2 |mu_1 - mu_2|^2 / sigma^2, no root."""
    return np.minimum(2.0 * shift**2, 1.0)


def best_expectation_factor(shift: Array) -> Array:
    """The smallest factor that holds for every g >= 0.

    E_1[g] - E_2[g] = E_1[g (1 - rho)] <= E_1[g (1 - rho)_+] <= sqrt(E_1[g^2]) sqrt(E_1[(1 - rho)_+^2]) with
    the density ratio rho = exp(shift z - shift^2 / 2), and g = (1 - rho)_+ attains it.
    """
    square = cdf(0.5 * shift) - 2.0 * cdf(-0.5 * shift) + np.exp(shift**2) * cdf(-1.5 * shift)
    return np.sqrt(np.maximum(square, 0.0))


def simulation_bound(horizon: int, clipped_square_error: Array) -> Array:
    """lem:simulation: H^{3/2} sqrt(E sum_h min{2 |f* - f_hat|^2 / sigma^2, 1})."""
    return horizon**1.5 * np.sqrt(clipped_square_error)


def confidence_radius(
    log_cover: float,
    delta: float,
    alpha: float,
    horizon: int,
    episodes: Array,
    C: float,
    sigma: float,
    d: int = 1,
) -> tuple[Array, Array]:
    """beta*_K of lem:confidence_set: (as displayed, as we read it).

    The discretisation error is a sum over the K H visited pairs, so we read its factor H alpha as K H
    alpha.
    """
    statistical = 8.0 * sigma**2 * (log_cover - np.log(delta))
    per_step = 12.0 * C + np.sqrt(8.0 * d * sigma**2 * np.log(4.0 * episodes**2 * horizon / delta))
    displayed = statistical + 2.0 * horizon * alpha * per_step
    corrected = statistical + 2.0 * episodes * horizon * alpha * per_step
    return displayed, corrected


def log_covering_bound(ratio: Array, features: int, outputs: int) -> tuple[Array, Array]:
    """log N(F, eps), ratio = B W / eps: with the exponent d_phi as displayed, and with d_phi d."""
    single = np.log1p(2.0 * ratio)
    return features * single, features * outputs * single


def lattice_packing(ratio: float, outputs: int) -> int:
    """Points of a lattice of spacing just over 2 eps in the ball of radius W (B = 1, d_phi = 1).

    Each ball of radius eps holds at most one of them, so no eps-cover is smaller: a certificate from below.
    """
    spacing = 2.0 * (1.0 + 1e-9) / ratio
    axis = spacing * np.arange(-np.floor(1.0 / spacing), np.floor(1.0 / spacing) + 1.0)
    squares = sum(np.meshgrid(*[axis**2] * outputs, indexing="ij"), np.zeros(()))
    return int(np.count_nonzero(squares <= 1.0))


def eluder_bound(ratio: Array, features: int) -> Array:
    """The Eluder Dimension Bound of sec:linear_case, ratio = W B / eps."""
    return 3.0 * features * np.e / (np.e - 1.0) * np.log(3.0 + 12.0 * ratio**2) + 1.0


def doubling_sequence(ratio: float, features: int) -> Array:
    """A long sequence of feature vectors (B = 1), each eps-independent of those before it.

    Along one axis a vector of length c is independent of its predecessors if and only if c^2 exceeds the
    sum of their squares (and 2 W c > eps), so the squared lengths double: 1 + ceil(log2(4 ratio^2)) vectors
    for each axis. For one feature no sequence is longer.
    """
    per_axis = 1 + int(np.ceil(np.log2(4.0 * ratio**2)))
    doubling = 2.0 ** -np.arange(per_axis - 2, -1, -1, dtype=np.float64)  # ..., 1/4, 1/2, 1
    first = 0.5 * (doubling[0] + 1.0 / (4.0 * ratio**2))  # below the next, yet long enough for 2 W c > eps
    squares = np.concatenate([[first], doubling])
    return np.concatenate([np.sqrt(squares)[:, None] * np.eye(features)[axis] for axis in range(features)])


def width(Phi_DD: Array, varphi_D: Array, eps: float, W: float) -> float:
    """sup |u.varphi| over u^T Phi u <= eps^2 and |u| <= 2 W: how far two models can still differ at varphi.

    For matrices theta the supremum is the same (a rank-one theta attains it). By duality it is the smallest
    bound over mixtures of the two constraints, a convex problem in one variable, solved here by ternary
    search.
    """
    eigenvalue_D, basis_DD = np.linalg.eigh(Phi_DD)
    square_D = (basis_DD.T @ varphi_D) ** 2
    data_D, ball = np.maximum(eigenvalue_D, 0.0) / eps**2, 1.0 / (4.0 * W**2)

    def bound(mixture: float) -> float:
        return float(np.sqrt(np.sum(square_D / (mixture * data_D + (1.0 - mixture) * ball))))

    low, high = 0.0, 1.0 - 1e-13
    for _ in range(120):
        third = (high - low) / 3.0
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return bound(0.5 * (low + high))
