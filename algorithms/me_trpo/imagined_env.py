"""Imagined episodes as a vector environment of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

import envs_mbbl
from algorithms.core.imagination import Dynamics, imagine
from envs_mbbl.tasks import Task


class ImaginedVecEnv(VecEnv):
    """`episodes` imagined episodes in lockstep, from the task's start states, with its reward and termination.

    An episode is cut off (truncated, so its value goes on) after `horizon` steps. Imagined states are kept in the
    box `low`..`high`, beyond which the model knows nothing and might run away.
    """

    def __init__(self, task: Task, dynamics: Dynamics, episodes: int, horizon: int) -> None:
        self.task, self.dynamics, self.horizon = task, dynamics, horizon
        self.low = torch.full((task.observation_dim,), -torch.inf)
        self.high = torch.full((task.observation_dim,), torch.inf)
        self.observations = torch.zeros(episodes, task.observation_dim)
        self.times = torch.zeros(episodes, dtype=torch.int64)
        self._start_env = envs_mbbl.make(task.name)
        self._actions = torch.zeros(episodes, task.action_dim)
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (task.observation_dim,), np.float32)
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (task.action_dim,), np.float32)
        super().__init__(episodes, observation_space, action_space)

    def starts(self, count: int) -> Tensor:
        """Start states [count, d] of the task: a reset costs no environment step."""
        seeds = torch.randint(2**31, (count,)).tolist()
        return torch.from_numpy(np.stack([self._start_env.reset(seed=seed)[0] for seed in seeds])).float()

    def bounded_dynamics(self, observation: Tensor, action: Tensor) -> Tensor:
        return torch.clamp(self.dynamics(observation, action), self.low, self.high)

    def reset(self) -> np.ndarray:
        self.observations = self.starts(self.num_envs)
        self.times = torch.zeros(self.num_envs, dtype=torch.int64)
        return self.observations.numpy().copy()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = torch.from_numpy(actions).float()

    @torch.no_grad()
    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        reward, following, terminated = imagine(
            self.task, self.bounded_dynamics, self.observations, self._actions
        )
        self.times += 1
        truncated = ~terminated & (self.times >= self.horizon)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        over = done.nonzero()[:, 0]
        for index in over.tolist():
            infos[index] = {
                "terminal_observation": following[index].numpy(),
                "TimeLimit.truncated": bool(truncated[index]),
            }
        self.observations = following.clone()
        if len(over):
            self.observations[over] = self.starts(len(over))
            self.times[over] = 0
        return self.observations.numpy().copy(), reward.numpy(), done.numpy(), infos

    def state_dict(self) -> dict[str, Any]:
        return {"observations": self.observations, "times": self.times, "low": self.low, "high": self.high}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.observations, self.times = state["observations"], state["times"]
        self.low, self.high = state["low"], state["high"]

    # --- the rest of the library's interface: there are no separate environments to ask ------------------

    def close(self) -> None:
        """Nothing is held."""

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(f"imagined episodes have no {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        raise AttributeError(f"imagined episodes have no {attr_name!r}")

    def env_method(
        self, method_name: str, *args: Any, indices: int | Iterable[int] | None = None, **kwargs: Any
    ) -> list[Any]:
        raise AttributeError(f"imagined episodes have no {method_name!r}")

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: int | Iterable[int] | None = None,
    ) -> list[bool]:
        return [False] * self.num_envs

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """All randomness is torch's global generator's."""
        return [None] * self.num_envs
