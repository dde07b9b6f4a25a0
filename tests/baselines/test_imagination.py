"""An imagined episode with the true dynamics is the environment's own episode."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import envs_mbbl
from algorithms.core.imagination import returns_of_plans, rollout, sum_of_rewards
from tests.baselines.problems import toy_task


class TrueDynamics:
    """A copy of the environment for each of N candidates, all set to one state; steps [1, N, d] together."""

    def __init__(self, task: str, state: dict, candidates: int) -> None:
        self.envs = [envs_mbbl.make(task) for _ in range(candidates)]
        for env in self.envs:
            env.reset(seed=0)
            env.set_state(state)

    def __call__(self, observation: Tensor, action: Tensor) -> Tensor:
        following = []
        for env, here, a in zip(self.envs, observation[0], action[0], strict=True):
            try:
                following.append(env.step(a.numpy())[0])
            except RuntimeError:  # the episode has ended: what is imagined after a fall must not matter
                following.append(np.full(len(here), math.nan))
        return torch.from_numpy(np.stack(following))[None]


@pytest.mark.parametrize("name", ["MountainCar", "Pendulum", "Reacher", "Hopper-ET", "SlimHumanoid-ET"])
def test_returns_with_the_true_dynamics_are_the_environments(name: str) -> None:
    task, env = envs_mbbl.TASKS[name], envs_mbbl.make(name)
    generator = torch.Generator().manual_seed(3)
    plans = 2.0 * torch.rand(4, 40, task.action_dim, generator=generator, dtype=torch.float64) - 1.0
    start, _ = env.reset(seed=5)
    state = env.get_state()
    expected = []
    lengths = []
    for plan in plans:
        env.set_state(state)
        total, length = 0.0, 0
        for action in plan:
            _, reward, terminated, truncated, _ = env.step(action.numpy())
            total += float(reward)
            length += 1
            if terminated or truncated:
                break
        expected.append(total)
        lengths.append(length)
    imagined = returns_of_plans(task, TrueDynamics(name, state, 4), torch.from_numpy(start), plans)
    np.testing.assert_allclose(imagined.numpy(), expected, rtol=1e-12, atol=1e-12)
    if task.early_termination:
        assert min(lengths) < 40, "no episode fell: the test does not test termination"


def test_nothing_is_earned_after_a_fall() -> None:
    """r = 1 per step; s counts the steps; the fall is at s = 3, an end state, so its step is still paid."""
    task = toy_task(1, 1, lambda s, a: 0.0 * s[0] + 1.0, lambda s: s[0] >= 3.0)
    steps = list(rollout(task, lambda s, a: s + 1.0, torch.zeros(2, 1), lambda t, s: torch.zeros(2, 1), 6))
    assert [step.alive.tolist() for step in steps] == [[True] * 2] * 3 + [[False] * 2] * 3
    assert sum_of_rewards(iter(steps)).tolist() == [3.0, 3.0]


def test_not_a_number_after_a_fall_does_not_spoil_the_return() -> None:
    task = toy_task(1, 1, lambda s, a: s[0], lambda s: s[0] >= 1.0)

    def dynamics(s: Tensor, a: Tensor) -> Tensor:
        return torch.where(s >= 1.0, torch.full_like(s, math.nan), s + 1.0)

    returns = returns_of_plans(task, dynamics, torch.zeros(1), torch.zeros(1, 5, 1))
    assert returns.tolist() == [0.0]


def test_reward_is_on_the_start_state() -> None:
    task = toy_task(1, 1, lambda s, a: s[0])
    returns = returns_of_plans(task, lambda s, a: s + a, torch.ones(1), torch.ones(1, 3, 1))
    assert returns.tolist() == [1.0 + 2.0 + 3.0]
