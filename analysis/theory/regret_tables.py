"""What both regret experiments report: curves, end values, slopes, paired differences, and their figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import figures, tables
from analysis.theory.tables import Array

SLOPE_FROM = 30  # episodes left out of the log-log slope: the first ones are the prior's, not the rate's
SHOWN = 60  # points of a drawn curve, evenly spread on the logarithmic axis
ANCHOR = 10  # the line c sqrt(K) goes through Thompson sampling's curve at this episode

AGENTS = {
    "thompson": ("Thompson sampling", figures.BLUE, "-"),
    "ucb": ("UCB, β of the lemma", figures.GREEN, "-"),
    "ucb_tuned": ("UCB, β / 16", figures.SKY, "--"),
    "greedy": ("greedy (posterior mean)", figures.VERMILION, "-"),
    "random": ("random play", figures.PURPLE, "-"),
}


def curves(variant: str, regrets: Mapping[str, Array]) -> pd.DataFrame:
    """Cumulative regret, mean and standard error over prior draws, one row for each agent and episode."""
    rows = []
    for agent, regret_KI in regrets.items():
        mean_K, error_K = tables.mean_and_error(regret_KI.cumsum(axis=0), axis=1)
        episode_K = np.arange(1, len(mean_K) + 1)
        rows.append(
            pd.DataFrame(
                {
                    "variant": variant,
                    "agent": agent,
                    "episode": episode_K,
                    "regret": mean_K,
                    "regret_se": error_K,
                }
            )
        )
    return pd.concat(rows)


def summary(variant: str, regrets: Mapping[str, Array]) -> pd.DataFrame:
    """End values; the slope of log regret in log k; the excess over Thompson sampling, paired by draw."""
    rows = []
    thompson_I = regrets["thompson"].sum(axis=0)
    for agent, regret_KI in regrets.items():
        total_I = regret_KI.sum(axis=0)
        mean, error = tables.mean_and_error(total_I)
        excess, excess_error = tables.mean_and_error(total_I - thompson_I)
        mean_K = regret_KI.cumsum(axis=0).mean(axis=1)
        episode_K = np.arange(1.0, len(mean_K) + 1.0)
        rows.append(
            {
                "variant": variant,
                "agent": agent,
                "draws": regret_KI.shape[1],
                "episodes": len(mean_K),
                "regret": mean,
                "regret_se": error,
                "slope": tables.log_slope(episode_K[SLOPE_FROM:], mean_K[SLOPE_FROM:]),
                "excess_over_thompson": excess,
                "excess_se": excess_error,
                "smallest_regret": regret_KI.min(),
            }
        )
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, titles: Mapping[str, str], out: Path, name: str) -> None:
    figure, axes = figures.panels(2, rows=2, width=3.9, height=2.7)
    shown = np.unique(np.geomspace(1.0, table.episode.max(), SHOWN).round())
    table = table[table.episode.isin([*shown, ANCHOR])]
    for ax, (variant, title) in zip(axes, titles.items(), strict=True):
        part = table[table.variant == variant]
        for agent, (label, color, style) in AGENTS.items():
            curve = part[part.agent == agent]
            if curve.empty:
                continue
            ax.plot(curve.episode, curve.regret, color=color, ls=style, label=label)
            ax.fill_between(
                curve.episode,
                curve.regret - 2.0 * curve.regret_se,
                curve.regret + 2.0 * curve.regret_se,
                color=color,
                alpha=0.2,
                lw=0,
            )
        thompson = part[part.agent == "thompson"].set_index("episode").regret
        episode = thompson.index.to_numpy(dtype=np.float64)
        reference = thompson.loc[ANCHOR] * np.sqrt(episode / ANCHOR)
        ax.plot(episode, reference, color=figures.REFERENCE, lw=1.0, ls=":", label="c √K")
        ax.set(xscale="log", yscale="log", title=title, xlabel="episode K")
    for ax in axes[::2]:
        ax.set_ylabel("cumulative regret (reward)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figures.save(figure, out, name)
