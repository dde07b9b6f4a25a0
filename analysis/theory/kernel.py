"""Experiment: random Fourier features recover the kernel of three noise models at the rate m^-1/2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import figures, tables
from analysis.theory.spectral import Array, Noise, cauchy, draw_basis, gaussian, laplace

NOISES = (gaussian(0.3), laplace(0.3), cauchy(0.3))
DIMENSIONS = (1, 3, 11)
FEATURE_COUNTS = 2 ** np.arange(4, 14)
PAIRS, DRAWS, SEED = 100, 16, 71


def random_pairs(rng: np.random.Generator, noise: Noise, dimension: int, count: int) -> tuple[Array, Array]:
    """Points of [-1, 1]^d with partners up to three noise scales away: the range where k matters."""
    x_XD = rng.uniform(-1.0, 1.0, (count, dimension))
    direction_XD = rng.standard_normal((count, dimension))
    direction_XD /= np.linalg.norm(direction_XD, axis=1, keepdims=True)
    return x_XD, x_XD + 3.0 * noise.scale * rng.random((count, 1)) * direction_XD


def feature_variance(noise: Noise, difference_XD: Array) -> Array:
    """Var of 2 cos(omega.x + b) cos(omega.y + b) = 1 + k(2 delta) / 2 - k(delta)^2, delta = x - y."""
    return 1.0 + 0.5 * noise.kernel(2.0 * difference_XD) - noise.kernel(difference_XD) ** 2


def squared_errors(rng: np.random.Generator, noise: Noise, dimension: int) -> tuple[Array, float]:
    """Mean squared error of the kernel for each draw and m (nested draws), and m times its exact value."""
    x_XD, y_XD = random_pairs(rng, noise, dimension, PAIRS)
    exact_X = noise.kernel(x_XD - y_XD)
    error = np.zeros((DRAWS, len(FEATURE_COUNTS)))
    for draw in range(DRAWS):
        basis = draw_basis(rng, noise, int(FEATURE_COUNTS[-1]), dimension)
        sums_XM = np.cumsum(basis.phi(x_XD) * basis.phi(y_XD), axis=1)[:, FEATURE_COUNTS - 1]
        error[draw] = np.mean((sums_XM / FEATURE_COUNTS - exact_X[:, None]) ** 2, axis=0)
    return error, float(np.mean(feature_variance(noise, x_XD - y_XD)))


def compute() -> pd.DataFrame:
    rows = []
    for n, noise in enumerate(NOISES):
        for dimension in DIMENSIONS:
            error, variance = squared_errors(np.random.default_rng([SEED, n, dimension]), noise, dimension)
            mean, standard_error = tables.mean_and_error(error)
            rows.append(
                pd.DataFrame(
                    {
                        "noise": noise.name,
                        "d": dimension,
                        "m": FEATURE_COUNTS,
                        "rmse": np.sqrt(mean),
                        "rmse_se": standard_error / (2.0 * np.sqrt(mean)),  # delta method
                        "rmse_exact": np.sqrt(variance / FEATURE_COUNTS),
                    }
                )
            )
    return pd.concat(rows)


def draw_errors(table: pd.DataFrame, out: Path) -> None:
    figure, axes = figures.panels(3)
    for ax, noise in zip(axes, NOISES, strict=True):
        for i, dimension in enumerate(DIMENSIONS):
            part = table[(table.noise == noise.name) & (table.d == dimension)]
            slope = tables.log_slope(part.m.to_numpy(), part.rmse.to_numpy())
            beside = part.m * 1.12 ** (i - 1)  # the three lie on one another: move the marks apart
            ax.errorbar(
                beside,
                part.rmse,
                part.rmse_se,
                fmt=figures.MARKERS[i],
                color=figures.CYCLE[i],
                label=f"d = {dimension}, slope {slope:.2f}",
            )
            ax.plot(part.m, part.rmse_exact, lw=0.9, color=figures.CYCLE[i])
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(0.006, 0.6),
            xlabel="number of features m",
            title=f"{noise.name} noise, {noise.spectral_law} frequencies",
        )
        ax.legend(loc="lower left")
    axes[0].set_ylabel("RMSE of ⟨φ(x), φ(y)⟩ against k(x, y)")
    figures.save(figure, out, "kernel")


def draw_noises(out: Path) -> None:
    """The transition density from features beside the exact one, and the law of omega beside draws."""
    figure, axes = figures.panels(3, rows=2, height=2.3)
    s_X = np.linspace(-1.5, 1.5, 301)
    for n, noise in enumerate(NOISES):
        rng = np.random.default_rng([SEED, n, 99])
        basis = draw_basis(rng, noise, 4096, 1)
        phi_of_f_1M = basis.phi(np.array([[0.2]]))  # f(s, a) = 0.2
        products_XM = basis.phi(s_X[:, None]) * phi_of_f_1M * noise.density_at_zero(1)
        ax = axes[n]
        ax.plot(s_X, products_XM[:, :64].mean(axis=1), color=figures.ORANGE, lw=1.0, label="m = 64")
        ax.plot(s_X, products_XM.mean(axis=1), color=figures.BLUE, lw=1.2, label="m = 4096")
        exact_X = noise.kernel(s_X[:, None] - 0.2) * noise.density_at_zero(1)
        ax.plot(s_X, exact_X, color=figures.INK, lw=1.0, ls="--", label="exact")
        ax.set(title=f"{noise.name} noise", xlabel="next state s′")
        lower = axes[3 + n]
        omega = np.linspace(-20.0, 20.0, 401)
        bins = np.linspace(-20.0, 20.0, 61)
        counts, _ = np.histogram(basis.omega_MD, bins)
        lower.stairs(
            counts / (basis.size * np.diff(bins)),
            bins,
            fill=True,
            color=figures.SKY,
            alpha=0.5,
            label="drawn",
        )
        lower.plot(omega, noise.spectral_density(omega), color=figures.INK, lw=1.0, ls="--", label="p(ω)")
        lower.set(title=f"its frequencies: {noise.spectral_law}", xlabel="frequency ω")
    axes[0].set_ylabel("T(s′ | s, a), f(s, a) = 0.2")
    axes[3].set_ylabel("density of ω")
    axes[0].legend(loc="upper left")
    axes[3].legend(loc="upper left")
    figures.save(figure, out, "noises")


def main() -> None:
    out = tables.out_folder(__doc__)
    table = compute()
    tables.write(table, out, "kernel")
    draw_errors(table, out)
    draw_noises(out)


if __name__ == "__main__":
    main()
