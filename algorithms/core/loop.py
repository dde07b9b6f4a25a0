"""The one training loop of all agents that act one step at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, SupportsFloat

import numpy as np

from algorithms.core.run import Agent, Run

STEPS_BETWEEN_LOGS = 100


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of the environment."""

    observation: np.ndarray
    action: np.ndarray
    reward: float
    next_observation: np.ndarray
    terminated: bool  # a fall: no value follows
    truncated: bool  # the time limit: the value goes on
    step: int  # environment steps taken so far, this one included


class SteppingAgent(Agent, Protocol):
    """An agent that learns from each transition as it comes."""

    def begin_episode(self) -> None: ...
    def observe(self, transition: Transition) -> Mapping[str, SupportsFloat]: ...


class StatelessAgent:
    """Defaults for agents that neither learn nor remember; override what differs."""

    def begin_episode(self) -> None:
        """Nothing to prepare."""

    def observe(self, transition: Transition) -> Mapping[str, SupportsFloat]:
        return {}

    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Nothing to restore."""


def interact(run: Run, agent: SteppingAgent) -> None:
    """Act, observe, learn, until the budget is used up. A resumed run goes on in the middle of its episode."""
    run.attach(agent)
    while run.step < run.steps:
        take_step(run, agent)


def take_step(run: Run, agent: SteppingAgent) -> None:
    env = run.env
    if env.observation is None:
        observation, _ = env.reset()
        agent.begin_episode()
    else:
        observation = env.observation
    action = agent.act(observation, explore=True)
    next_observation, reward, terminated, truncated, _ = env.step(action)
    metrics = agent.observe(
        Transition(observation, action, reward, next_observation, terminated, truncated, run.step)
    )
    run.check_finite(**metrics)
    if run.step % STEPS_BETWEEN_LOGS == 0:
        run.log(**metrics)
    run.safe_point()
