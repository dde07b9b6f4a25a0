"""Aggregates over tasks with rliable: how the agents compare overall, and how sure that is.

`python -m analysis.reliability results/<study>` writes `statistics/{aggregates,profiles,improvement,
intervals,normalisation,left_out}.csv` and `figures/{aggregates,profiles,improvement}.{pdf,svg,png}`.

Returns are normalised per task: score 0 is MBBL's Random row, score 1 the best mean that MBBL or the paper
published for a learning method at 200K steps (a task without published figures: our own Random row and our
best agent). The unit of resampling is the run: an array of scores has shape (runs, tasks), never
(episodes, tasks).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rliable import library

from analysis import reference
from analysis.aggregate import Frames, read_frames
from analysis.files import study_main, write_csv
from analysis.student import t_quantile
from analysis.study import Study
from analysis.window import Floats

SEED = 20220801
REPETITIONS = 2000
PAIR_REPETITIONS = 500  # the number of pairs grows with the square of the number of agents
LEVEL = 0.95
THRESHOLDS = np.round(np.linspace(-0.25, 1.25, 61), 4)


def aggregates(scores_RT: Floats) -> Floats:
    """rliable's IQM, median, mean and optimality gap, in one go and without scipy's milliseconds."""
    ordered = np.sort(scores_RT, axis=None)
    cut = ordered.size // 4
    means_T = np.sort(scores_RT.mean(axis=0))
    middle = (means_T[(means_T.size - 1) // 2] + means_T[means_T.size // 2]) / 2
    gap = 1.0 - np.minimum(ordered, 1.0).mean()
    return np.array([ordered[cut : ordered.size - cut].mean(), middle, ordered.mean(), gap])


AGGREGATES = ("IQM", "Median", "Mean", "Optimality gap")


@dataclass(frozen=True)
class Scores:
    """Normalised final scores: one (runs, tasks) array per label, all with the same tasks."""

    tasks: tuple[str, ...]
    scores_RT: dict[str, Floats]
    left_out: dict[str, str]  # label or task → why it is not part of the aggregates


@dataclass(frozen=True)
class Reliability:
    aggregates: pd.DataFrame
    profiles: pd.DataFrame
    improvement: pd.DataFrame
    intervals: pd.DataFrame
    normalisation: pd.DataFrame
    left_out: pd.DataFrame


def normalisation(study: Study, cells: pd.DataFrame) -> pd.DataFrame:
    """What score 0 and score 1 mean on each task."""
    rows = []
    for task in study.tasks:
        scale = reference.published_scale(task)
        if scale is not None:
            rows.append((task, scale.low, scale.high, "MBBL Random", f"{scale.best}, published"))
            continue
        own = cells[(cells["task"] == task) & (cells["metric"] == study.metric)].dropna(subset=["mean"])
        chance = own[own["algorithm"] == "random"]["mean"]
        if len(chance) and own["mean"].max() > chance.iloc[0]:
            best = own.loc[own["mean"].idxmax()]
            rows.append(
                (task, float(chance.iloc[0]), float(best["mean"]), "our Random", f"our {best['label']}")
            )
    return pd.DataFrame(rows, columns=["task", "low", "high", "low_source", "high_source"])


def normalise(finals: pd.DataFrame, scale: pd.DataFrame) -> pd.DataFrame:
    """Adds `score`; rows of tasks without a scale are dropped."""
    merged = finals.merge(scale[["task", "low", "high"]], on="task", how="inner")
    return merged.assign(score=(merged["return"] - merged["low"]) / (merged["high"] - merged["low"]))


def score_arrays(study: Study, finals: pd.DataFrame, scale: pd.DataFrame, metric: str) -> Scores:
    """Complete (runs, tasks) arrays for as many labels as possible.

    The tasks are chosen from the study's plan (`_common_tasks`), without those on which more than half of
    the agents have fewer than two runs. A label that then still lacks a task is left out and named. With
    unequal numbers of seeds the lowest counts, in the order of the seeds.
    """
    usable = normalise(finals[finals["metric"] == metric], scale).dropna(subset=["score"])
    counts = usable.groupby(["label", "task"]).size()
    asked: dict[str, dict[str, None]] = {}
    for run in study.runs:
        asked.setdefault(run.label, {})[run.task] = None
    left_out = dict.fromkeys(study.tasks, "no scale: neither published figures nor our own Random row")
    for task in scale["task"]:
        left_out.pop(str(task), None)
    candidates = [set(tasks) & set(scale["task"]) for tasks in asked.values()]
    common = _common_tasks(candidates)
    competing = [label for label, tasks in asked.items() if common <= set(tasks)]

    def lacking(label: str, tasks: set[str]) -> list[str]:
        return sorted(task for task in tasks if counts.get((label, task), 0) < 2)

    for task in sorted(common):
        short = sum(task in lacking(label, {task}) for label in competing)
        if competing and short > len(competing) / 2:
            common = common - {task}
            left_out[task] = "more than half of the agents have fewer than two finished runs on it"
    scores = {}
    tasks = tuple(task for task in study.tasks if task in common)
    for label, planned in asked.items():
        missing = sorted(common - set(planned))
        if missing:
            left_out[label] = f"the study does not ask for it on {', '.join(missing)}"
        elif lacking(label, common):
            left_out[label] = f"fewer than two finished runs on {', '.join(lacking(label, common))}"
        elif tasks:
            scores[label] = _array(usable[usable["label"] == label], tasks)
    return Scores(tasks, scores, left_out)


def _common_tasks(planned: list[set[str]]) -> set[str]:
    """The plan of some label that lets the most labels in, if it has two thirds of the usual plan's tasks.

    So SPEDE-REG with its 10 tasks is compared with agents that have 12, on the 10; but an ablation with
    4 tasks neither joins nor narrows the comparison, and a label with extra tasks pushes nobody out.
    """
    plans = [plan for plan in planned if plan]
    if not plans:
        return set()

    def members(plan: set[str]) -> int:
        return sum(plan <= other for other in plans)

    usual = max(plans, key=lambda plan: (members(plan) * len(plan), len(plan)))
    wide = [plan for plan in plans if 3 * len(plan) >= 2 * len(usual)]
    return max(wide, key=lambda plan: (members(plan), len(plan)))


def _array(frame: pd.DataFrame, tasks: tuple[str, ...]) -> Floats:
    columns = [frame[frame["task"] == task].sort_values("seed")["score"].to_numpy() for task in tasks]
    runs = min(len(column) for column in columns)
    return np.stack([column[:runs] for column in columns], axis=1)


def interval(
    scores: Any, function: Callable[..., NDArray[np.float64]], repetitions: int
) -> tuple[Floats, Floats, Floats]:
    """Point estimate and stratified bootstrap interval of one agent (or one pair).

    rliable ignores its `random_state` and draws from numpy's global generator: it is seeded here before
    each call and put back afterwards, so no interval depends on which agents came before it.
    """
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(SEED)  # noqa: NPY002
    try:
        point, bounds = library.get_interval_estimates(
            {"one": scores}, function, reps=repetitions, confidence_interval_size=LEVEL
        )
    finally:
        np.random.set_state(before)  # noqa: NPY002
    return np.asarray(point["one"]), np.asarray(bounds["one"])[0], np.asarray(bounds["one"])[1]


def profile(scores_RT: Floats) -> Floats:
    """The share of runs with a score above each threshold (rliable's score distribution)."""
    ordered = np.sort(scores_RT, axis=None)
    return 1.0 - np.searchsorted(ordered, THRESHOLDS, side="right") / ordered.size


def agent_frames(scores: Scores) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Aggregates and performance profile of each agent, from one bootstrap for both."""

    def together(scores_RT: Floats) -> Floats:
        return np.concatenate([aggregates(scores_RT), profile(scores_RT)])

    rows, shares = [], []
    for label, scores_RT in scores.scores_RT.items():
        point, low, high = interval(scores_RT, together, REPETITIONS)
        values = list(zip(point, low, high, strict=True))
        named, curve = values[: len(AGGREGATES)], values[len(AGGREGATES) :]
        rows += [
            (label, name, *value, *scores_RT.shape) for name, value in zip(AGGREGATES, named, strict=True)
        ]
        shares += [(label, tau, *value) for tau, value in zip(THRESHOLDS, curve, strict=True)]
    return (
        pd.DataFrame(rows, columns=["label", "aggregate", "value", "low", "high", "runs", "tasks"]),
        pd.DataFrame(shares, columns=["label", "threshold", "share", "low", "high"]),
    )


def probability_of_improvement(scores_x_RT: Floats, scores_y_RT: Floats) -> float:
    """The mean over tasks of P(a run of x beats a run of y); the same as rliable's, without a test per task."""
    wins = scores_x_RT[:, None, :] - scores_y_RT[None, :, :]
    return float(np.mean((np.sign(wins) + 1) / 2))


def improvement_frame(scores: Scores) -> pd.DataFrame:
    def both(scores_x_RT: Floats, scores_y_RT: Floats) -> Floats:
        return np.array([probability_of_improvement(scores_x_RT, scores_y_RT)])

    rows = []
    for x, y in combinations(scores.scores_RT, 2):
        point, low, high = interval((scores.scores_RT[x], scores.scores_RT[y]), both, PAIR_REPETITIONS)
        rows.append((x, y, float(point[0]), float(low[0]), float(high[0])))
    mirrored = [(y, x, 1 - value, 1 - high, 1 - low) for x, y, value, low, high in rows]
    return pd.DataFrame(rows + mirrored, columns=["x", "y", "probability", "low", "high"])


def interval_frame(cells: pd.DataFrame) -> pd.DataFrame:
    """Student's t interval of each cell's mean, for both metrics: what four seeds alone can say."""
    usable = cells[cells["n"] >= 2]
    half = t_quantile(0.5 + LEVEL / 2, usable["n"] - 1) * usable["std"] / np.sqrt(usable["n"])
    columns = ["label", "task", "metric", "n", "mean", "low", "high"]
    return usable.assign(low=usable["mean"] - half, high=usable["mean"] + half)[columns].reset_index(
        drop=True
    )


def analyse(study: Study, frames: Frames) -> Reliability:
    scale = normalisation(study, frames.cells)
    scores = score_arrays(study, frames.finals, scale, study.metric)
    left_out = pd.DataFrame(scores.left_out.items(), columns=["name", "why"])
    overall, profiles = agent_frames(scores)
    return Reliability(
        aggregates=overall,
        profiles=profiles,
        improvement=improvement_frame(scores),
        intervals=interval_frame(frames.cells),
        normalisation=scale.assign(used=scale["task"].isin(scores.tasks)),
        left_out=left_out,
    )


def run_step(study: Study, frames: Frames | None = None) -> Reliability:
    from analysis import reliability_figures

    result = analyse(study, frames or read_frames(study))
    for name in Reliability.__dataclass_fields__:
        write_csv(study.directory / "statistics" / f"{name}.csv", getattr(result, name))
    reliability_figures.write(study, result)
    return result


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_step, __doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
