"""Experiment: eluder dimension and covering number of the linear class, and the bound they give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import bounds, figures, tables
from analysis.theory.regulator import Regulator, variants
from analysis.theory.tables import Array

FEATURES = (1, 2, 4)
ELUDER_RATIOS = 1.01 * np.exp2(np.arange(11.0))
OUTPUTS = (1, 2, 3)
COVER_RATIOS = np.exp2(np.arange(8.0))
EPISODES = np.logspace(1.0, 12.0, 45)


def independent_count(ratio: float, features: int) -> int:
    """How many vectors of the doubling sequence are eps-independent of their predecessors, by exact widths.

    W = B = 1, eps = 1 / ratio. Every one should be: the count is then a lower bound on the eluder
    dimension.
    """
    Phi_DD, count = np.zeros((features, features)), 0
    for varphi_D in bounds.doubling_sequence(ratio, features):
        count += bounds.width(Phi_DD, varphi_D, 1.0 / ratio, 1.0) > 1.0 / ratio
        Phi_DD = Phi_DD + np.outer(varphi_D, varphi_D)
    return count


def eluder_table() -> pd.DataFrame:
    rows = []
    for features in FEATURES:
        found = [independent_count(ratio, features) for ratio in ELUDER_RATIOS]
        length = [len(bounds.doubling_sequence(ratio, features)) for ratio in ELUDER_RATIOS]
        stated = bounds.eluder_bound(ELUDER_RATIOS, features)
        rows.append(
            pd.DataFrame(
                {
                    "d_phi": features,
                    "ratio": ELUDER_RATIOS,
                    "lower": found,
                    "length": length,
                    "stated": stated,
                }
            )
        )
    return pd.concat(rows)


def covering_table() -> pd.DataFrame:
    """d_phi = 1, so that the class is the ball of radius W in R^d."""
    rows = []
    for outputs in OUTPUTS:
        stated, corrected = bounds.log_covering_bound(COVER_RATIOS, 1, outputs)
        rows.append(
            pd.DataFrame(
                {
                    "d": outputs,
                    "ratio": COVER_RATIOS,
                    "packing": [bounds.lattice_packing(ratio, outputs) for ratio in COVER_RATIOS],
                    "volume": COVER_RATIOS**outputs,
                    "stated": np.exp(stated),
                    "corrected": np.exp(corrected),
                }
            )
        )
    return pd.concat(rows)


def regret_bound(problem: Regulator, episodes: Array) -> Array:
    """The last line of the proof of the regret bounds with every constant, as we read it.

    delta = 1 / (4 K) and alpha = 1 / T (see docs/theory.md); W is the radius that holds 99 % of the prior.
    """
    T, features = episodes * problem.horizon, problem.feature_count
    B = float(np.linalg.norm(problem.varphi_SAD, axis=-1).max())
    W = problem.prior_scale * float(
        np.sqrt(features) + np.sqrt(2.0 * np.log(100.0))
    )  # Gaussian concentration
    C = B * W
    _, log_cover = bounds.log_covering_bound(C * T, features, 1)
    dimension = bounds.eluder_bound(C * np.sqrt(T), features)
    statistical = 8.0 * problem.sigma**2 * (log_cover + np.log(4.0 * episodes))
    discretisation = 2.0 * (
        12.0 * C + np.sqrt(8.0 * problem.sigma**2 * np.log(16.0 * episodes**3 * problem.horizon))
    )
    width_sum = 1.0 + 4.0 * C**2 * problem.horizon * dimension
    width_sum = width_sum + 4.0 * (statistical + discretisation) * dimension * (1.0 + np.log(T))
    return np.sqrt(2.0 * problem.horizon**2 * T / problem.sigma**2 * width_sum) + 0.5 * problem.horizon


def bound_table() -> pd.DataFrame:
    problem = variants()["B"]
    return pd.DataFrame(
        {
            "episodes": EPISODES,
            "bound": regret_bound(problem, EPISODES),
            "trivial": problem.horizon * EPISODES,
        }
    )


def draw(eluder: pd.DataFrame, covering: pd.DataFrame, bound: pd.DataFrame, out: Path) -> None:
    figure, (left, middle, right) = figures.panels(3)
    for i, features in enumerate(FEATURES):
        part, color = eluder[eluder.d_phi == features], figures.CYCLE[i]
        left.plot(part.ratio, part.stated, color=color, label=f"$d_φ$ = {features}")
        left.plot(part.ratio, part.lower, figures.MARKERS[i], color=color)
    left.set(
        xscale="log",
        xlabel="W B / ε",
        ylabel="eluder dimension",
        title="eluder: bound, and a sequence (marks)",
    )
    left.legend(loc="upper left")
    for i, outputs in enumerate(OUTPUTS):
        part, color = covering[covering.d == outputs], figures.CYCLE[i]
        middle.plot(part.ratio, part.corrected, color=color, lw=1.0, label=f"exponent $d_φ d$, d = {outputs}")
        middle.plot(part.ratio, part.packing, figures.MARKERS[i], color=color)
    stated = covering[covering.d == 1]
    middle.plot(stated.ratio, stated.stated, color=figures.INK, ls="--", label="exponent $d_φ$ (displayed)")
    middle.set(xscale="log", yscale="log", xlabel="W B / ε", ylabel="covering number")
    middle.set(title="covering, $d_φ$ = 1: bound, certificate (marks)", ylim=(0.7, 1e10))
    middle.legend(loc="upper left")
    right.plot(bound.episodes, bound.bound, color=figures.BLUE, label="explicit bound, all constants")
    right.plot(bound.episodes, bound.trivial, color=figures.REFERENCE, ls="--", label="H K (always true)")
    right.set(
        xscale="log",
        yscale="log",
        xlabel="episodes K",
        ylabel="regret (reward)",
        title="the bound, problem B",
    )
    right.legend()
    figures.save(figure, out, "complexity")


def main() -> None:
    out = tables.out_folder(__doc__)
    eluder, covering, bound = eluder_table(), covering_table(), bound_table()
    tables.write(eluder, out, "complexity_eluder")
    tables.write(covering, out, "complexity_covering")
    tables.write(bound, out, "complexity_bound")
    draw(eluder, covering, bound, out)


if __name__ == "__main__":
    main()
