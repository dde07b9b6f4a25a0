"""The key observation: a noise density is an inner product of random Fourier features (Eqs. 3-7).

The transition s' = f(s, a) + epsilon has the density p(s' - f) = p(0) k(s', f), with k the noise density
scaled to k(x, x) = 1. By Bochner's theorem k(x, y) = E[phi(x) phi(y)] with phi(x) = sqrt(2) cos(omega.x +
b), b uniform and omega drawn from the Fourier transform of k, which is again a density. The remark
"Computation-free Factorizable Noise Model" names Laplace and Cauchy noise beside the Gaussian; in several
dimensions they are taken here with independent coordinates, so that k and the density of omega are
products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """One coordinate of a noise model and the law of the frequencies that belongs to it."""

    name: str
    spectral_law: str
    scale: float
    kernel_1d: Callable[[Array, float], Array]
    density_at_zero_1d: Callable[[float], float]
    spectral_density_1d: Callable[[Array, float], Array]
    draw_omega: Callable[[np.random.Generator, tuple[int, ...], float], Array]

    def kernel(self, difference_XD: Array) -> Array:
        """k(x, y) of the difference x - y; the last axis holds the coordinates."""
        return np.prod(self.kernel_1d(difference_XD, self.scale), axis=-1)

    def density_at_zero(self, dimension: int) -> float:
        """p(0), the normaliser that mu carries: (2 pi sigma^2)^(-d/2) for the Gaussian (Eq. 7)."""
        return self.density_at_zero_1d(self.scale) ** dimension

    def spectral_density(self, omega: Array) -> Array:
        """The density of one coordinate of omega."""
        return self.spectral_density_1d(omega, self.scale)


def gaussian(sigma: float) -> Noise:
    """k = exp(-x^2 / 2 sigma^2); omega is Gaussian with variance 1 / sigma^2 (Eq. 4)."""
    return Noise(
        name="Gaussian",
        spectral_law="Gaussian",
        scale=sigma,
        kernel_1d=lambda x, scale: np.exp(-0.5 * (x / scale) ** 2),
        density_at_zero_1d=lambda scale: 1.0 / (np.sqrt(2.0 * np.pi) * scale),
        spectral_density_1d=lambda omega, scale: (
            scale / np.sqrt(2.0 * np.pi) * np.exp(-0.5 * (scale * omega) ** 2)
        ),
        draw_omega=lambda rng, shape, scale: rng.standard_normal(shape) / scale,
    )


def laplace(scale: float) -> Noise:
    """k = exp(-|x| / scale); omega is Cauchy with scale 1 / scale."""
    return Noise(
        name="Laplace",
        spectral_law="Cauchy",
        scale=scale,
        kernel_1d=lambda x, scale: np.exp(-np.abs(x) / scale),
        density_at_zero_1d=lambda scale: 0.5 / scale,
        spectral_density_1d=lambda omega, scale: scale / (np.pi * (1.0 + (scale * omega) ** 2)),
        draw_omega=lambda rng, shape, scale: rng.standard_cauchy(shape) / scale,
    )


def cauchy(scale: float) -> Noise:
    """k = 1 / (1 + x^2 / scale^2); omega is Laplace with scale 1 / scale."""
    return Noise(
        name="Cauchy",
        spectral_law="Laplace",
        scale=scale,
        kernel_1d=lambda x, scale: 1.0 / (1.0 + (x / scale) ** 2),
        density_at_zero_1d=lambda scale: 1.0 / (np.pi * scale),
        spectral_density_1d=lambda omega, scale: 0.5 * scale * np.exp(-scale * np.abs(omega)),
        draw_omega=lambda rng, shape, scale: rng.laplace(size=shape) / scale,
    )


@dataclass(frozen=True)
class FourierBasis:
    """m draws of (omega, b); leading axes, if any, are independent repetitions."""

    omega_MD: Array
    b_M: Array

    @property
    def size(self) -> int:
        return int(self.b_M.shape[-1])

    def phi(self, x_XD: Array) -> Array:
        """phi_i(x) = sqrt(2) cos(omega_i.x + b_i), without the 1/sqrt(m): inner products are means over i."""
        return np.sqrt(2.0) * np.cos(x_XD @ np.swapaxes(self.omega_MD, -1, -2) + self.b_M[..., None, :])


def draw_basis(rng: np.random.Generator, noise: Noise, m: int, dimension: int) -> FourierBasis:
    """Draw p(omega, b) of Eq. 4 for the given noise."""
    return FourierBasis(
        omega_MD=noise.draw_omega(rng, (m, dimension), noise.scale),
        b_M=rng.uniform(0.0, 2.0 * np.pi, m),
    )


def inner_product(phi_x_XM: Array, phi_y_XM: Array) -> Array:
    """<phi(x), phi(y)>_p estimated by the mean over the drawn features."""
    return np.mean(phi_x_XM * phi_y_XM, axis=-1)


def integral_of_phi(omega_M: Array, b_M: Array, lower_C: Array, upper_C: Array) -> Array:
    """The integral of sqrt(2) cos(omega s + b) over each interval, in one dimension.

    Written with the midpoint and sinc because the quotient of sines loses all digits for small omega.
    """
    middle_C1 = 0.5 * (upper_C + lower_C)[:, None]
    width_C1 = (upper_C - lower_C)[:, None]
    mean_CM = np.cos(omega_M * middle_C1 + b_M) * np.sinc(omega_M * width_C1 / (2.0 * np.pi))
    return np.sqrt(2.0) * width_C1 * mean_CM
