"""Figures of the aggregates: intervals, performance profiles, probability of improvement."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from analysis import figure_files
from analysis.reliability import AGGREGATES, LEVEL, Reliability
from analysis.study import Study
from analysis.styles import styles


def write(study: Study, result: Reliability) -> None:
    figure_files.set_up()
    folder = study.directory / "figures"
    figure_files.save(draw_aggregates(study, result), folder, "aggregates")
    figure_files.save(draw_profiles(study, result), folder, "profiles")
    figure_files.save(draw_improvement(study, result), folder, "improvement")


def _ranked(result: Reliability) -> list[str]:
    """Labels by their IQM, the best first."""
    iqm = result.aggregates[result.aggregates["aggregate"] == "IQM"]
    return list(iqm.sort_values("value", ascending=False, kind="stable")["label"])


def _empty(text: str) -> Figure:
    figure, axes = plt.subplots(figsize=(6, 1.6))
    axes.text(0.5, 0.5, text, ha="center", va="center", color="0.35")
    axes.set_axis_off()
    return figure


NOTHING = "No agent has two finished runs on every common task:\nthere is nothing to aggregate."


def draw_aggregates(study: Study, result: Reliability) -> Figure:
    labels, looks = _ranked(result), styles(study)
    if not labels:
        return _empty(NOTHING)
    figure, axes_row = plt.subplots(1, len(AGGREGATES), figsize=(10, 0.27 * len(labels) + 1.3), sharey=True)
    for axes, name in zip(axes_row, AGGREGATES, strict=True):
        frame = result.aggregates[result.aggregates["aggregate"] == name].set_index("label").loc[labels]
        for row, label in enumerate(labels):
            cell = frame.loc[label]
            axes.barh(
                row,
                cell["high"] - cell["low"],
                left=cell["low"],
                height=0.6,
                color=looks[label].colour,
                alpha=0.45,
            )
            axes.plot([cell["value"]] * 2, [row - 0.36, row + 0.36], color="black", linewidth=1.4)
        axes.set_title(name + (" (lower is better)" if name == "Optimality gap" else ""), fontsize=9)
        axes.grid(visible=False, axis="y")
    axes_row[0].set_yticks(range(len(labels)), [study.title(label) for label in labels])
    axes_row[0].invert_yaxis()
    runs, tasks = result.aggregates["runs"].min(), result.aggregates["tasks"].iloc[0]
    figure.supxlabel(
        f"normalised score (0: Random, 1: best published); {tasks} tasks, at least {runs} seeds; "
        f"bars: {LEVEL:.0%} stratified bootstrap intervals",
        fontsize=8,
    )
    figure.tight_layout()
    return figure


def draw_profiles(study: Study, result: Reliability) -> Figure:
    labels, looks = _ranked(result), styles(study)
    if not labels:
        return _empty(NOTHING)
    figure, axes = plt.subplots(figsize=(7.4, 4))
    for label in labels:
        frame = result.profiles[result.profiles["label"] == label]
        look = looks[label]
        dashes = look.matplotlib_dash or (None, None)
        axes.plot(
            frame["threshold"],
            frame["share"],
            color=look.colour,
            dashes=dashes,
            linewidth=1.4,
            label=study.title(label),
        )
        axes.fill_between(
            frame["threshold"], frame["low"], frame["high"], color=look.colour, alpha=0.08, linewidth=0
        )
    axes.set(xlabel="normalised score τ", ylabel="share of runs with score > τ", ylim=(0, 1.01))
    axes.margins(x=0)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.tight_layout()
    return figure


def draw_improvement(study: Study, result: Reliability) -> Figure:
    labels = _ranked(result)
    if len(labels) < 2:
        return _empty("Fewer than two agents can be compared.")
    titles = [study.title(label) for label in labels]
    grid = result.improvement.pivot(index="x", columns="y", values="probability").reindex(
        index=labels, columns=labels
    )
    sure = result.improvement.assign(
        sure=(result.improvement["low"] > 0.5) | (result.improvement["high"] < 0.5)
    )
    marks = sure.pivot(index="x", columns="y", values="sure").reindex(index=labels, columns=labels)
    texts = np.array(
        [
            [
                "" if x == y else f"{grid.loc[x, y]:.2f}" + ("*" if bool(marks.loc[x, y]) else "")
                for y in labels
            ]
            for x in labels
        ]
    )
    size = 0.52 * len(labels) + 1.8
    figure, axes = plt.subplots(figsize=(size + 0.8, size))
    sns.heatmap(
        grid.to_numpy(dtype=float),
        annot=texts,
        fmt="",
        cmap="PuOr",
        vmin=0,
        vmax=1,
        square=True,
        linewidths=0.5,
        annot_kws={"fontsize": 7},
        xticklabels=titles,
        yticklabels=titles,
        cbar_kws={"shrink": 0.7},
        ax=axes,
    )
    axes.set_title(f"P(row beats column); * the {LEVEL:.0%} interval excludes 0.5", fontsize=9)
    axes.grid(visible=False)
    axes.set_facecolor("0.9")  # nobody competes with itself
    axes.tick_params(axis="x", rotation=60)
    figure.tight_layout()
    return figure
