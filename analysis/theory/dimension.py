"""Experiment: why a fixed number of features cannot hold as the state dimension grows.

The kernel is bounded, so its error does not grow with d. The value needs the density, whose mu carries (2
pi sigma^2)^(-d/2) (Eq. 7): the weight of Q, the integral of V mu, grows exponentially. Shown for V = 1 on
[-1, 1]^d, where everything has a closed form: at f(s, a) = 0

    E[V(s')]            = (2 Phi(1 / sigma) - 1)^d
    |int V mu|_H^2      = c^d,   c = (2 pi sigma^2)^-1 int int k(s, s') ds ds'  over [-1, 1]^2
    Var of one feature  = 3/2 c^d - E[V(s')]^2
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import figures, tables
from analysis.theory.kernel import feature_variance
from analysis.theory.normal import cdf
from analysis.theory.spectral import Array, draw_basis, gaussian, inner_product

SIGMAS = (0.3, 0.5, 1.0)
DIMENSIONS = np.arange(1, 13)
FEATURES, REPEATS, SEED = 1024, 200, 72  # 1024: the paper's number of features
RELATIVE_ERROR = 0.1


def hit_probability(sigma: float, d: Array) -> Array:
    """E[V(s')]: the chance that s' ~ N(0, sigma^2 I) stays in the box."""
    return (2.0 * cdf(np.array(1.0 / sigma)) - 1.0) ** d


def weight_growth(sigma: float) -> float:
    """c: the squared norm of the weight grows by this factor with each dimension.

    With u = s - s' of density (2 - |u|) on [-2, 2], the double integral is elementary.
    """
    first = np.sqrt(2.0 * np.pi) * sigma * (2.0 * cdf(np.array(2.0 / sigma)) - 1.0)
    second = sigma**2 * (1.0 - np.exp(-2.0 / sigma**2))
    return float(2.0 * (first - second) / (2.0 * np.pi * sigma**2))


def largest_weight(sigma: float, d: Array) -> Array:
    """The weight at omega = 0, the largest: the integral of mu over the box, 2^d (2 pi sigma^2)^(-d/2)."""
    return (2.0 / (np.sqrt(2.0 * np.pi) * sigma)) ** d


def value_rmse(sigma: float, d: Array, m: int) -> Array:
    """The exact root mean squared error of the value from m features."""
    return np.sqrt((1.5 * weight_growth(sigma) ** d - hit_probability(sigma, d) ** 2) / m)


def measured_errors(rng: np.random.Generator, sigma: float, d: int) -> tuple[Array, Array]:
    """Errors of the value at f = 0, and of the kernel at a distance sigma, over draws of m features."""
    noise = gaussian(sigma)
    value, kernel = np.zeros(REPEATS), np.zeros(REPEATS)
    x_1D, y_1D = np.zeros((1, d)), np.full((1, d), sigma / np.sqrt(d))
    for repeat in range(REPEATS):
        basis = draw_basis(rng, noise, FEATURES, d)
        box_M = np.prod(
            2.0 * np.sinc(basis.omega_MD / np.pi), axis=1
        )  # integral of exp(i omega.s) over the box
        weight_M = noise.density_at_zero(d) * np.sqrt(2.0) * np.cos(basis.b_M) * box_M
        value[repeat] = np.mean(basis.phi(x_1D)[0] * weight_M) - float(
            hit_probability(sigma, np.array(float(d)))
        )
        kernel[repeat] = inner_product(basis.phi(x_1D), basis.phi(y_1D))[0] - np.exp(-0.5)
    return value, kernel


def _rmse(errors_DR: Array) -> tuple[Array, Array]:
    """Root mean squared error over repeats, and its standard error by the delta method."""
    mean, standard_error = tables.mean_and_error(errors_DR**2, axis=1)
    return np.sqrt(mean), standard_error / (2.0 * np.sqrt(mean))


def compute() -> pd.DataFrame:
    d = DIMENSIONS.astype(np.float64)
    rows = []
    for i, sigma in enumerate(SIGMAS):
        measured = [
            measured_errors(np.random.default_rng([SEED, i, int(n)]), sigma, int(n)) for n in DIMENSIONS
        ]
        value, value_se = _rmse(np.stack([errors for errors, _ in measured]))
        kernel, kernel_se = _rmse(np.stack([errors for _, errors in measured]))
        kernel_variance = feature_variance(gaussian(sigma), np.array([[sigma]]))[
            0
        ]  # the same in every dimension
        wanted = RELATIVE_ERROR * hit_probability(sigma, d)
        rows.append(
            pd.DataFrame(
                {
                    "sigma": sigma,
                    "d": DIMENSIONS,
                    "value_exact": hit_probability(sigma, d),
                    "value_rmse": value,
                    "value_rmse_se": value_se,
                    "value_rmse_exact": value_rmse(sigma, d, FEATURES),
                    "kernel_rmse": kernel,
                    "kernel_rmse_se": kernel_se,
                    "kernel_rmse_exact": np.sqrt(kernel_variance / FEATURES),
                    "weight_norm": weight_growth(sigma) ** (0.5 * d),
                    "weight_largest": largest_weight(sigma, d),
                    "features_needed": (value_rmse(sigma, d, 1) / wanted) ** 2,
                }
            )
        )
    return pd.concat(rows)


def draw(table: pd.DataFrame, out: Path) -> None:
    figure, (errors, weights, needed) = figures.panels(3)
    part = table[table.sigma == SIGMAS[0]]
    for column, color, marker, label in (
        ("value_rmse", figures.VERMILION, "s", "value: Q − r = E[V(s′)]"),
        ("kernel_rmse", figures.BLUE, "o", "kernel k(x, y)"),
    ):
        errors.errorbar(part.d, part[column], part[f"{column}_se"], fmt=marker, color=color, label=label)
        errors.plot(part.d, part[f"{column}_exact"], lw=0.9, color=color)
    errors.set(title=f"m = {FEATURES}, σ = {SIGMAS[0]}", ylabel="RMSE (lines: exact)", yscale="log")
    errors.legend()
    for i, sigma in enumerate(SIGMAS):
        part, color, marker = table[table.sigma == sigma], figures.CYCLE[i], figures.MARKERS[i]
        weights.plot(part.d, part.weight_largest, color=color, marker=marker, label=f"σ = {sigma}")
        weights.plot(part.d, part.weight_norm, color=color, marker=marker, ls=":", mfc="none")
        needed.plot(part.d, part.features_needed, color=color, marker=marker, label=f"σ = {sigma}")
    weights.set(title="weight ∫ V μ: largest (solid), RKHS norm (dotted)", ylabel="size", yscale="log")
    weights.legend()
    needed.axhline(FEATURES, color=figures.REFERENCE, lw=1.0, ls="--")
    needed.text(12.0, FEATURES * 0.8, "m = 1024", ha="right", va="top", color=figures.REFERENCE)
    needed.set(title="features for a relative RMSE of 10 %", ylabel="m needed", yscale="log")
    needed.legend()
    for ax in (errors, weights, needed):
        ax.set_xlabel("state dimension d")
        ax.set_xticks(DIMENSIONS[::2])
    figures.save(figure, out, "dimension")


def main() -> None:
    out = tables.out_folder(__doc__)
    table = compute()
    tables.write(table, out, "dimension")
    draw(table, out)


if __name__ == "__main__":
    main()
