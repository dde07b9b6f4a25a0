"""ME-TRPO (Kurutach et al. 2018): TRPO on rollouts that are imagined with an ensemble of models.

Round and round, until the budget of real steps is used up:

    collect   real steps with the stochastic policy
    fit       the ensemble, until no member's held-out error has improved for a while
    improve   the policy by TRPO; at each imagined step the next state is a randomly drawn member's. Every few
              iterations the policy is validated in each member by itself; when it has improved in too
              few of them several times in a row, the last policy that passed is restored and the round ends.

Each real step, epoch and TRPO iteration is one unit of work with a safe point after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sb3_contrib import TRPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecNormalize
from torch import Tensor, nn

from algorithms.core.ensemble import EarlyStopping, Ensemble, EnsembleTrainer, Transitions
from algorithms.core.imagination import rollout, sum_of_rewards
from algorithms.core.run import Run
from algorithms.core.sb3 import OnPolicyAgent
from algorithms.me_trpo.imagined_env import ImaginedVecEnv

COLLECT, FIT, IMPROVE = "collect", "fit", "improve"
HELD_OUT_EVERY = 5  # one transition in five is held out
# Imagined states are kept within so many standard deviations of the real ones: a model that runs away stays
# finite, and the wall is too far off to be of use to a policy.
DEVIATIONS = 100.0


class MeTrpoAgent:
    """The policy, the models, and where in the round we are."""

    def __init__(self, run: Run) -> None:
        config, task = run.config, run.task
        self.task, self.config = task, config
        self.ensemble = Ensemble(task.observation_dim, task.action_dim, config["hidden"], config["members"])
        self.trainer = EnsembleTrainer(
            self.ensemble,
            learning_rate=config["learning_rate"],
            weight_decay=config["weight_decay"],
            batch_size=config["batch_size"],
            updates_at_most=config["updates_at_most"],
            variance_weighting=config["variance_weighting"],
        )
        self.stopping = EarlyStopping(self.ensemble, config["patience"])
        self.transitions = Transitions(
            task.observation_dim, task.action_dim, config["members"], run.steps, run.seeds["bootstrap"]
        )
        self.horizon = min(task.horizon, config["imagined_horizon"])
        self.imagined = ImaginedVecEnv(
            task, self.ensemble.random_member, config["imagined_episodes"], self.horizon
        )
        self.policy = OnPolicyAgent(*self._trpo(run.seeds["policy"]))
        self.phase = COLLECT
        self.units = 0  # of work done in this phase
        self.validation_starts = torch.zeros(0)
        self.validated = torch.full((config["members"],), -torch.inf)
        self.failures = 0  # validations in a row that were not passed
        self.best_policy: dict[str, Any] = {}

    def _trpo(self, seed: int) -> tuple[TRPO, VecNormalize]:
        config = self.config
        # The policy sees observations in units of the real data; its statistics are set after each collection.
        env = VecNormalize(self.imagined, training=False, norm_obs=True, norm_reward=False)
        steps = self.horizon
        model = TRPO(
            "MlpPolicy",
            env,
            learning_rate=config["value_learning_rate"],
            n_steps=steps,
            batch_size=steps * config["imagined_episodes"] // config["minibatches"],
            n_critic_updates=config["value_epochs"],
            gamma=config["gamma"],
            gae_lambda=config["gae_lambda"],
            target_kl=config["target_kl"],
            cg_max_steps=config["conjugate_gradient_steps"],
            cg_damping=config["conjugate_gradient_damping"],
            policy_kwargs={"net_arch": list(config["policy_hidden"]), "activation_fn": nn.Tanh},
            seed=seed,
            device="cpu",
        )
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model, env

    @property
    def logs(self) -> Mapping[str, Transitions]:
        return {"transitions": self.transitions}

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        return self.policy.act(observation, explore=explore)

    # --- one unit of work -------------------------------------------------------------------------------

    def work(self, run: Run) -> Mapping[str, float]:
        self.units += 1
        if self.phase == COLLECT:
            self._collect(run)
            return {}
        return self._fit() if self.phase == FIT else self._improve()

    def _enter(self, phase: str) -> None:
        self.phase, self.units = phase, 0

    def _collect(self, run: Run) -> None:
        env = run.env
        observation = env.reset()[0] if env.observation is None else env.observation
        action = self.act(observation, explore=True)
        following, *_ = env.step(action)
        self.transitions.add(observation, action, following)
        if self.units == self.config["collect_steps"]:
            self._take_units()
            self.stopping.restart()
            self._enter(FIT)

    def _take_units(self) -> None:
        """Of the models' inputs and targets, the policy's inputs and the box of imagined states."""
        rows = self.transitions.arrays()
        self.ensemble.standardise(rows)
        observations = rows["observation"]
        statistics = self.policy.statistics
        statistics.mean, statistics.var = observations.mean(0), observations.var(0)
        mean, margin = (
            torch.from_numpy(statistics.mean),
            DEVIATIONS * torch.from_numpy(np.sqrt(statistics.var)),
        )
        self.imagined.low, self.imagined.high = (mean - margin).float(), (mean + margin).float()

    def _fit(self) -> Mapping[str, float]:
        rows = self.transitions.arrays()
        held_out = np.arange(len(rows)) % HELD_OUT_EVERY == 0
        loss = self.trainer.epoch(rows[~held_out])
        if self.stopping.judge(rows[held_out]) or self.units == self.config["epochs"]:
            self.stopping.restore()
            self._begin_improvement()
        return {"model_loss": loss}

    def _begin_improvement(self) -> None:
        self._enter(IMPROVE)
        self.policy.model._last_obs = None  # makes the library reset the imagined episodes
        count = self.config["validation_episodes"]
        self.validation_starts = self.imagined.starts(count).expand(self.ensemble.members, -1, -1).clone()
        self.validated = self._validate()
        self.failures = 0
        self.best_policy = self._parameters()

    def _improve(self) -> Mapping[str, float]:
        model = self.policy.model
        model.learn(
            self.horizon * self.imagined.num_envs,
            log_interval=None,  # type: ignore[arg-type]  # None means never
            reset_num_timesteps=False,
        )
        loss = float(model.logger.name_to_value["train/value_loss"])
        if self.units % self.config["validate_every"] == 0:
            self._judge_policy()
        if self.failures == self.config["validation_patience"]:
            model.policy.load_state_dict(self.best_policy)
            self._enter(COLLECT)
        elif self.units == self.config["policy_iterations"]:
            self._enter(COLLECT)
        return {"value_loss": loss}

    def _judge_policy(self) -> None:
        returns = self._validate()
        if (returns > self.validated).float().mean() < self.config["improved_share"]:
            self.failures += 1
            return
        self.failures = 0
        self.validated = torch.maximum(returns, self.validated)
        self.best_policy = self._parameters()

    def _parameters(self) -> dict[str, Any]:
        return {name: value.clone() for name, value in self.policy.model.policy.state_dict().items()}

    @torch.no_grad()
    def _validate(self) -> Tensor:
        """The policy's mean return, without exploration, in each member by itself [M]."""

        def policy(time: int, observation: Tensor) -> Tensor:
            flat = observation.reshape(-1, observation.shape[-1]).numpy()
            return torch.from_numpy(self.act(flat, explore=False)).reshape(*observation.shape[:-1], -1)

        def dynamics(observation: Tensor, action: Tensor) -> Tensor:
            following = self.ensemble.trajectory_sampling(observation, action)
            return torch.clamp(following, self.imagined.low, self.imagined.high)

        steps = rollout(self.task, dynamics, self.validation_starts, policy, self.horizon)
        return sum_of_rewards(steps).mean(-1)

    # --- checkpoints --------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy.state_dict(),
            "models": self.trainer.state_dict(),
            "stopping": self.stopping.state_dict(),
            "imagined": self.imagined.state_dict(),
            "phase": self.phase,
            "units": self.units,
            "validation_starts": self.validation_starts,
            "validated": self.validated,
            "failures": self.failures,
            "best_policy": self.best_policy,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])
        self.trainer.load_state_dict(state["models"])
        self.stopping.load_state_dict(state["stopping"])
        self.imagined.load_state_dict(state["imagined"])
        self.phase, self.units = state["phase"], state["units"]
        self.validation_starts, self.validated = state["validation_starts"], state["validated"]
        self.failures, self.best_policy = state["failures"], state["best_policy"]


def train(run: Run) -> None:
    agent = MeTrpoAgent(run)
    run.attach(agent)
    while run.step < run.steps:
        metrics = agent.work(run)
        run.check_finite(**metrics)
        if metrics:
            run.log(**metrics)
        run.safe_point()
