"""LC3 (Kakade et al. 2020): Thompson sampling of a kernelised dynamics model, planning by MPPI.

At the start of each episode W is drawn from its posterior and the episode is planned as if it were the truth;
every transition updates the posterior at once. Evaluation plans with the posterior's mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.core.imagination import returns_of_plans
from algorithms.core.loop import Transition, interact
from algorithms.core.planning import PathIntegral, TrainingAndEvaluation
from algorithms.core.run import Run
from algorithms.lc3.model import BayesianLinearMap, RandomFeatures


class Lc3Agent:
    """Random actions while the units are found, then planning with a sampled model."""

    def __init__(self, run: Run) -> None:
        config, task = run.config, run.task
        self.task, self.config = task, config
        width = task.observation_dim + task.action_dim
        self.features = RandomFeatures(width, config["features"], bandwidth=config["bandwidth"])
        self.posterior = BayesianLinearMap(
            self.features.dimension, task.observation_dim, prior=config["prior"], noise=config["noise"]
        )
        self.warmup: list[tuple[Tensor, Tensor]] = []  # (input, change) until the units are known
        self.ready = False
        self.target_scale = torch.ones(task.observation_dim, dtype=torch.float64)
        self.sampled = self.posterior.mean
        self.planners = TrainingAndEvaluation(self._planner, lambda: run.evaluations_finished)

    def _planner(self) -> PathIntegral:
        config = self.config
        return PathIntegral(
            self.task.action_dim,
            config["horizon"],
            config["candidates"],
            iterations=config["iterations"],
            noise=config["action_noise"],
            temperature=config["temperature"],
            smoothing=config["smoothing"],
        )

    def begin_episode(self) -> None:
        self.planners.training.begin_episode()
        if self.ready:
            self.sampled = self.posterior.sample(self.config["exploration"])

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        if not self.ready:
            return (2.0 * torch.rand(self.task.action_dim) - 1.0).numpy()
        weights = self.sampled if explore else self.posterior.mean
        matrix = (weights * self.target_scale).float()
        start = torch.from_numpy(observation).float()

        def dynamics(s: Tensor, a: Tensor) -> Tensor:
            return s + self.features(torch.cat([s, a], -1)) @ matrix

        return self.planners.plan(
            lambda plans: returns_of_plans(self.task, dynamics, start, plans), explore=explore
        ).numpy()

    def observe(self, transition: Transition) -> Mapping[str, float]:
        inputs = torch.from_numpy(np.concatenate([transition.observation, transition.action])).float()
        change = torch.from_numpy(transition.next_observation - transition.observation)
        if self.ready:
            return {"model_error": self._learn(inputs, change)}
        self.warmup.append((inputs, change))
        if len(self.warmup) == self.config["warmup"]:
            self._take_units()
        return {}

    def _learn(self, inputs: Tensor, change: Tensor) -> float:
        """Updates the posterior; the root mean square of the error it would have made, in units of the target."""
        phi, y = self.features(inputs).double(), change / self.target_scale
        error = y - phi @ self.posterior.mean
        self.posterior.update(phi, y)
        return float(error.square().mean().sqrt())

    def _take_units(self) -> None:
        """Warm-up is over: fix the units of the features and targets, then learn from all that was seen."""
        inputs, changes = (torch.stack(column) for column in zip(*self.warmup, strict=True))
        self.features.set_units(inputs, self.config["inflation"])
        self.target_scale = changes.std(0, unbiased=False).clamp(min=1e-6)
        for x, change in self.warmup:
            self._learn(x, change)
        self.warmup = []
        self.ready = True
        self.sampled = self.posterior.sample(self.config["exploration"])

    def state_dict(self) -> dict[str, Any]:
        return {
            "features": self.features.state_dict(),
            "posterior": self.posterior.state_dict(),
            "warmup": [list(pair) for pair in self.warmup],
            "ready": self.ready,
            "target_scale": self.target_scale,
            "sampled": self.sampled,
            "plan": self.planners.training.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.features.load_state_dict(state["features"])
        self.posterior.load_state_dict(state["posterior"])
        self.warmup = [(x, change) for x, change in state["warmup"]]
        self.ready, self.target_scale, self.sampled = state["ready"], state["target_scale"], state["sampled"]
        self.planners.training.load_state_dict(state["plan"])


def train(run: Run) -> None:
    interact(run, Lc3Agent(run))
