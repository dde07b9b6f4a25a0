"""Experiment: the simulation lemma, the lemma of optional stopping and the expectation-difference lemma.

Left-hand side against right-hand side over random models, and how loose the right-hand side is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import bounds, figures, tables
from analysis.theory.dynamic_programming import plan
from analysis.theory.normal import cdf
from analysis.theory.regulator import Regulator, variants
from analysis.theory.simulation import Pair, both_sides
from analysis.theory.tables import Array

HORIZONS = (2, 5, 10, 20)
PAIRS, FUNCTIONS, SEED = 400, 1000, 76
SHOWN_HORIZON = 5
ROUNDING = 1e-12


def random_rewards(rng: np.random.Generator, problem: Regulator, count: int) -> Array:
    """Rewards in [0, 1]: smooth bumps or steps at random places, times a factor for the action."""
    centre_I1 = rng.uniform(-1.5, 1.5, (count, 1))
    distance_IS = problem.middle_S - centre_I1
    smooth_IS = np.exp(-0.5 * (distance_IS / rng.uniform(0.2, 1.0, (count, 1))) ** 2)
    step_IS = (distance_IS > 0.0).astype(np.float64)
    state_IS = np.where(rng.random((count, 1)) < 0.5, smooth_IS, step_IS)
    return state_IS[:, :, None] * rng.uniform(0.5, 1.0, (count, 1, problem.r_SA.shape[1]))


def random_pairs(rng: np.random.Generator, problem: Regulator, horizon: int, count: int) -> Pair:
    """f* from the prior, f_hat at a distance between 0.001 and 3 prior widths.

    Half of the policies are optimal for f_hat, as in the regret proof; the others draw their actions at
    random.
    """
    theta_ID = problem.prior_scale * rng.standard_normal((count, problem.feature_count))
    distance_I1 = 10.0 ** rng.uniform(-3.0, 0.5, (count, 1))
    f_star_ISA = problem.f(theta_ID)
    f_hat_ISA = problem.f(theta_ID + distance_I1 * rng.standard_normal(theta_ID.shape))
    T_hat_ISAC = problem.transition(f_hat_ISA)
    r_ISA = random_rewards(rng, problem, count)
    states, actions = problem.r_SA.shape
    best_HIS = plan(T_hat_ISAC, r_ISA, horizon).pi_HIS
    drawn_HISA = rng.dirichlet(np.ones(actions), (horizon, count, states))
    optimal_I11 = (np.arange(count) % 2 == 0)[:, None, None]
    pi_HISA = np.where(optimal_I11, np.eye(actions)[best_HIS], drawn_HISA)
    return Pair(
        f_star_ISA, f_hat_ISA, problem.transition(f_star_ISA), T_hat_ISAC, r_ISA, pi_HISA, problem.sigma
    )


def simulation_table() -> pd.DataFrame:
    problem = variants()["D"]
    start = int(problem.start_states[2])
    rows = []
    for horizon in HORIZONS:
        sides = both_sides(
            random_pairs(np.random.default_rng([SEED, horizon]), problem, horizon, PAIRS), start
        )
        rows.append(
            pd.DataFrame(
                {
                    "horizon": horizon,
                    "rms_error_sigma": sides.rms_error_I,
                    "value_difference": sides.value_difference_I,
                    "optional_stopping": sides.optional_stopping_I,
                    "optional_stopping_swapped": sides.optional_stopping_swapped_I,
                    "simulation_bound": sides.simulation_I,
                }
            )
        )
    return pd.concat(rows)


def two_step_worst_case(shift: Array) -> Array:
    """The largest lhs / rhs of the simulation lemma for H = 2 and r(s_0, a_0) known.

    Only r(s_1) can tell the models apart; the best r in [0, 1] gains the total variation 2 Phi(shift / 2) -
    1.
    """
    return (2.0 * cdf(0.5 * shift) - 1.0) / bounds.simulation_bound(2, np.minimum(2.0 * shift**2, 1.0))


def expectation_table() -> pd.DataFrame:
    """Random g >= 0 on a line (the direction mu_1 - mu_2), integrated on a fine grid, sigma = 1.

    g = |sum_j a_j cos(w_j z + c_j)|^p for the first half of them, the extremal (1 - rho)_+ + noise for the
    others.
    """
    rng = np.random.default_rng([SEED, 1])
    shift_G1 = 10.0 ** rng.uniform(-2.0, 0.5, (FUNCTIONS, 1))
    z_Z = np.linspace(-10.0, 14.0, 2401)
    weight_1Z = np.exp(-0.5 * z_Z**2)[None, :] / np.sqrt(2.0 * np.pi) * (z_Z[1] - z_Z[0])
    ratio_GZ = np.exp(shift_G1 * z_Z - 0.5 * shift_G1**2)
    amplitude_GJ, phase_GJ = (
        rng.standard_normal((FUNCTIONS, 5)),
        rng.uniform(0.0, 2.0 * np.pi, (FUNCTIONS, 5)),
    )
    frequency_GJ = rng.uniform(0.0, 3.0, (FUNCTIONS, 5))
    waves_GZ = sum(
        (
            amplitude_GJ[:, j, None] * np.cos(frequency_GJ[:, j, None] * z_Z + phase_GJ[:, j, None])
            for j in range(5)
        ),
        np.zeros_like(ratio_GZ),
    )
    extremal_GZ = np.maximum(1.0 - ratio_GZ, 0.0) * (1.0 + 0.3 * waves_GZ) ** 2
    rough_GZ = np.abs(waves_GZ) ** rng.uniform(0.5, 3.0, (FUNCTIONS, 1))
    g_GZ = np.where((np.arange(FUNCTIONS) % 2 == 0)[:, None], rough_GZ, extremal_GZ)
    difference_G = np.sum(weight_1Z * g_GZ * (1.0 - ratio_GZ), axis=1)
    root_G = np.sqrt(np.sum(weight_1Z * g_GZ**2, axis=1))
    return pd.DataFrame({"shift_sigma": shift_G1[:, 0], "lhs": difference_G / root_G})


def draw(simulation: pd.DataFrame, expectation: pd.DataFrame, out: Path) -> None:
    figure, (left, middle, right) = figures.panels(3)
    shift = np.geomspace(0.01, 3.2, 200)
    positive = expectation[expectation.lhs > 0.0].iloc[::2]
    left.plot(
        positive.shift_sigma,
        positive.lhs,
        ".",
        ms=2,
        color=figures.SKY,
        alpha=0.6,
        label="random g",
        rasterized=True,
    )
    left.plot(shift, bounds.expectation_factor(shift), color=figures.BLUE, label="the lemma, min{√2 x, 1}")
    left.plot(shift, bounds.best_expectation_factor(shift), color=figures.GREEN, label="best possible factor")
    left.plot(
        shift,
        bounds.expectation_factor_last_line(shift),
        color=figures.VERMILION,
        ls="--",
        label="last line of the proof, min{2 x², 1}",
    )
    left.set(
        xscale="log",
        yscale="log",
        ylim=(1e-4, 2e3),
        xlabel="x = |μ₁ − μ₂| / σ",
        ylabel="(E₁g − E₂g) / √E₁g²",
        title="difference of expectations",
    )
    left.legend(loc="upper left", fontsize=7)
    shown = simulation[(simulation.horizon == SHOWN_HORIZON) & (simulation.value_difference > 1e-9)]
    for column, color, marker, label in (
        ("simulation_bound", figures.BLUE, "o", "simulation lemma"),
        ("optional_stopping", figures.GREEN, "^", "optional stopping"),
    ):
        middle.plot(
            shown[column], shown.value_difference, marker, ms=2.5, color=color, alpha=0.6, label=label
        )
    middle.plot([2e-5, 40.0], [2e-5, 40.0], color=figures.REFERENCE, lw=1.0, ls="--", label="equality")
    middle.set(
        xscale="log",
        yscale="log",
        xlabel="right-hand side",
        ylabel="V̂₀ − V₀ (reward)",
        xlim=(2e-5, 40.0),
        ylim=(2e-5, 40.0),
        title=f"simulation lemmas, H = {SHOWN_HORIZON}",
    )
    middle.legend(loc="upper left", fontsize=7)
    for i, horizon in enumerate(HORIZONS):
        part = simulation[(simulation.horizon == horizon) & (simulation.value_difference > 0.0)]
        ratio = np.sort((part.value_difference / part.simulation_bound).to_numpy())
        right.plot(ratio, np.linspace(0.0, 1.0, len(ratio)), color=figures.CYCLE[i], label=f"H = {horizon}")
    right.set(
        xscale="log",
        xlim=(1e-5, 1.0),
        xlabel="lhs / rhs of the simulation lemma",
        ylabel="share of models below",
        title="how loose it is",
    )
    right.legend(loc="upper left")
    figures.save(figure, out, "lemmas")


def main() -> None:
    out = tables.out_folder(__doc__)
    simulation, expectation = simulation_table(), expectation_table()
    tables.write(simulation, out, "lemmas")
    tables.write(expectation, out, "lemmas_expectation")
    draw(simulation, expectation, out)


if __name__ == "__main__":
    main()
