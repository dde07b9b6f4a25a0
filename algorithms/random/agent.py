"""Random actions: the smallest possible algorithm, and the example of docs/adding-a-baseline.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from algorithms.core.loop import StatelessAgent, interact
from algorithms.core.run import Run


class RandomAgent(StatelessAgent):
    """Uniform actions, in training and in evaluation alike: it has no other policy."""

    def __init__(self, run: Run) -> None:
        self.range = run.config["range"]
        self.action_dim = run.task.action_dim
        self.generator = np.random.default_rng(run.seeds["policy"])

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        return self.generator.uniform(-self.range, self.range, self.action_dim)

    def state_dict(self) -> dict[str, Any]:
        return {"generator": self.generator.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.generator.bit_generator.state = state["generator"]


def train(run: Run) -> None:
    interact(run, RandomAgent(run))
