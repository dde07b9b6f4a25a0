"""Experiment: Bayesian regret of Algorithm 1 on the linear class, beside greedy and random play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import regret_tables, tables
from analysis.theory.linear_class import draw_world, learn, play_randomly
from analysis.theory.regulator import variants

DRAWS, EPISODES, SEED = 64, 300, 74


def compute() -> tuple[pd.DataFrame, pd.DataFrame]:
    curves, summaries = [], []
    for name, problem in variants().items():
        world = draw_world(problem, DRAWS, EPISODES, SEED)
        played = {
            "thompson": learn(world, "thompson", SEED),
            "greedy": learn(world, "greedy", SEED),
            "random": play_randomly(world),
        }
        regrets = {agent: result.regret_KI for agent, result in played.items()}
        curves.append(regret_tables.curves(name, regrets))
        summary = regret_tables.summary(name, regrets)
        summary["one_policy_share"] = [
            float(np.mean(played[agent].policies_I == 1)) for agent in summary.agent
        ]
        summaries.append(summary)
    return pd.concat(curves), pd.concat(summaries)


def draw(curves: pd.DataFrame, out: Path) -> None:
    titles = {name: problem.title for name, problem in variants().items()}
    regret_tables.draw(curves, titles, out, "regret_linear")


def main() -> None:
    out = tables.out_folder(__doc__)
    curves, summary = compute()
    tables.write(curves, out, "regret_linear")
    tables.write(summary, out, "regret_linear_summary")
    draw(curves, out)


if __name__ == "__main__":
    main()
