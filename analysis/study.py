"""What was asked for: `study.json`, read once and checked."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

Metric = Literal["evaluation", "training"]
METRICS: tuple[Metric, ...] = get_args(Metric)
METRIC_TITLES = {"evaluation": "deterministic evaluation episodes", "training": "training episodes"}
FORMAT = 1


class StudyError(Exception):
    """The input cannot be analysed; the message names the file."""


@dataclass(frozen=True)
class Label:
    """One row of a table, one line of a curve."""

    label: str
    algorithm: str
    variant: str
    title: str
    kind: str
    config: dict[str, Any]


@dataclass(frozen=True)
class Run:
    label: str
    task: str
    seed: int
    steps: int
    path: Path


@dataclass(frozen=True)
class Study:
    directory: Path
    name: str
    scale: str
    steps: int
    seeds: tuple[int, ...]
    window: int
    metric: Metric
    straddle: str
    evaluation_every: int
    evaluation_episodes: int
    theory: bool
    tasks: dict[str, dict[str, Any]]
    labels: dict[str, Label]
    runs: tuple[Run, ...]
    tables: tuple[dict[str, Any], ...]
    figures: tuple[dict[str, Any], ...]

    @property
    def runs_directory(self) -> Path:
        return self.directory / "runs"

    @property
    def theory_directory(self) -> Path | None:
        """Where the theory's figures are, if the study wants them and they have been made."""
        directory = self.directory.parent / "theory"
        return directory if self.theory and (directory / "sections.json").exists() else None

    def title(self, label: str) -> str:
        return self.labels[label].title

    def paper_name(self, task: str) -> str:
        return str(self.tasks[task].get("paper_name") or task)

    def plain_labels(self) -> list[str]:
        """Labels that stand for an algorithm: not a variant, unless the study has only variants of it."""
        plain = {label.algorithm for label in self.labels.values() if not label.variant}
        return [
            name for name, label in self.labels.items() if not label.variant or label.algorithm not in plain
        ]


def load_study(directory: Path | str) -> Study:
    """Read `<directory>/study.json`; every complaint names that file."""
    directory = Path(directory)
    path = directory / "study.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file; run the workflow's rule `plan` first") from None
    except ValueError as error:
        raise StudyError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise StudyError(f"{path}: format {FORMAT} expected")
    try:
        study = _build(directory, raw)
    except (KeyError, TypeError, ValueError) as error:
        raise StudyError(f"{path}: {type(error).__name__}: {error}") from None
    _check(study, path)
    return study


def _build(directory: Path, raw: dict[str, Any]) -> Study:
    return Study(
        directory=directory,
        name=str(raw["study"]),
        scale=str(raw.get("scale", raw["study"])),
        steps=int(raw["steps"]),
        seeds=tuple(int(seed) for seed in raw["seeds"]),
        window=int(raw["window"]),
        metric=raw["metric"],
        straddle=str(raw.get("straddle", "end")),
        evaluation_every=int(raw["evaluation"]["every"]),
        evaluation_episodes=int(raw["evaluation"]["episodes"]),
        theory=bool(raw.get("theory", False)),
        tasks={str(name): dict(entry or {}) for name, entry in raw["tasks"].items()},
        labels={
            str(name): Label(
                label=str(name),
                algorithm=str(entry["algorithm"]),
                variant=str(entry.get("variant") or ""),
                title=str(entry.get("title") or name),
                kind=str(entry.get("kind") or ""),
                config=dict(entry.get("config") or {}),
            )
            for name, entry in raw["labels"].items()
        },
        runs=tuple(
            Run(
                label=str(run["label"]),
                task=str(run["task"]),
                seed=int(run["seed"]),
                steps=int(run.get("steps", raw["steps"])),
                path=directory / str(run["path"]),
            )
            for run in raw["runs"]
        ),
        tables=tuple(raw.get("tables") or ()),
        figures=tuple(raw.get("figures") or ()),
    )


def _check(study: Study, path: Path) -> None:
    if study.metric not in METRICS:
        raise StudyError(f"{path}: metric {study.metric!r} is none of {', '.join(METRICS)}")
    if study.steps <= 0 or study.window <= 0 or study.evaluation_every <= 0:
        raise StudyError(f"{path}: steps, window and evaluation.every must be positive")
    for run in study.runs:
        if run.label not in study.labels or run.task not in study.tasks:
            raise StudyError(
                f"{path}: run {run.label} / {run.task} / seed {run.seed} names no known label or task"
            )
    keys = Counter((run.label, run.task, run.seed) for run in study.runs)
    repeated = [key for key, count in keys.items() if count > 1]
    if repeated:
        label, task, seed = repeated[0]
        raise StudyError(f"{path}: seed {seed} of {label} on {task} is listed {keys[repeated[0]]} times")
    for kind, entries in (("table", study.tables), ("figure", study.figures)):
        ids = Counter(str(entry["id"]) for entry in entries)
        for name, count in ids.items():
            if count > 1:
                raise StudyError(f"{path}: {kind} id {name!r} is used {count} times")
            if not name.replace("-", "").replace("_", "").isalnum():
                raise StudyError(
                    f"{path}: {kind} id {name!r} must be letters, digits, '-' and '_' (it names a file)"
                )
