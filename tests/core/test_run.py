"""The boundary of the environment: what no algorithm can get wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import envs_mbbl
from algorithms.core.loop import StatelessAgent, Transition, interact
from algorithms.core.run import BudgetReached, NotFiniteError, Run, RunSettings
from algorithms.core.seeds import Seeds


class Constant(StatelessAgent):
    """A policy that also records what it is given."""

    def __init__(self, action: float = 0.5, dim: int = 1) -> None:
        self.action = np.full(dim, action)
        self.seen: list[Transition] = []

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        return self.action

    def observe(self, transition: Transition) -> dict[str, float]:
        self.seen.append(transition)
        return {"loss": 0.0}


def make_run(directory: Path, **changes: Any) -> Run:
    settings: dict[str, Any] = {
        "algorithm": "random", "variant": None, "task": "Pendulum", "seed": 0, "steps": 450, "scale": "smoke",
        "config": {}, "evaluate_every": 200, "evaluation_episodes": 2,
    }  # fmt: skip
    directory.mkdir(exist_ok=True)
    return Run(RunSettings(**{**settings, **changes}), directory)


def test_episodes_steps_and_evaluations(tmp_path: Path) -> None:
    run, agent = make_run(tmp_path), Constant()
    interact(run, agent)
    run.finish()
    episodes, evaluations = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("episodes", "evaluations"))
    assert run.step == len(agent.seen) == 450
    assert episodes["step"].tolist() == [200, 400]  # the third episode is not over: it has no return
    returns = [sum(t.reward for t in agent.seen[:200]), sum(t.reward for t in agent.seen[200:400])]
    assert episodes["return"].tolist() == pytest.approx(returns)
    assert evaluations["step"].tolist() == [200, 200, 400, 400, 450, 450]  # and at the very end
    assert [t.step for t in agent.seen] == list(range(1, 451))
    assert agent.seen[199].truncated
    assert not agent.seen[199].terminated


def test_a_fall_is_terminated_and_not_truncated(tmp_path: Path) -> None:
    run, agent = make_run(tmp_path, task="Hopper-ET", steps=100), Constant(0.8, 3)
    interact(run, agent)
    ends = [t for t in agent.seen if t.terminated or t.truncated]
    assert ends
    assert all(t.terminated and not t.truncated for t in ends)


def test_the_logged_return_is_the_environments(tmp_path: Path) -> None:
    """The same episode, replayed by hand from the run's seed."""
    run = make_run(tmp_path, steps=200)
    interact(run, Constant(0.3))
    env = envs_mbbl.make("Pendulum")
    env.reset(seed=Seeds(0)["environment", 0])
    total = sum(float(env.step(np.array([0.3]))[1]) for _ in range(200))
    assert run._episodes[0][2] == pytest.approx(total, abs=1e-12)


def test_the_budget_is_hard(tmp_path: Path) -> None:
    run = make_run(tmp_path, steps=3)
    run.attach(Constant())
    run.env.reset()
    for _ in range(3):
        run.env.step(np.zeros(1))
    with pytest.raises(BudgetReached):
        run.env.step(np.zeros(1))


def test_evaluating_more_often_changes_no_training(tmp_path: Path) -> None:
    class Noisy(Constant):
        def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
            return torch.rand(1).numpy() * 2 - 1 + np.random.normal() * 0  # noqa: NPY002

    rewards = []
    for every in (10, 200):
        run, agent = make_run(tmp_path / str(every), evaluate_every=every, steps=60), Noisy()
        run.seeds.seed_global_generators()
        interact(run, agent)
        rewards.append([t.reward for t in agent.seen])
    assert rewards[0] == rewards[1]


def test_evaluation_starts_are_not_training_starts(tmp_path: Path) -> None:
    seeds = Seeds(0)
    training = {seeds["environment", k] for k in range(1000)}
    evaluation = {seeds["evaluation", step, k] for step in range(0, 100_000, 5000) for k in range(10)}
    assert not training & evaluation
    assert len(evaluation) == 200


def test_a_reset_in_the_middle_of_an_episode_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.attach(Constant())
    run.env.reset()
    run.env.step(np.zeros(1))
    with pytest.raises(RuntimeError, match="middle of an episode"):
        run.env.reset()


@pytest.mark.parametrize("when", ["action", "loss"])
def test_a_nan_names_step_and_quantity(tmp_path: Path, when: str) -> None:
    class Broken(Constant):
        def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
            return np.array([np.nan]) if when == "action" and len(self.seen) == 5 else self.action

        def observe(self, transition: Transition) -> dict[str, Any]:
            super().observe(transition)
            return {
                "critic_loss": torch.tensor(float("inf") if when == "loss" and transition.step == 5 else 0.0)
            }

    with pytest.raises(
        NotFiniteError, match=("action" if when == "action" else "critic_loss") + " is .* at step 5"
    ):
        interact(make_run(tmp_path), Broken())


def test_a_policy_must_be_attached_before_it_is_evaluated(tmp_path: Path) -> None:
    run = make_run(tmp_path, evaluate_every=1)
    run.env.reset()
    with pytest.raises(RuntimeError, match=r"run\.attach"):
        run.env.step(np.zeros(1))


def test_checkpoints_become_rarer_when_they_are_dear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under 2 % of the time, whatever a checkpoint costs: here each takes 50 seconds of a fake clock."""
    clock = {"now": 0.0, "saved": 0.0}
    monkeypatch.setattr("algorithms.core.run.time.monotonic", lambda: clock["now"])
    run = make_run(tmp_path)
    run.attach(Constant())
    run.step = 1

    def slow_save(*_: object) -> None:
        clock["now"] += 50.0
        clock["saved"] += 50.0

    monkeypatch.setattr(run.store, "save", slow_save)
    while clock["now"] < 200_000:
        clock["now"] += 1.0
        run.safe_point()
    assert 0 < clock["saved"] < 0.02 * clock["now"]
