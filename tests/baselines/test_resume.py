"""Every baseline that is stopped and continued writes the same bytes as one that never was."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from algorithms.core.run import Run
from algorithms.core.train import EXIT_INTERRUPTED
from tests.baselines.resuming import interrupt_at_steps, interrupt_when, results, train

STEPS = 450
BASELINES = ("ppo", "trpo", "td3", "sac_sb3", "pets_rs", "pets_cem", "gt_rs", "gt_cem", "lc3", "me_trpo")


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
    # before the first step (where there is a safe point), early, and in the middle of an episode
    interrupt_at_steps([0, 130, 260], monkeypatch)
    for _ in range(3):
        assert train(algorithm, task, parts, steps=STEPS) == EXIT_INTERRUPTED
    assert train(algorithm, task, parts, steps=STEPS) == 0
    assert results(parts) == results(whole)


def test_me_trpo_resumes_inside_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only between real steps: after every epoch of the models and every TRPO iteration, too."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train("me_trpo", "Pendulum", whole, steps=STEPS) == 0
    interrupted: set[tuple[str, int, int]] = set()

    def due(run: Run) -> bool:
        agent = run._agent
        where = (agent.phase, agent.units, run.step)  # type: ignore[union-attr]
        first_time = agent.phase != "collect" and where not in interrupted  # type: ignore[union-attr]
        interrupted.add(where)
        return first_time

    interrupt_when(due, monkeypatch)
    while (code := train("me_trpo", "Pendulum", parts, steps=STEPS)) == EXIT_INTERRUPTED:
        pass
    assert code == 0
    assert {phase for phase, _, _ in interrupted} == {"collect", "fit", "improve"}
    assert results(parts) == results(whole)
