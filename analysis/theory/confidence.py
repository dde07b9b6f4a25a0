"""Experiment: the confidence set of lem:confidence_set, as displayed and as we read it.

The counter-example. F holds every function of the cell of s with |f| <= alpha; f* = 0. One function, f* itself,
is an alpha-cover, so log N = 0. With far more cells than data, least squares fits the noise: in nearly every
visited cell it is the clipped observation. So |f_hat - f*|^2 summed over the data grows like K H, and the
radius as displayed, which lacks that factor, loses f*. Every assumption of the paper holds (C = alpha).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import bounds, figures, tables
from analysis.theory.normal import cdf
from analysis.theory.regulator import variants
from analysis.theory.tables import Array

EPISODES, HORIZON, SIGMA, DELTA = 1000, 10, 0.05, 0.25  # delta: the value in the regret proof
ALPHA = (EPISODES * HORIZON) ** -0.5  # alpha = T^-1/2, as in the regret proof
CELLS, RUNS, SEED = 10**6, 20, 77
CHECKED = np.unique(np.geomspace(1.0, EPISODES, 25).round()).astype(np.int64)

LINEAR_RUNS, LINEAR_EPISODES = 64, 300
STEPS, WALKS = 4000, 4000
SHIFTS = (0.1, 0.5, 2.0)
LEVELS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5])


def least_squares_distance(state: Array, next_state: Array) -> float:
    """|f_hat - f*|^2 over the data, f* = 0: each visited cell's f_hat is its mean observation, clipped."""
    cell = np.floor(CELLS * cdf(state / SIGMA)).astype(np.int64)
    _, place, count = np.unique(cell, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=next_state) / count
    return float(np.sum(count * np.clip(mean, -ALPHA, ALPHA) ** 2))


def rich_class() -> pd.DataFrame:
    """|f_hat - f*|^2 against both radii while episodes come in; s' = f*(s, a) + epsilon = epsilon."""
    rng = np.random.default_rng([SEED, 0])
    distances = np.zeros((RUNS, len(CHECKED)))
    for run in range(RUNS):
        states = SIGMA * rng.standard_normal((EPISODES, HORIZON + 1))
        for i, k in enumerate(CHECKED):
            distances[run, i] = least_squares_distance(states[:k, :-1].ravel(), states[:k, 1:].ravel())
    episodes = CHECKED.astype(np.float64)
    displayed, corrected = bounds.confidence_radius(
        0.0, DELTA, ALPHA, HORIZON, episodes, C=ALPHA, sigma=SIGMA
    )
    mean, error = tables.mean_and_error(distances)
    return pd.DataFrame(
        {
            "episodes": CHECKED,
            "distance": mean,
            "distance_se": error,
            "displayed": displayed,
            "corrected": corrected,
            "lost_displayed": np.mean(distances > displayed, axis=0),
            "lost_corrected": np.mean(distances > corrected, axis=0),
        }
    )


def linear_class() -> pd.DataFrame:
    """The same for the regulator with random actions: f_hat is ordinary least squares on all data so far."""
    problem = variants()["C"]
    rng = np.random.default_rng([SEED, 1])
    steps = LINEAR_EPISODES * problem.horizon
    theta_ID = problem.prior_scale * rng.standard_normal((LINEAR_RUNS, problem.feature_count))
    cell = rng.integers(len(problem.middle_S), size=(LINEAR_RUNS, steps))
    action = rng.integers(problem.r_SA.shape[1], size=(LINEAR_RUNS, steps))
    varphi_IND = problem.varphi_SAD[cell, action]
    noise_IN = problem.sigma * rng.standard_normal((LINEAR_RUNS, steps))
    B = float(np.linalg.norm(problem.varphi_SAD, axis=-1).max())
    W = float(np.linalg.norm(theta_ID, axis=1).max())
    alpha = steps**-0.5
    checked = np.array([10, 20, 50, 100, 200, 300])
    _, log_cover = bounds.log_covering_bound(np.array(B * W / alpha), problem.feature_count, 1)
    displayed, corrected = bounds.confidence_radius(
        float(log_cover),
        DELTA,
        alpha,
        problem.horizon,
        checked.astype(np.float64),
        C=B * W,
        sigma=problem.sigma,
    )
    rows = []
    for k, radius, wide in zip(checked, displayed, corrected, strict=True):
        data_IND = varphi_IND[:, : k * problem.horizon]
        # theta_hat - theta* = (X^T X)^-1 X^T epsilon, so the distance is epsilon's projection on the features
        fitted_IN = _projection(data_IND, noise_IN[:, : k * problem.horizon])
        distance = np.sum(fitted_IN**2, axis=1)
        rows.append(
            {"episodes": k, "largest": distance.max() / radius, "largest_corrected": distance.max() / wide}
        )
    return pd.DataFrame(rows)


