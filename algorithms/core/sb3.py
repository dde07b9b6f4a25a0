"""Stable-Baselines3's on-policy algorithms under the harness.

The library owns the loop; the run's environment counts, logs and stops; the callback gives the safe
points. A checkpoint is taken between two iterations, where the rollout buffer is empty, so the state
is that of the networks, the optimiser, the observation statistics and the last observation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from algorithms.core.run import Run


def whitened_env(run: Run, gamma: float) -> VecNormalize:
    """The run's environment with observations standardised by running statistics, as in MBBL."""
    return VecNormalize(DummyVecEnv([lambda: run.env]), norm_obs=True, norm_reward=False, gamma=gamma)


class OnPolicyAgent:
    """A model of Stable-Baselines3 as the run's agent: its policy and all of its state."""

    def __init__(self, model: OnPolicyAlgorithm, env: VecNormalize) -> None:
        self.model = model
        self.env = env

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        action, _ = self.model.predict(self.env.normalize_obs(observation), deterministic=not explore)
        return action

    @property
    def _statistics(self) -> RunningMeanStd:
        statistics = self.env.obs_rms
        assert isinstance(statistics, RunningMeanStd)  # a dict only for dictionary observations
        return statistics

    def state_dict(self) -> dict[str, Any]:
        model, statistics = self.model, self._statistics
        return {
            "parameters": model.get_parameters(),
            "num_timesteps": model.num_timesteps,
            "n_updates": model._n_updates,
            "progress_remaining": model._current_progress_remaining,
            "last_observation": model._last_obs,
            "last_episode_starts": model._last_episode_starts,
            "observation_statistics": [statistics.mean, statistics.var, statistics.count],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        model, statistics = self.model, self._statistics
        model.set_parameters(state["parameters"], exact_match=True)
        model.num_timesteps = state["num_timesteps"]
        model._n_updates = state["n_updates"]
        model._current_progress_remaining = state["progress_remaining"]
        model._last_obs = state["last_observation"]
        model._last_episode_starts = state["last_episode_starts"]
        statistics.mean, statistics.var, statistics.count = state["observation_statistics"]


class _SafePoints(BaseCallback):
    """Between two iterations nothing is in flight: here the run may save a checkpoint."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def _on_rollout_start(self) -> None:
        losses = {
            name.removeprefix("train/"): value
            for name, value in self.logger.name_to_value.items()
            if name.startswith("train/") and isinstance(value, float)
        }
        # explained_variance is NaN by definition when the returns do not vary: not a failure
        losses.pop("explained_variance", None)
        self.run.check_finite(**losses)
        self.run.log(**losses)
        self.run.safe_point()

    def _on_step(self) -> bool:
        return True


def learn(run: Run, model: OnPolicyAlgorithm, env: VecNormalize) -> None:
    """Train until the run's budget is used up."""
    run.attach(OnPolicyAgent(model, env))
    model.learn(
        run.steps - model.num_timesteps,
        callback=_SafePoints(run),
        log_interval=None,  # type: ignore[arg-type]  # None means never, and is what the library tests for
        reset_num_timesteps=model.num_timesteps == 0,
    )


def schedule(value: float, *, decay: bool) -> Callable[[float], float]:
    """A constant, or a linear decay to zero over the budget (the library passes the remaining share)."""
    return lambda remaining: value * remaining if decay else value
