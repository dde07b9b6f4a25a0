"""Stable-Baselines3 (and sb3-contrib) under the harness.

The library owns the loop; the run's environment counts, logs and stops; the callback gives the safe
points. Both families start a rollout with nothing in flight: on-policy ones with an empty rollout buffer,
off-policy ones after the update that belongs to the last step. There the state is that of the networks,
the optimisers, the counters and the last observation, and

    on-policy     the statistics that whiten the observations
    off-policy    the replay buffer (saved incrementally), the generator of the random first actions

`get_parameters` of the library leaves out SAC's temperature; it is saved here. Action noise and replay
indices are drawn from numpy's global generator, which the harness saves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from algorithms.core.checkpoint import GrowingLog
from algorithms.core.run import Run


def plain_env(run: Run) -> DummyVecEnv:
    """The run's environment as the library wants it."""
    return DummyVecEnv([lambda: run.env])


def whitened_env(run: Run, gamma: float) -> VecNormalize:
    """The run's environment with observations standardised by running statistics, as in MBBL."""
    return VecNormalize(plain_env(run), norm_obs=True, norm_reward=False, gamma=gamma)


class LibraryState:
    """What every model of the library carries from one rollout to the next."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self.model = model

    def state_dict(self) -> dict[str, Any]:
        model = self.model
        return {
            "parameters": model.get_parameters(),
            "variables": {name: getattr(model, name).detach() for name in self._variables()},
            "num_timesteps": model.num_timesteps,
            "n_updates": model._n_updates,
            "progress_remaining": model._current_progress_remaining,
            "last_observation": model._last_obs,
            "last_episode_starts": model._last_episode_starts,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        model = self.model
        model.set_parameters(state["parameters"], exact_match=True)
        for name, value in state["variables"].items():
            getattr(model, name).data.copy_(value)  # in place: the optimiser holds the tensor
        model.num_timesteps = state["num_timesteps"]
        model._n_updates = state["n_updates"]
        model._current_progress_remaining = state["progress_remaining"]
        model._last_obs = state["last_observation"]
        model._last_episode_starts = state["last_episode_starts"]

    def _variables(self) -> list[str]:
        """Tensors that `get_parameters` leaves out, such as SAC's log temperature."""
        return self.model._get_torch_save_params()[1]


class OnPolicyAgent(LibraryState):
    """PPO, TRPO: the policy sees whitened observations."""

    def __init__(self, model: OnPolicyAlgorithm, env: VecNormalize) -> None:
        super().__init__(model)
        self.env = env
        assert isinstance(env.obs_rms, RunningMeanStd)  # one for all: observations are plain vectors
        self.statistics: RunningMeanStd = env.obs_rms

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        action, _ = self.model.predict(self.env.normalize_obs(observation), deterministic=not explore)
        return action

    def state_dict(self) -> dict[str, Any]:
        statistics = self.statistics
        return {
            **super().state_dict(),
            "observation_statistics": [statistics.mean, statistics.var, statistics.count],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        statistics = self.statistics
        statistics.mean, statistics.var, statistics.count = state["observation_statistics"]


class OffPolicyAgent(LibraryState):
    """TD3, SAC: the policy sees observations as they are; the replay buffer is a growing log."""

    def __init__(self, model: OffPolicyAlgorithm) -> None:
        super().__init__(model)
        assert model.replay_buffer is not None
        self.logs: Mapping[str, GrowingLog] = {"replay": ReplayLog(model.replay_buffer)}

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        action, _ = self.model.predict(observation, deterministic=not explore)
        return action

    def state_dict(self) -> dict[str, Any]:
        generator = self.model.action_space.np_random.bit_generator
        return {**super().state_dict(), "first_actions": generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.model.action_space.np_random.bit_generator.state = state["first_actions"]


class ReplayLog:
    """The library's replay buffer as a `GrowingLog`. It must be made large enough never to wrap around."""

    FIELDS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")

    def __init__(self, buffer: ReplayBuffer) -> None:
        if buffer.n_envs != 1:
            raise ValueError(f"the replay buffer of {buffer.n_envs} environments is not one log")
        self.buffer = buffer
        arrays = {name: getattr(buffer, name) for name in self.FIELDS}
        self._row_dtype = np.dtype([(name, array.dtype, array.shape[2:]) for name, array in arrays.items()])

    @property
    def row_dtype(self) -> np.dtype[Any]:
        return self._row_dtype

    def __len__(self) -> int:
        return self.buffer.size()

    def rows(self, start: int, stop: int) -> np.ndarray:
        rows = np.empty(stop - start, dtype=self._row_dtype)
        for name in self.FIELDS:
            rows[name] = getattr(self.buffer, name)[start:stop, 0]
        return rows

    def extend(self, rows: np.ndarray) -> None:
        start, stop = self.buffer.pos, self.buffer.pos + len(rows)
        for name in self.FIELDS:
            getattr(self.buffer, name)[start:stop, 0] = rows[name]
        self.buffer.pos = stop % self.buffer.buffer_size
        self.buffer.full = stop == self.buffer.buffer_size


class _SafePoints(BaseCallback):
    """Between two rollouts nothing is in flight: here the run may save a checkpoint."""

    STEPS_BETWEEN_LOGS = 100

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run
        self._logged = 0

    def _on_rollout_start(self) -> None:
        losses = {
            name.removeprefix("train/"): value
            for name, value in self.logger.name_to_value.items()
            if name.startswith("train/") and isinstance(value, float)
        }
        # explained_variance is NaN by definition when the returns do not vary: not a failure
        losses.pop("explained_variance", None)
        self.run.check_finite(**losses)
        if self.run.step >= self._logged + self.STEPS_BETWEEN_LOGS:
            self.run.log(**losses)
            self._logged = self.run.step
        self.run.safe_point()

    def _on_step(self) -> bool:
        return True


def learn(run: Run, agent: OnPolicyAgent | OffPolicyAgent) -> None:
    """Train until the run's budget is used up."""
    model = agent.model
    model.set_logger(Logger(folder=None, output_formats=[]))  # the default makes a folder in /tmp
    run.attach(agent)
    model.learn(
        run.steps - model.num_timesteps,
        callback=_SafePoints(run),
        log_interval=None,  # type: ignore[arg-type]  # None means never, and is what the library tests for
        # Not `num_timesteps == 0`: a checkpoint may have been taken before the first step, and a second
        # reset would count the first observation twice in the statistics.
        reset_num_timesteps=model._last_obs is None,
    )


def schedule(value: float, *, decay: bool) -> Callable[[float], float]:
    """A constant, or a linear decay to zero over the budget (the library passes the remaining share)."""
    return lambda remaining: value * remaining if decay else value
