"""Runs a smoke-scale training in this process, optionally stopped again and again on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from algorithms.core import train as command
from algorithms.core.run import Run

RESULTS = ("episodes.csv", "evaluations.csv")


def results(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in RESULTS}


def train(algorithm: str, task: str, out: Path, *, steps: int, extra: tuple[str, ...] = ()) -> int:
    return command.main(
        [
            *("--algorithm", algorithm, "--task", task, "--steps", str(steps), "--scale", "smoke"),
            *("--evaluate-every", str(steps // 3), "--evaluation-episodes", "1", "--out", str(out)),
            *extra,
        ]
    )


def interrupt_at(steps: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first safe point after each of these steps the run believes that SIGTERM has come."""
    original = Run.safe_point

    def safe_point(self: Run) -> None:
        if steps and self.step >= steps[0]:
            steps.pop(0)
            self.interrupted_by = "SIGTERM"
        original(self)

    monkeypatch.setattr(Run, "safe_point", safe_point)
