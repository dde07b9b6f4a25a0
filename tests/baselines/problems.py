"""Small problems with known answers, in the shape of a task. Formulas get the components first."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from scipy.linalg import solve_discrete_are
from torch import Tensor

from algorithms.core.imagination import returns_of_plans
from algorithms.core.planning import Planner
from envs_mbbl.formulas import Reward, Termination
from envs_mbbl.tasks import Task


def toy_task(
    observation_dim: int, action_dim: int, reward: Reward, terminated: Termination | None = None
) -> Task:
    return Task("Toy", None, "toy", observation_dim, action_dim, 100, "none", reward, terminated)


@dataclass
class DoubleIntegrator:
    """s' = A s + B a with cost s'Qs + a'Ra, whose optimal cost from s is s'Ps (Riccati)."""

    a: np.ndarray = field(default_factory=lambda: np.array([[1.0, 0.3], [0.0, 1.0]]))
    b: np.ndarray = field(default_factory=lambda: np.array([[0.0], [0.3]]))
    q: np.ndarray = field(default_factory=lambda: np.diag([1.0, 0.1]))
    r: float = 0.1

    @property
    def task(self) -> Task:
        q0, q1 = np.diag(self.q)
        return toy_task(2, 1, lambda s, a: -(q0 * s[0] ** 2 + q1 * s[1] ** 2 + self.r * a[0] ** 2))

    def dynamics(self, s: Tensor, a: Tensor) -> Tensor:
        return s @ torch.from_numpy(self.a.T).to(s.dtype) + a @ torch.from_numpy(self.b.T).to(s.dtype)

    def optimal_cost(self, start: np.ndarray) -> float:
        p = solve_discrete_are(self.a, self.b, self.q, np.array([[self.r]]))
        return float(start @ p @ start)

    def closed_loop_cost(self, planner: Planner, start: np.ndarray, steps: int) -> float:
        s = torch.from_numpy(start).float()
        cost = 0.0
        for _ in range(steps):
            action = planner.plan(partial(returns_of_plans, self.task, self.dynamics, s))
            cost -= float(self.task.reward(s, action))
            s = self.dynamics(s, action)
        return cost
