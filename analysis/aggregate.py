"""Runs to the tidy frames that every later step reads.

`python -m analysis.aggregate results/<study>` writes into `results/<study>/statistics/`:

    finals.csv      one row per planned run and metric: its final performance, or why there is none
    cells.csv       one row per planned cell (label x task) and metric: mean and std over seeds
    curves.csv      one row per run, metric and grid step: the return smoothed over the window
    costs.csv       one row per finished run: time, speed, memory
    problems.csv    what is missing or wrong, with the file's name
    provenance.json versions, commits and machines of the runs
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.costs import cost_frame
from analysis.files import read_csv, study_main, write_csv, write_text
from analysis.load import Loaded, LoadedRun, load_runs
from analysis.study import METRICS, Metric, Run, Study
from analysis.window import Floats, window_counts, window_means

KEYS = ["study", "algorithm", "variant", "label", "task", "seed", "metric"]
CELL = ["label", "task", "metric"]
GRID_POINTS = 50  # of a training curve; an evaluation curve has a point for each evaluation


@dataclass(frozen=True)
class Frames:
    """What `aggregate` computes and the other steps read."""

    finals: pd.DataFrame
    cells: pd.DataFrame
    curves: pd.DataFrame
    costs: pd.DataFrame
    problems: pd.DataFrame
    provenance: dict[str, Any]


def aggregate(study: Study, loaded: Loaded) -> Frames:
    finals = final_frame(study, loaded)
    return Frames(
        finals=finals,
        cells=cell_frame(finals),
        curves=curve_frame(study, loaded),
        costs=cost_frame(study, loaded),
        problems=loaded.problem_frame(),
        provenance=provenance(loaded),
    )


def final_frame(study: Study, loaded: Loaded) -> pd.DataFrame:
    """One row per planned run and metric; `status` says why a `return` is NaN."""
    done = {(item.run.label, item.run.task, item.run.seed): item for item in loaded.runs}
    why = {problem.run: problem.kind for problem in loaded.problems if problem.run}
    rows = []
    for run in study.runs:
        item = done.get((run.label, run.task, run.seed))
        for metric in METRICS:
            if item is None:
                status = why.get(f"{run.label} / {run.task} / seed {run.seed}", "missing")
                found = {"return": np.nan, "episodes": 0, "status": status}
            else:
                found = _final(study, item, metric)
            rows.append({**_keys(study, run, metric), "step": run.steps, **found})
    return pd.DataFrame(rows, columns=[*KEYS, "step", "return", "episodes", "status"])


def _final(study: Study, item: LoadedRun, metric: Metric) -> dict[str, Any]:
    log = item.logs[metric]
    value = float(_smooth(study, item, metric, [item.run.steps])[0])
    count = int(window_counts(log["step"], [item.run.steps], study.window)[0])
    if np.isfinite(value):
        status = "ok"
    elif count:
        status, value = "diverged", np.nan
    else:
        status = "no episode in the window"
    return {"return": value, "episodes": count, "status": status}


def cell_frame(finals: pd.DataFrame) -> pd.DataFrame:
    """Mean and sample std (n - 1) over the seeds of each cell; `asked` seeds were planned, `n` count."""
    grouped = finals.groupby([*CELL, "study", "algorithm", "variant"], sort=False)["return"]
    cells = grouped.agg(mean="mean", std="std", n="count", asked="size").reset_index()
    steps = finals.groupby(CELL, sort=False)["step"].min().rename("steps").reset_index()
    cells = cells.merge(steps, on=CELL)
    return cells[["study", "algorithm", "variant", *CELL, "steps", "mean", "std", "n", "asked"]]


def curve_frame(study: Study, loaded: Loaded) -> pd.DataFrame:
    """Each run's return smoothed over the window, on a common grid; its last point is the final value."""
    keys, steps, returns, sizes = [], [], [], []
    for item in loaded.runs:
        for metric in METRICS:
            grid = curve_grid(item.run.steps, study, metric)
            keys.append(_keys(study, item.run, metric))
            steps.append(grid)
            returns.append(_smooth(study, item, metric, grid))
            sizes.append(len(grid))
    if not keys:
        return pd.DataFrame(columns=[*KEYS, "step", "return"])
    # One frame repeated at once: a frame for each run would take most of the time.
    curves = pd.DataFrame(keys, columns=KEYS).loc[np.repeat(np.arange(len(keys)), sizes)]
    curves = curves.assign(step=np.concatenate(steps), **{"return": np.concatenate(returns)})
    return curves.dropna(subset=["return"]).reset_index(drop=True)


def curve_grid(budget: int, study: Study, metric: Metric) -> Floats:
    """Steps at which a curve has a point; the last one is the run's budget."""
    spacing = study.evaluation_every if metric == "evaluation" else max(study.steps // GRID_POINTS, 1)
    return np.append(np.arange(spacing, budget, spacing, dtype=np.float64), float(budget))


def _smooth(study: Study, item: LoadedRun, metric: Metric, ends: Any) -> Floats:
    log = item.logs[metric]
    # Evaluation episodes have lengths too, but their steps are not steps of the run.
    lengths = log["length"] if metric == "training" else None
    return window_means(log["step"], log["return"], ends, study.window, lengths, study.straddle)


def _keys(study: Study, run: Run, metric: Metric) -> dict[str, Any]:
    label = study.labels[run.label]
    return {
        "study": study.name,
        "algorithm": label.algorithm,
        "variant": label.variant,
        "label": run.label,
        "task": run.task,
        "seed": run.seed,
        "metric": metric,
    }


def provenance(loaded: Loaded) -> dict[str, Any]:
    """Versions, commits and machines over all finished runs: more than one value is worth knowing."""
    versions: dict[str, set[str]] = {}
    commits, machines, commands = set(), set(), []
    for item in loaded.runs:
        manifest = item.manifest
        for name, version in (manifest.get("versions") or {}).items():
            versions.setdefault(str(name), set()).add(str(version))
        git = manifest.get("git") or {}
        if git.get("commit"):
            commits.add(str(git["commit"])[:12] + ("+dirty" if git.get("dirty") else ""))
        machine = manifest.get("machine") or {}
        machines.add(f"{machine.get('cpu', 'unknown CPU')}, {machine.get('platform', 'unknown platform')}")
        commands.append(str(manifest.get("command", "")))
    return {
        "runs": len(loaded.runs),
        "versions": {name: sorted(found) for name, found in sorted(versions.items())},
        "commits": sorted(commits),
        "machines": sorted(machines),
        "command": commands[0] if commands else "",
    }


def write_frames(study: Study, frames: Frames) -> None:
    folder = study.directory / "statistics"
    for name in ("finals", "cells", "curves", "costs", "problems"):
        write_csv(folder / f"{name}.csv", getattr(frames, name))
    write_text(folder / "provenance.json", json.dumps(frames.provenance, indent=1, sort_keys=True) + "\n")


def read_frames(study: Study) -> Frames:
    """What `write_frames` wrote; empty text cells stay text."""
    folder = study.directory / "statistics"

    def read(name: str) -> pd.DataFrame:
        return read_csv(folder / f"{name}.csv")

    return Frames(
        finals=read("finals"),
        cells=read("cells"),
        curves=read("curves"),
        costs=read("costs"),
        problems=read("problems"),
        provenance=json.loads((folder / "provenance.json").read_text(encoding="utf-8")),
    )


def run_step(study: Study) -> Frames:
    frames = aggregate(study, load_runs(study))
    write_frames(study, frames)
    return frames


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_step, __doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
