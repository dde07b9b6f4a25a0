"""Runs a smoke-scale training in this process, optionally stopped again and again on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from algorithms.core import train as command
from algorithms.core.run import Run

RESULTS = ("episodes.csv", "evaluations.csv")


def results(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in RESULTS}


def train(algorithm: str, task: str, out: Path, *, steps: int) -> int:
    return command.main(
        [
            *("--algorithm", algorithm, "--task", task, "--steps", str(steps), "--scale", "smoke"),
            *("--evaluate-every", str(steps // 3), "--evaluation-episodes", "1", "--out", str(out)),
        ]
    )


def interrupt_when(due: Callable[[Run], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """At every safe point at which `due` says so the run believes that SIGTERM has come."""
    original = Run.safe_point

    def safe_point(self: Run) -> None:
        if due(self):
            self.interrupted_by = "SIGTERM"
        original(self)

    monkeypatch.setattr(Run, "safe_point", safe_point)


def interrupt_at_steps(steps: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first safe point at or after each of these steps."""

    def due(run: Run) -> bool:
        return bool(steps) and run.step >= steps[0] and steps.pop(0) >= 0

    interrupt_when(due, monkeypatch)
