"""The oracle's judgement is what then happens."""

from __future__ import annotations

import pytest
import torch

import envs_mbbl
from algorithms.gt_rs.agent import TrueReturns


@pytest.mark.parametrize("name", ["MountainCar", "Reacher", "Hopper-ET"])
def test_a_plan_returns_what_was_promised(name: str) -> None:
    task, env = envs_mbbl.TASKS[name], envs_mbbl.make(name)
    env.reset(seed=1)
    for _ in range(3):
        env.step(env.action_space.sample() * 0.1)
    plans = 2.0 * torch.rand(3, 60, task.action_dim, generator=torch.Generator().manual_seed(2)) - 1.0
    promised = TrueReturns(name)(env.get_state(), plans)
    state = env.get_state()
    for plan, promise in zip(plans, promised, strict=True):
        env.set_state(state)
        total = 0.0
        for action in plan.double():
            _, reward, terminated, truncated, _ = env.step(action.numpy())
            total += float(reward)
            if terminated or truncated:
                break
        assert total == float(promise)


def test_the_time_limit_is_known() -> None:
    env = envs_mbbl.make("MountainCar")
    env.reset(seed=0)
    for _ in range(198):
        env.step(env.action_space.sample())
    short, long = TrueReturns("MountainCar")(env.get_state(), torch.zeros(2, 30, 1)).tolist()
    assert short == long
    assert abs(short) <= 2 * 1.2  # two steps are left, each worth at most the position
