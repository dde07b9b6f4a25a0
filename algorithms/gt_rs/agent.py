"""GT-RS: random shooting with the true dynamics. Nothing is learned: a ceiling for planners of its kind.

The judge sets a second environment to the state of the one that is being played (`get_state`/`set_state`)
and plays each candidate there, up to a fall or the time limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import envs_mbbl
from algorithms.core.loop import StatelessAgent, interact
from algorithms.core.planning import Planner, RandomShooting, TrainingAndEvaluation
from algorithms.core.run import Run


class TrueReturns:
    """Judges plans by playing them in a simulator of its own."""

    def __init__(self, task: str) -> None:
        self.simulator = envs_mbbl.make(task)
        self.simulator.reset(seed=0)  # `set_state` needs an environment that has begun

    def __call__(self, state: dict[str, Any], plans: Tensor) -> Tensor:
        return torch.tensor([self._play(state, plan) for plan in plans.double().numpy()], dtype=torch.float64)

    def _play(self, state: dict[str, Any], plan: np.ndarray) -> float:
        simulator = self.simulator
        simulator.set_state(state)
        total = 0.0
        for action in plan:
            _, reward, terminated, truncated, _ = simulator.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return total


class TrueDynamicsAgent(StatelessAgent):
    """Plans from the simulator's state, not from the observation it is given."""

    def __init__(self, run: Run, make_planner: Callable[[], Planner]) -> None:
        self.run = run
        self.judge = TrueReturns(run.task.name)
        self.planners = TrainingAndEvaluation(make_planner, lambda: run.evaluations_finished)

    def begin_episode(self) -> None:
        self.planners.training.begin_episode()

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        state = self._state(explore)
        return self.planners.plan(lambda plans: self.judge(state, plans), explore=explore).numpy()

    def _state(self, explore: bool) -> dict[str, Any]:
        """Of the environment in which the action will be taken."""
        if explore:
            training: dict[str, Any] = self.run.env.get_state()["task"]
            return training
        assert self.run.evaluation_env is not None  # an action without exploration is asked for only there
        return self.run.evaluation_env.get_state()

    def state_dict(self) -> dict[str, Any]:
        return {"plan": self.planners.training.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.planners.training.load_state_dict(state["plan"])


def train(run: Run) -> None:
    config = run.config

    def planner() -> RandomShooting:
        return RandomShooting(run.task.action_dim, config["horizon"], config["candidates"])

    interact(run, TrueDynamicsAgent(run, planner))
