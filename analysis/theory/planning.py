"""Experiment: Q from m random features against exact dynamic programming (Algorithm 2)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import figures, tables
from analysis.theory.dynamic_programming import evaluate, plan
from analysis.theory.feature_planning import summed_transition
from analysis.theory.regulator import Regulator, variants
from analysis.theory.spectral import Array, draw_basis, gaussian

HORIZONS = (2, 5, 10)
FEATURE_COUNTS = 2 ** np.arange(6, 17)
FIRST_OF_FIT = 1024  # below it, the error of long horizons compounds and is no power of m
DRAWS, SEED = 24, 73


def feature_transitions(rng: np.random.Generator, problem: Regulator, f_ISA: Array) -> Array:
    """T from m features, for each count and each draw of (theta, omega, b); the features are nested in m."""
    counts = np.diff(FEATURE_COUNTS, prepend=0)
    estimates = np.zeros((len(FEATURE_COUNTS), *f_ISA.shape, len(problem.middle_S)))
    for draw, f_SA in enumerate(f_ISA):
        total_SAC = np.zeros(estimates.shape[2:])
        for i, count in enumerate(counts):
            basis = draw_basis(rng, gaussian(problem.sigma), int(count), 1)
            total_SAC += summed_transition(problem, f_SA, basis)
            estimates[i, draw] = total_SAC / FEATURE_COUNTS[i]
    return estimates


def compute() -> pd.DataFrame:
    rng = np.random.default_rng([SEED, 0])
    base = variants()["B"]
    f_ISA = base.f(base.prior_scale * rng.standard_normal((DRAWS, base.feature_count)))
    T_ISAC = base.transition(f_ISA)
    estimates = feature_transitions(rng, base, f_ISA)
    rows = []
    for horizon in HORIZONS:
        problem = replace(base, horizon=horizon)
        exact = plan(T_ISAC, problem.r_SA, horizon)
        for m, estimate_ISAC in zip(FEATURE_COUNTS, estimates, strict=True):
            found = plan(estimate_ISAC, problem.r_SA, horizon)
            error_I = np.abs(found.Q_HISA - exact.Q_HISA).max(axis=(0, 2, 3))
            loss_IS = exact.V_HIS[0] - evaluate(T_ISAC, problem.r_SA, found.pi_HIS)[0]
            loss_I = loss_IS[:, problem.start_states].mean(axis=1)
            rows.append(
                {
                    "horizon": horizon,
                    "m": m,
                    **_summary("q_error", error_I),
                    **_summary("policy_loss", loss_I),
                }
            )
    return pd.DataFrame(rows)


def _summary(name: str, sample_I: Array) -> dict[str, float]:
    mean, standard_error = tables.mean_and_error(sample_I)
    return {name: float(mean), f"{name}_se": float(standard_error)}


def slope(table: pd.DataFrame, horizon: int) -> float:
    part = table[(table.horizon == horizon) & (table.m >= FIRST_OF_FIT)]
    return tables.log_slope(part.m.to_numpy(), part.q_error.to_numpy())


def draw(table: pd.DataFrame, out: Path) -> None:
    figure, (errors, losses) = figures.panels(2, width=3.9)
    for i, horizon in enumerate(HORIZONS):
        part = table[table.horizon == horizon]
        color, marker = figures.CYCLE[i], figures.MARKERS[i]
        errors.errorbar(
            part.m,
            part.q_error,
            part.q_error_se,
            label=f"H = {horizon}, slope {slope(table, horizon):.2f}",
            color=color,
            marker=marker,
        )
        lossy = part[part.policy_loss > 0.0]
        loss, error = lossy.policy_loss / horizon, lossy.policy_loss_se / horizon
        losses.errorbar(
            lossy.m, loss, [0.0 * error, error], color=color, marker=marker
        )  # the log axis: upper half
    fit = FEATURE_COUNTS[FEATURE_COUNTS >= FIRST_OF_FIT].astype(np.float64)
    anchor = float(table[(table.horizon == HORIZONS[0]) & (table.m == FIRST_OF_FIT)].q_error.iloc[0])
    figures.reference_slope(errors, fit, 0.6 * anchor, -0.5, "$m^{-1/2}$")
    errors.set(xscale="log", yscale="log", ylabel="sup |Q from features − Q exact|", title="action values")
    errors.set_ylim(top=300.0)
    errors.legend(loc="upper right")
    losses.set(
        xscale="log",
        yscale="log",
        ylabel="(V* − V of its policy) / H",
        title="what its policy loses (no mark: 0)",
    )
    losses.set_ylim(1e-7, 0.1)
    for ax in (errors, losses):
        ax.set_xlabel("number of features m")
    figures.save(figure, out, "planning")


def main() -> None:
    out = tables.out_folder(__doc__)
    table = compute()
    tables.write(table, out, "planning")
    draw(table, out)


if __name__ == "__main__":
    main()
