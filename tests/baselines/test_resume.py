"""Every baseline that is stopped and continued writes the same bytes as one that never was."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from algorithms.core.train import EXIT_INTERRUPTED
from tests.baselines.resuming import interrupt_at, results, train

STEPS = 450
BASELINES = ("ppo", "trpo", "td3", "sac_sb3", "pets_rs", "pets_cem")


@pytest.fixture(autouse=True)
def _keep_signal_handlers() -> Iterator[None]:
    """A training run installs its own."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("task", ["Pendulum", "Hopper-ET"])
@pytest.mark.parametrize("algorithm", BASELINES)
def test_resumed_run_is_bit_exact(
    algorithm: str, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train(algorithm, task, whole, steps=STEPS) == 0
    stops = [0, 130, 260]  # before the first step, early, and in the middle of an episode
    interrupt_at(stops, monkeypatch)
    for _ in range(3):
        assert train(algorithm, task, parts, steps=STEPS) == EXIT_INTERRUPTED
    assert train(algorithm, task, parts, steps=STEPS) == 0
    assert results(parts) == results(whole)
