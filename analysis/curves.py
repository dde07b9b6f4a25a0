"""Return against environment steps, smoothed over the window (the paper's Figures 1, 2 and 3).

`python -m analysis.curves results/<study>` writes `figures/<id>.{pdf,svg,png}` for each figure of the
study, with the study's metric. The line is the mean over seeds, the band one sample std to either side;
the short lines to the right of a panel are the paper's final values.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analysis import figure_files
from analysis.aggregate import Frames, read_frames
from analysis.files import study_main
from analysis.study import METRIC_TITLES, Study
from analysis.styles import Style, styles
from analysis.tables import paper_figure

GUTTER = 0.1  # of the width: where the paper's final values are drawn


def mean_curves(curves: pd.DataFrame) -> pd.DataFrame:
    """Mean, std and number of seeds at each grid step of each label, task and metric."""
    grouped = curves.groupby(["metric", "task", "label", "step"], sort=False)["return"]
    return grouped.agg(mean="mean", std="std", n="count").reset_index()


def figure_labels(study: Study, spec: dict[str, Any]) -> list[str]:
    """`"*"` means every algorithm but not its variants."""
    wanted = study.plain_labels() if spec["labels"] == "*" else [str(label) for label in spec["labels"]]
    return [label for label in wanted if label in study.labels]


def ablated_setting(study: Study, labels: list[str]) -> str | None:
    """The one number in which these labels of one algorithm differ; None when that is not what they are."""
    if len(labels) < 3 or len({study.labels[label].algorithm for label in labels}) != 1:
        return None
    configs = [study.labels[label].config for label in labels]
    keys = [key for key in configs[0] if len({repr(config.get(key)) for config in configs}) > 1]
    numeric = all(isinstance(config.get(key), int | float) for config in configs for key in keys)
    return keys[0] if len(keys) == 1 and numeric else None


def draw_curves(study: Study, curves: pd.DataFrame, spec: dict[str, Any]) -> Figure:
    """One panel per task and one legend for all."""
    tasks = [task for task in spec["tasks"] if task in study.tasks]
    labels = figure_labels(study, spec)
    looks = styles(study)
    columns = min(4, max(len(tasks), 1))
    rows = max(math.ceil(len(tasks) / columns), 1)
    figure, axes_grid = plt.subplots(rows, columns, figsize=_size(columns, rows), squeeze=False)
    chosen = mean_curves(curves[(curves["metric"] == study.metric) & curves["label"].isin(labels)])
    for index, axes in enumerate(axes_grid.flat):
        if index < len(tasks):
            _draw_task(axes, study, chosen[chosen["task"] == tasks[index]], tasks[index], labels, looks)
        else:
            axes.set_visible(False)
    for axes in axes_grid[:, 0]:
        axes.set_ylabel("return")
    for index in range(max(len(tasks) - columns, 0), len(tasks)):
        axes_grid.flat[index].set_xlabel("environment steps")
    _legend(figure, study, {label: study.title(label) for label in labels}, looks)
    return figure


def _size(columns: int, rows: int) -> tuple[float, float]:
    return 2.9 * columns + 0.3, 2.2 * rows + 0.9


def _draw_task(
    axes: Axes, study: Study, frame: pd.DataFrame, task: str, labels: list[str], looks: dict[str, Style]
) -> None:
    present = [label for label in labels if (frame["label"] == label).any()]
    end = int(frame["step"].max()) if present else study.steps
    if present:
        sns.lineplot(
            data=frame,
            x="step",
            y="mean",
            hue="label",
            style="label",
            hue_order=present,
            style_order=present,
            palette={label: looks[label].colour for label in present},
            dashes={label: looks[label].matplotlib_dash for label in present},
            estimator=None,  # `mean_curves` did it, for all tasks at once
            errorbar=None,
            linewidth=1.3,
            legend=False,
            ax=axes,
        )
        for label in present:
            line = frame[frame["label"] == label]
            low, high = line["mean"] - line["std"], line["mean"] + line["std"]
            axes.fill_between(line["step"], low, high, color=looks[label].colour, alpha=0.15, linewidth=0)
            if line["step"].iloc[-1] < end:
                # A smaller budget (planners that learn nothing): its last value as a level to compare with.
                level = line["mean"].iloc[-1]
                ends = (line["step"].iloc[-1], end)
                axes.plot(ends, (level, level), color=looks[label].colour, linewidth=0.6)
    else:
        axes.text(
            0.5, 0.5, "no finished run", transform=axes.transAxes, ha="center", va="center", color="0.4"
        )
    _paper_lines(axes, study, task, labels, looks, end)
    axes.set_title(study.paper_name(task))
    axes.set_xlim(0, end * (1 + GUTTER))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
    axes.set(xlabel="", ylabel="")


def _paper_lines(
    axes: Axes, study: Study, task: str, labels: list[str], looks: dict[str, Style], end: int
) -> None:
    ends = (end, end * (1 + GUTTER))
    axes.axvspan(*ends, color="0.92", linewidth=0, zorder=0)
    for label in labels:
        paper, _ = paper_figure("main_table1", task, study.title(label))
        if paper is not None:
            axes.plot(
                ends, (paper.mean, paper.mean), linewidth=1.6, solid_capstyle="butt", **_line(looks[label])
            )


def _line(look: Style) -> dict[str, Any]:
    return {"color": look.colour, "dashes": look.matplotlib_dash or (None, None)}


def _thousands(value: float, _: object) -> str:
    return f"{value / 1000:g}K" if value >= 1000 else f"{value:g}"


def _legend(figure: Figure, study: Study, texts: dict[str, str], looks: dict[str, Style]) -> None:
    handles = [Line2D([], [], linewidth=1.6, **_line(looks[label])) for label in texts]
    width, height = figure.get_size_inches()
    entry = 0.6 + 0.085 * max((len(text) for text in texts.values()), default=1)  # inches
    columns = max(1, min(len(texts), int(width / entry)))
    lines = math.ceil(len(texts) / columns)
    note = textwrap.fill(
        f"mean ± std over seeds, smoothed over {study.window:,} steps; "
        f"{METRIC_TITLES[study.metric]}; grey margin: the paper's final values",
        int(width / 0.055),  # inches for a letter
    )
    note_height = 0.12 * note.count("\n")
    bottom = (0.28 + note_height + 0.2 * lines) / height
    figure.legend(
        handles,
        list(texts.values()),
        loc="lower center",
        ncol=columns,
        frameon=False,
        bbox_to_anchor=(0.5, (0.16 + note_height) / height),
    )
    figure.text(0.5, 0.06 / height, note, ha="center", va="bottom", fontsize=7, color="0.35")
    figure.tight_layout(rect=(0, bottom, 1, 1))


def draw_ablation(study: Study, frames: Frames, spec: dict[str, Any], setting: str) -> Figure:
    """Curves on the left; on the right the final return against the setting, one dot per seed."""
    task = str(spec["tasks"][0])
    labels = sorted(figure_labels(study, spec), key=lambda label: float(study.labels[label].config[setting]))
    looks = _ramp(labels)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3))
    curves = frames.curves
    chosen = curves[
        (curves["metric"] == study.metric) & (curves["task"] == task) & curves["label"].isin(labels)
    ]
    _draw_task(left, study, mean_curves(chosen), task, labels, looks)
    left.set(xlabel="environment steps", ylabel="return")
    finals = frames.finals
    finals = finals[
        (finals["metric"] == study.metric) & (finals["task"] == task) & finals["label"].isin(labels)
    ]
    values = finals["label"].map({label: float(study.labels[label].config[setting]) for label in labels})
    finals = finals.assign(value=values).dropna(subset=["return"]).sort_values("value")
    if len(finals):
        means = finals.groupby("value")["return"].mean()
        right.plot(means.index, means.to_numpy(), color="0.5", linewidth=1, zorder=1)
        right.scatter(
            finals["value"],
            finals["return"],
            c=[looks[label].colour for label in finals["label"]],
            s=22,
            zorder=2,
        )
        right.scatter(means.index, means.to_numpy(), marker="_", s=260, color="black", zorder=3)
        if (means.index.to_numpy() > 0).all():
            right.set_xscale("log", base=2)
        ticks = means.index.to_numpy()
        right.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        right.minorticks_off()
    right.set(xlabel=setting.replace("_", " "), ylabel="final return", title="each seed, and the mean")
    name = setting.replace("_", " ")
    _legend(
        figure, study, {label: f"{study.labels[label].config[setting]:g} {name}" for label in labels}, looks
    )
    return figure


def _ramp(labels: list[str]) -> dict[str, Style]:
    """Light to dark along an ordered setting, legible without colour."""
    colours = sns.color_palette("cividis_r", len(labels) + 1).as_hex()[1:]
    return {label: Style(str(colour), "") for label, colour in zip(labels, colours, strict=True)}


def draw(study: Study, frames: Frames, spec: dict[str, Any]) -> Figure:
    labels = figure_labels(study, spec)
    setting = ablated_setting(study, labels)
    if setting is not None and len(spec["tasks"]) == 1 and spec["tasks"][0] in study.tasks:
        return draw_ablation(study, frames, spec, setting)
    return draw_curves(study, frames.curves, spec)


def run_step(study: Study, frames: Frames | None = None) -> None:
    frames = frames or read_frames(study)
    figure_files.set_up()
    for spec in study.figures:
        figure_files.save(draw(study, frames, spec), study.directory / "figures", str(spec["id"]))


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_step, __doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
