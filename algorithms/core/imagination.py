"""Imagined rollouts: a model of the dynamics, the task's own reward and its own termination.

    r_t = reward(s_t, a_t)              on the start state, as in the environment
    s_{t+1} = dynamics(s_t, a_t)
    alive_{t+1} = alive_t and not terminated(s_{t+1})     on the end state; nothing is earned after a fall

A planner passes the actions in advance, a learner passes a policy; both use `rollout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from envs_mbbl.tasks import Task

Dynamics = Callable[[Tensor, Tensor], Tensor]  # (s [..., d], a [..., k]) -> a draw of s' [..., d]
Policy = Callable[[int, Tensor], Tensor]  # (time, s [..., d]) -> a [..., k] in [-1, 1]


class ImaginedStep(NamedTuple):
    """One step of all imagined episodes at once."""

    observation: Tensor
    action: Tensor
    reward: Tensor  # as if alive: multiply by nothing, select with `alive`
    next_observation: Tensor
    terminated: Tensor  # in this very step's end state
    alive: Tensor  # before this step: has not fallen earlier


def imagine(
    task: Task, dynamics: Dynamics, observation: Tensor, action: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One imagined step: (reward, next observation, terminated)."""
    reward = task.reward(observation, action)
    next_observation = dynamics(observation, action)
    return reward, next_observation, task.terminated(next_observation)


def rollout(
    task: Task, dynamics: Dynamics, start: Tensor, policy: Policy, steps: int
) -> Iterator[ImaginedStep]:
    """Imagined episodes of at most `steps` steps from `start` [..., d], in lockstep."""
    observation = start
    alive = torch.ones(start.shape[:-1], dtype=torch.bool)
    for time in range(steps):
        action = policy(time, observation)
        reward, next_observation, terminated = imagine(task, dynamics, observation, action)
        yield ImaginedStep(observation, action, reward, next_observation, terminated, alive)
        observation = next_observation
        alive = alive & ~terminated


def sum_of_rewards(steps: Iterator[ImaginedStep]) -> Tensor:
    """The undiscounted return of each imagined episode [...]. Selects, as 0 * NaN would be NaN."""
    total: Tensor | None = None
    for step in steps:
        earned = torch.where(step.alive, step.reward, 0.0)
        total = earned if total is None else total + earned
    if total is None:
        raise ValueError("an imagined episode has at least one step")
    return total


@torch.no_grad()
def returns_of_plans(
    task: Task, dynamics: Dynamics, start: Tensor, plans: Tensor, particles: int = 1
) -> Tensor:
    """Mean return [N] over `particles` imagined episodes for each of the action sequences [N, H, k].

    The episodes are laid out as [particles, N, d]: the first axis is what a stochastic model may treat
    differently (PETS gives each block of particles one member of its ensemble).
    """
    candidates, horizon, _ = plans.shape
    starts = start.expand(particles, candidates, -1)

    def follow(time: int, observation: Tensor) -> Tensor:
        return plans[:, time].expand(particles, -1, -1)

    return sum_of_rewards(rollout(task, dynamics, starts, follow, horizon)).mean(0)
