"""Small studies written by hand, so that every number in a test can be checked on paper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Episodes = Sequence[tuple[int, float, int]]  # step at the end, return, length


def study_json(**changes: Any) -> dict[str, Any]:
    """Two agents on two tasks, two seeds, 100 steps, a window of 40, an evaluation every 20."""
    study: dict[str, Any] = {
        "format": 1,
        "study": "tiny",
        "scale": "paper",
        "steps": 100,
        "seeds": [0, 1],
        "window": 40,
        "metric": "evaluation",
        "evaluation": {"every": 20, "episodes": 1},
        "tasks": {
            "Pendulum": {"paper_name": "Pendulum", "horizon": 20},
            "Hopper-ET": {"paper_name": "Hopper-ET", "horizon": 50},
        },
        "labels": {
            "spede": label("spede", "SPEDE", "representation", features=1024),
            "sac": label("sac", "SAC", "model-free"),
        },
        "tables": [
            {
                "id": "table1",
                "caption": "Table 1",
                "paper_table": "main_table1",
                "panels": [["Pendulum", "Hopper-ET"]],
                "groups": [{"title": "", "labels": ["spede", "sac"]}],
                "others": False,
            }
        ],
        "figures": [{"id": "curves", "caption": "Curves", "tasks": ["Pendulum", "Hopper-ET"], "labels": "*"}],
    }
    study |= changes
    study.setdefault("runs", planned(study))
    return study


def label(algorithm: str, title: str, kind: str, variant: str | None = None, **config: Any) -> dict[str, Any]:
    return {"algorithm": algorithm, "variant": variant, "title": title, "kind": kind, "config": config}


def planned(study: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "label": name,
            "task": task,
            "seed": seed,
            "steps": study["steps"],
            "path": f"runs/{name}/{task}/seed-{seed}",
        }
        for name in study["labels"]
        for task in study["tasks"]
        for seed in study["seeds"]
    ]


def write_run(
    directory: Path,
    run: Mapping[str, Any],
    training: Episodes,
    evaluations: Sequence[tuple[int, float]],
    **manifest: Any,
) -> Path:
    folder = directory / run["path"]
    folder.mkdir(parents=True)
    lines = [f"{i},{step},{value},{length},0" for i, (step, value, length) in enumerate(training)]
    (folder / "episodes.csv").write_text("\n".join(["episode,step,return,length,terminated", *lines]) + "\n")
    lines = [f"{step},0,{value},20" for step, value in evaluations]
    (folder / "evaluations.csv").write_text("\n".join(["step,episode,return,length", *lines]) + "\n")
    content = {
        "format": 1,
        "label": run["label"],
        "task": run["task"],
        "seed": run["seed"],
        "steps": run["steps"],
        "episodes": len(training),
        "versions": {"mujoco": "4.0.0"},
        "git": {"commit": "c0ffee0000000000", "dirty": False},
        "machine": {"cpu": "a CPU", "platform": "a platform"},
        "time": {"wall_seconds": 50.0, "cpu_seconds": 40.0, "attempts": 1},
        "peak_memory_mb": 123.0,
        "command": "python -m algorithms.core.train",
    } | manifest
    (folder / "manifest.json").write_text(json.dumps(content))
    return folder


def write_study(
    directory: Path, study: Mapping[str, Any], only: Sequence[Mapping[str, Any]] | None = None
) -> Path:
    """Every run ends at `level + seed`, where the level is 100 for the first label, 200 for the second, …"""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "study.json").write_text(json.dumps(study))
    names = list(study["labels"])
    for run in study["runs"] if only is None else only:
        level = 100.0 * (1 + names.index(run["label"])) + run["seed"]
        every = study["evaluation"]["every"]
        steps = range(every, run["steps"] + 1, every)
        training = [(step, level - 10, every) for step in steps]
        write_run(directory, run, training, [(step, level) for step in steps])
    return directory
