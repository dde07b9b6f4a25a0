"""The numbers behind the page's interactive charts, as compact JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
from markupsafe import Markup

from analysis.curves import mean_curves
from analysis.reliability import Reliability
from analysis.study import METRIC_TITLES, METRICS, Study
from analysis.styles import styles
from analysis.tables import paper_figure


def chart_data(study: Study, curves: pd.DataFrame, reliability: Reliability) -> dict[str, Any]:
    looks = styles(study)
    plain = set(study.plain_labels())
    means = mean_curves(curves)
    tasks = [task for task in study.tasks if (means["task"] == task).any()]
    return {
        "metric": study.metric,
        "metrics": {metric: METRIC_TITLES[metric] for metric in METRICS},
        "steps": study.steps,
        "labels": [
            {
                "id": name,
                "title": label.title,
                "colour": looks[name].colour,
                "dash": looks[name].dash,
                "on": name in plain,
            }
            for name, label in study.labels.items()
        ],
        "tasks": [{"id": task, "title": study.paper_name(task)} for task in tasks],
        "curves": {metric: {task: _task_curves(means, metric, task) for task in tasks} for metric in METRICS},
        "paper": {task: _paper_values(study, task) for task in tasks},
        "profiles": {
            str(label): [
                [_short(row.threshold), _short(row.share), _short(row.low), _short(row.high)]
                for row in frame.itertuples()
            ]
            for label, frame in reliability.profiles.groupby("label", sort=False)
        },
    }


def _task_curves(means: pd.DataFrame, metric: str, task: str) -> dict[str, Any]:
    """label → rows of [step, mean, std, seeds]."""
    chosen = means[(means["metric"] == metric) & (means["task"] == task)]
    return {
        str(label): [
            [int(step), _short(mean), _short(std), int(n)]
            for step, mean, std, n in frame[["step", "mean", "std", "n"]].to_numpy()
        ]
        for label, frame in chosen.groupby("label", sort=False)
    }


def _paper_values(study: Study, task: str) -> dict[str, list[float | None]]:
    values = {}
    for name, label in study.labels.items():
        paper, _ = paper_figure("main_table1", task, label.title)
        if paper is not None:
            values[name] = [_short(paper.mean), _short(paper.std)]
    return values


def _short(value: Any) -> float | None:
    """Six significant digits: more would only make the page heavy. NaN has no JSON."""
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def script_json(data: Any) -> Markup:
    """JSON that is safe inside a `<script>` element, whatever the names in it are."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
