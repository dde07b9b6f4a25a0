"""What the runs cost, from the manifests and from Snakemake's benchmark files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.load import Loaded
from analysis.study import Run, Study

COLUMNS = [
    *("label", "task", "seed", "steps", "wall_seconds", "cpu_seconds", "steps_per_second"),
    *("peak_memory_mb", "attempts", "started", "finished", "benchmark_seconds", "benchmark_max_rss_mb"),
]


def cost_frame(study: Study, loaded: Loaded) -> pd.DataFrame:
    """One row per finished run."""
    rows = []
    for item in loaded.runs:
        time = item.manifest.get("time") or {}
        steps, wall = _number(item.manifest.get("steps")), _number(time.get("wall_seconds"))
        rows.append(
            {
                "label": item.run.label,
                "task": item.run.task,
                "seed": item.run.seed,
                "steps": steps,
                "wall_seconds": wall,
                "cpu_seconds": _number(time.get("cpu_seconds")),
                "steps_per_second": steps / wall if wall > 0 else np.nan,
                "peak_memory_mb": _number(item.manifest.get("peak_memory_mb")),
                "attempts": _number(time.get("attempts")),
                "started": str(time.get("started") or ""),
                "finished": str(time.get("finished") or ""),
                **_benchmark(study.directory, item.run),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _benchmark(directory: Path, run: Run) -> dict[str, float]:
    """Snakemake's own measurement of the job (the last attempt only), when there is one."""
    nothing = {"benchmark_seconds": np.nan, "benchmark_max_rss_mb": np.nan}
    path = directory / "benchmarks" / run.label / run.task / f"seed-{run.seed}.tsv"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        row = dict(zip(lines[0].split("\t"), lines[-1].split("\t"), strict=False))
    except (OSError, IndexError, UnicodeDecodeError):
        return nothing
    return {"benchmark_seconds": _number(row.get("s")), "benchmark_max_rss_mb": _number(row.get("max_rss"))}


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def cost_summary(costs: pd.DataFrame, by: str) -> pd.DataFrame:
    """Totals and medians for each label or each task (`by`), in the order of first appearance."""
    grouped = costs.groupby(by, sort=False)
    return pd.DataFrame(
        {
            "runs": grouped.size(),
            "hours": grouped["wall_seconds"].sum() / 3600,
            "cpu_hours": grouped["cpu_seconds"].sum() / 3600,
            "steps_per_second": grouped["steps_per_second"].median(),
            "memory_mb": grouped["peak_memory_mb"].max(),
            "benchmark_hours": grouped["benchmark_seconds"].sum(min_count=1) / 3600,
            "benchmark_mb": grouped["benchmark_max_rss_mb"].max(),
        }
    ).reset_index()


def minutes_matrix(costs: pd.DataFrame) -> pd.DataFrame:
    """Median wall minutes of a run: labels by tasks, both in the order of first appearance."""
    minutes = costs.assign(minutes=costs["wall_seconds"] / 60)
    grid = minutes.pivot_table(index="label", columns="task", values="minutes", aggfunc="median")
    return grid.reindex(index=costs["label"].unique(), columns=costs["task"].unique())
