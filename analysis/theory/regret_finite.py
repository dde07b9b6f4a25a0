"""Experiment: Bayesian regret on a finite class, with the UCB algorithm of the appendix maximised exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import regret_tables, tables
from analysis.theory.bounds import confidence_radius
from analysis.theory.episodes import random_play_regret
from analysis.theory.finite_class import draw_world, learn, tabulate
from analysis.theory.regulator import Regulator, variants

MODELS, EPISODES, SEED = 128, 150, 75
DELTA = 1.0 / (
    4.0 * EPISODES
)  # so that the chances of leaving the confidence set sum to 1/2 (see docs/theory.md)
TUNED = 16.0


def radius(problem: Regulator) -> float:
    """beta* of lem:confidence_set; a finite class covers itself, so alpha = 0 and the two readings agree."""
    displayed, _ = confidence_radius(
        np.log(MODELS), DELTA, 0.0, problem.horizon, np.array(EPISODES), C=0.0, sigma=problem.sigma
    )
    return float(displayed)


def compute() -> tuple[pd.DataFrame, pd.DataFrame]:
    curves, summaries = [], []
    for name, problem in variants().items():
        rng = np.random.default_rng([SEED, 2])
        theta_ND = problem.prior_scale * rng.standard_normal((MODELS, problem.feature_count))
        models = tabulate(problem, theta_ND)
        world = draw_world(problem, theta_ND, 1, EPISODES, SEED)
        beta = radius(problem)
        regrets = {
            "thompson": learn(models, world, 1, "thompson", beta, SEED),
            "ucb": learn(models, world, 1, "ucb", beta, SEED),
            "ucb_tuned": learn(models, world, 1, "ucb", beta / TUNED, SEED),
            "greedy": learn(models, world, 1, "greedy", beta, SEED),
            "random": random_play_regret(world),
        }
        curves.append(regret_tables.curves(name, regrets))
        summaries.append(regret_tables.summary(name, regrets))
    return pd.concat(curves), pd.concat(summaries)


def draw(curves: pd.DataFrame, out: Path) -> None:
    titles = {name: problem.title for name, problem in variants().items()}
    regret_tables.draw(curves, titles, out, "regret_finite")


def main() -> None:
    out = tables.out_folder(__doc__)
    curves, summary = compute()
    tables.write(curves, out, "regret_finite")
    tables.write(summary, out, "regret_finite_summary")
    draw(curves, out)


if __name__ == "__main__":
    main()