def _projection(design_IND: Array, target_IN: Array) -> Array:
    basis_INR, _ = np.linalg.qr(design_IND)
    coefficient_IR1 = np.swapaxes(basis_INR, 1, 2) @ target_IN[:, :, None]
    return np.asarray((basis_INR @ coefficient_IR1)[:, :, 0], dtype=np.float64)


def concentration() -> pd.DataFrame:
    """The lemma on the concentration of the l2 error, for one fixed f with |f - f*| = shift sigma everywhere.

    L(f*) - L(f) + |f - f*|^2 / 2 is a walk with steps 2 shift z - shift^2 / 2 (sigma = 1), and the lemma says that it
    ever exceeds 4 log(1 / delta) with a chance of at most delta.
    """
    rng = np.random.default_rng([SEED, 2])
    rows = []
    for shift in SHIFTS:
        highest = np.concatenate(
            [
                np.cumsum(2.0 * shift * rng.standard_normal((500, STEPS)) - 0.5 * shift**2, axis=1).max(
                    axis=1
                )
                for _ in range(WALKS // 500)
            ]
        )
        chance = np.array([np.mean(highest > 4.0 * np.log(1.0 / delta)) for delta in LEVELS])
        error = np.sqrt(chance * (1.0 - chance) / WALKS)
        rows.append(pd.DataFrame({"shift": shift, "delta": LEVELS, "chance": chance, "chance_se": error}))
    return pd.concat(rows)


def draw(rich: pd.DataFrame, walks: pd.DataFrame, out: Path) -> None:
    figure, (left, right) = figures.panels(2, width=3.9)
    left.errorbar(
        rich.episodes,
        rich.distance,
        2.0 * rich.distance_se,
        fmt="o",
        color=figures.INK,
        label="‖f̂ − f*‖² on the data",
    )
    left.plot(rich.episodes, rich.displayed, color=figures.VERMILION, ls="--", label="β as displayed (H α)")
    left.plot(rich.episodes, rich.corrected, color=figures.BLUE, label="β with K H α")
    left.set(
        xscale="log",
        yscale="log",
        xlabel="episodes K",
        ylabel="squared distance",
        title="a class with log N(F, α) = 0",
    )
    left.legend(loc="lower right")
    for i, shift in enumerate(SHIFTS):
        part = walks[walks["shift"] == shift]
        right.errorbar(
            part.delta,
            part.chance,
            2.0 * part.chance_se,
            color=figures.CYCLE[i],
            marker=figures.MARKERS[i],
            label=f"|f − f*| = {shift} σ",
        )
    right.plot([0.0, 0.5], [0.0, 0.5], color=figures.REFERENCE, ls="--", label="the lemma's δ")
    right.set(xlabel="δ", ylabel="chance that it ever fails", title="concentration of the ℓ₂ error")
    right.legend()
    figures.save(figure, out, "confidence")


def main() -> None:
    out = tables.out_folder(__doc__)
    rich, linear, walks = rich_class(), linear_class(), concentration()
    tables.write(rich, out, "confidence")
    tables.write(linear, out, "confidence_linear")
    tables.write(walks, out, "confidence_concentration")
    draw(rich, walks, out)


if __name__ == "__main__":
    main()
