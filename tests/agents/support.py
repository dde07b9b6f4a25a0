"""A run without a harness, and a small world without a simulator: enough to train an agent in a test."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from algorithms.core.config import load_algorithm
from algorithms.core.loop import Transition
from algorithms.core.sac import SoftActorCritic
from algorithms.core.seeds import Seeds

AGENTS = {
    "sac": "Sac",
    "spede": "Spede",
    "spede_mlp": "SpedeMlp",
    "spede_reg": "SpedeReg",
    "deepsf": "DeepSuccessorFeatures",
}
OBSERVATION_DIM, ACTION_DIM = 3, 2


def quadratic_reward(observation: Any, action: Any) -> Any:
    return -(observation**2).sum(-1) - 0.1 * (action**2).sum(-1)


def make_agent(algorithm: str, *, seed: int = 0, steps: int = 1000, **overrides: Any) -> SoftActorCritic:
    run = SimpleNamespace(
        config=load_algorithm(algorithm).resolve("smoke", None, overrides),
        task=SimpleNamespace(observation_dim=OBSERVATION_DIM, action_dim=ACTION_DIM, reward=quadratic_reward),
        steps=steps,
        seeds=Seeds(seed),
    )
    cls = getattr(importlib.import_module(f"algorithms.{algorithm}.agent"), AGENTS[algorithm])
    agent: SoftActorCritic = cls(run)
    return agent


@dataclass
class World:
    """s' = 0.9 s + 0.3 [a, 0] + noise; some episodes end in a fall, the others at a time limit."""

    generator: np.random.Generator
    state: np.ndarray | None = None
    age: int = 0
    step: int = 0

    def advance(self, agent: SoftActorCritic) -> dict[str, Any]:
        if self.state is None:
            self.state, self.age = self.generator.normal(size=OBSERVATION_DIM), 0
            agent.begin_episode()
        action = agent.act(self.state, explore=True)
        following = dynamics(self.state, action) + 0.05 * self.generator.normal(size=OBSERVATION_DIM)
        self.step, self.age = self.step + 1, self.age + 1
        fall, limit = bool(self.generator.random() < 0.02), self.age == 37
        reward = float(quadratic_reward(self.state, action))
        metrics = agent.observe(Transition(self.state, action, reward, following, fall, limit, self.step))
        self.state = None if fall or limit else following
        return metrics


def world(seed: int = 0) -> World:
    return World(np.random.default_rng(seed))


def dynamics(state: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Of the world, without its noise."""
    following = 0.9 * state
    following[..., :ACTION_DIM] += 0.3 * action
    return following


def rollout_cost(policy: Callable[[np.ndarray], np.ndarray]) -> float:
    """Mean cost of the first 20 steps from fixed starts, without noise."""
    costs = []
    for state in np.random.default_rng(7).normal(size=(20, OBSERVATION_DIM)):
        cost = 0.0
        for _ in range(20):
            action = policy(state)
            cost -= float(quadratic_reward(state, action))
            state = dynamics(state, action)
        costs.append(cost)
    return float(np.mean(costs))


def batch_of(agent: SoftActorCritic, size: int = 32) -> Any:
    """A batch of standardised data without touching the agent's networks."""
    if agent.replay.transitions == 0:
        fill(agent, 200)
    return agent.sample(size)


def fill(agent: SoftActorCritic, count: int) -> None:
    """Random transitions straight into the replay."""
    rng = np.random.default_rng(1)
    for step in range(count):
        state, action, following = (
            rng.normal(size=n) for n in (OBSERVATION_DIM, ACTION_DIM, OBSERVATION_DIM)
        )
        ends = step % 10 == 9
        agent.replay.add(
            Transition(
                state, np.tanh(action), float(state[0]), following, ends and step % 20 == 9, ends, step + 1
            )
        )


def torch_generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
