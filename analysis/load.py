"""Run directories to tidy frames. A bad file never stops the analysis: it becomes a `Problem`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.study import METRICS, Metric, Run, Study

FILES: dict[Metric, str] = {"evaluation": "evaluations.csv", "training": "episodes.csv"}
COLUMNS: dict[Metric, tuple[str, ...]] = {
    "evaluation": ("step", "episode", "return", "length"),
    "training": ("episode", "step", "return", "length", "terminated"),
}


@dataclass(frozen=True)
class Problem:
    """Something the reader of the page must know. `run` is empty when no planned run is concerned."""

    kind: str
    path: str
    message: str
    run: str = ""


@dataclass
class LoadedRun:
    """One finished run: its manifest and its two logs (columns `step`, `return`, `length`)."""

    run: Run
    manifest: dict[str, Any]
    logs: dict[Metric, pd.DataFrame]


@dataclass
class Loaded:
    runs: list[LoadedRun] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem_frame(self) -> pd.DataFrame:
        columns = ["kind", "path", "message", "run"]
        return pd.DataFrame([asdict(problem) for problem in self.problems], columns=columns)


class BadRun(Exception):
    def __init__(self, kind: str, path: Path, message: str) -> None:
        super().__init__(message)
        self.kind, self.path, self.message = kind, path, message


def load_runs(study: Study) -> Loaded:
    """Every run the study asks for, and what is wrong with those that cannot be used."""
    loaded = Loaded()
    for run in study.runs:
        try:
            loaded.runs.append(load_run(run))
        except BadRun as bad:
            name = f"{run.label} / {run.task} / seed {run.seed}"
            loaded.problems.append(Problem(bad.kind, _shown(bad.path, study), bad.message, name))
    loaded.problems += list(_value_problems(loaded.runs, study))
    loaded.problems += list(_unknown_folders(study))
    return loaded


def load_run(run: Run) -> LoadedRun:
    manifest = _manifest(run)
    logs = {metric: _log(run.path / FILES[metric], COLUMNS[metric]) for metric in METRICS}
    episodes = manifest.get("episodes")
    found = len(logs["training"])
    if isinstance(episodes, int) and episodes != found:
        path = run.path / FILES["training"]
        raise BadRun("truncated", path, f"{found} episodes, but the manifest says {episodes}")
    return LoadedRun(run, manifest, logs)


def _manifest(run: Run) -> dict[str, Any]:
    path = run.path / "manifest.json"
    if not path.exists():
        raise _why_missing(run, path)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadRun("unreadable", path, f"not valid JSON ({error})") from None
    if not isinstance(manifest, dict):
        raise BadRun("unreadable", path, "not a JSON object")
    # A run copied into the wrong folder would count one seed twice.
    for key, expected in (("label", run.label), ("task", run.task), ("seed", run.seed)):
        if manifest.get(key) != expected:
            raise BadRun(
                "mismatch",
                path,
                f"says {key} {manifest.get(key)!r}, but its folder is that of {expected!r}: left out",
            )
    return manifest


def _why_missing(run: Run, path: Path) -> BadRun:
    failure = run.path / "failure.json"
    if failure.exists():
        try:
            told = json.loads(failure.read_text(encoding="utf-8"))
            return BadRun(
                "crashed", failure, f"crashed at step {told.get('step', '?')}: {told.get('error', '?')}"
            )
        except (ValueError, AttributeError):
            return BadRun("crashed", failure, "crashed (its failure.json is unreadable)")
    if (run.path / "progress.json").exists():
        return BadRun("running", path, "not finished")
    return BadRun("missing", path, "not run")


def _log(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise BadRun("missing", path, "no such file although the run has a manifest") from None
    if not text.endswith(b"\n"):
        raise BadRun("truncated", path, "the last line is cut off")
    try:
        frame = pd.read_csv(path, usecols=["step", "return", "length"], dtype=np.float64)
    except (ValueError, pd.errors.ParserError) as error:
        raise BadRun("unreadable", path, _first_bad_line(text, columns) or str(error)) from None
    if frame["step"].isna().any() or frame["length"].isna().any():
        raise BadRun("unreadable", path, _first_bad_line(text, columns) or "an empty cell")
    if not frame["step"].is_monotonic_increasing:
        raise BadRun("unreadable", path, "the steps decrease")
    return frame


def _first_bad_line(text: bytes, columns: tuple[str, ...]) -> str:
    """Where the file stops being the table it should be, in words; empty when every line looks right."""
    lines = csv.reader(text.decode("utf-8", errors="replace").splitlines())
    header = next(lines, [])
    missing = [name for name in columns if name not in header]
    if missing:
        return f"column {missing[0]!r} is missing"
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            return f"line {number} has {len(line)} of {len(header)} cells"
        for name in ("step", "return", "length"):
            try:
                float(line[header.index(name)])
            except ValueError:
                return f"line {number}: {name} is {line[header.index(name)]!r}"
    return ""


def _value_problems(runs: list[LoadedRun], study: Study) -> Iterator[Problem]:
    for loaded in runs:
        name = f"{loaded.run.label} / {loaded.run.task} / seed {loaded.run.seed}"
        for metric, log in loaded.logs.items():
            path = _shown(loaded.run.path / FILES[metric], study)
            bad = ~np.isfinite(log["return"].to_numpy())
            if bad.any():
                step = int(log["step"].to_numpy()[bad][0])
                message = f"{int(bad.sum())} returns are not finite, the first at step {step}"
                yield Problem("not finite", path, message, name)
        steps = loaded.manifest.get("steps")
        if isinstance(steps, int) and steps != loaded.run.steps:
            path = _shown(loaded.run.path / "manifest.json", study)
            yield Problem(
                "unequal length", path, f"ran {steps} steps, the study asks for {loaded.run.steps}", name
            )


def _unknown_folders(study: Study) -> Iterator[Problem]:
    """Folders of runs that the study does not ask for: shown, so that nobody wonders where they are."""
    if not study.runs_directory.is_dir():
        return
    planned = {run.path for run in study.runs}
    labels = {run.label for run in study.runs}
    for folder in sorted(study.runs_directory.iterdir()):
        if folder.is_dir() and folder.name not in labels:
            yield Problem(
                "unknown", _shown(folder, study), "the study asks for no run of this name: left out"
            )
        elif folder.is_dir():
            for path in sorted(folder.glob("*/seed-*")):
                if path not in planned:
                    yield Problem(
                        "unknown", _shown(path, study), "the study does not ask for this run: left out"
                    )


def _shown(path: Path, study: Study) -> str:
    return path.relative_to(study.directory).as_posix() if path.is_relative_to(study.directory) else str(path)
