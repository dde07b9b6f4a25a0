"""Soft actor-critic (Haarnoja et al. 2018), the core that SAC, SPEDE, SPEDE-MLP, SPEDE-REG and DeepSF share.

    y      = r + gamma (1 - d) [min_i Qbar_i(s', a') - alpha log pi(a'|s')],   a' ~ pi(.|s')
    critic:  sum_i mean (Q_i(s, a) - y)^2
    actor:   mean [alpha log pi(a|s) - min_i Q_i(s, a)],                       a ~ pi(.|s), reparametrised
    alpha:   mean [-log alpha (log pi(a|s) + target entropy)]

An agent says what Q is: it overrides the methods under "what an agent states", and all else is here. Gradients are
written out (see networks.py): a function that must be differentiated returns its value and its pullback.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.core.bfloat16 import Bfloat16MLP, bfloat16_works
from algorithms.core.checkpoint import GrowingLog
from algorithms.core.config import ConfigError
from algorithms.core.loop import Transition
from algorithms.core.networks import MLP, LogStd, Pullback, Tape, squashed_gaussian
from algorithms.core.optim import Adam
from algorithms.core.replay import Batch, Replay
from algorithms.core.run import Run

Metrics = dict[str, Tensor]
TwinPullback = Callable[
    [Sequence[Tensor], float], Tensor
]  # (rows of each twin, scale) -> gradient in the action


class Standardiser:
    """x -> (x - mean) / std, with statistics that are taken once and then frozen.

    Moving statistics would move the features under the critic's heads.
    """

    def __init__(self, dim: int, *, clip: float, floor: float = 1e-4) -> None:
        self.mean, self.scale = torch.zeros(dim), torch.ones(dim)
        self.clip, self.floor = clip, floor

    def fit(self, observations: Tensor) -> None:
        std, mean = torch.std_mean(observations.double(), dim=0)
        self.mean.copy_(mean)
        self.scale.copy_(1.0 / std.clamp(min=self.floor))

    def apply_(self, observations: Tensor) -> Tensor:
        return observations.sub_(self.mean).mul_(self.scale).clamp_(-self.clip, self.clip)

    def invert(self, observations: Tensor) -> Tensor:
        return observations / self.scale + self.mean

    def state_dict(self) -> dict[str, Tensor]:
        return {"mean": self.mean, "scale": self.scale}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.mean.copy_(state["mean"])
        self.scale.copy_(state["scale"])


def mean_square(x: Tensor) -> Tensor:
    """Of a contiguous tensor, or a transposed one: `x.square().mean()` in one pass."""
    flat = (x if x.is_contiguous() else x.t()).view(-1)
    return torch.dot(flat, flat).div_(len(flat))


class PolicySample(NamedTuple):
    """a ~ pi(.|s) for a batch of states, and what is needed to differentiate it."""

    action: Tensor
    log_prob: Tensor
    pullback: Pullback
    tape: Tape

    def of(self, rows: slice) -> tuple[Tensor, Tensor]:
        return self.action[rows], self.log_prob[rows]


class SoftActorCritic:
    """Actor, temperature, replay and the order of the updates. Subclasses add the critic."""

    def __init__(self, run: Run) -> None:
        self.config: Mapping[str, Any] = run.config
        config = self.config
        self.task = run.task
        self.observation_dim, self.action_dim = run.task.observation_dim, run.task.action_dim
        self.init_generator = torch.Generator().manual_seed(run.seeds["initialisation"])
        self.policy_generator = torch.Generator().manual_seed(run.seeds["policy"])
        self.model_generator = torch.Generator().manual_seed(run.seeds["model"])
        self.replay = Replay(
            self.observation_dim,
            self.action_dim,
            run.steps,
            seed=run.seeds["buffer"],
            bootstrap_time_limits=config["bootstrap_time_limits"],
        )
        self.logs: Mapping[str, GrowingLog] = {"replay": self.replay}
        self.standardiser = Standardiser(self.observation_dim, clip=config["observation_clip"])
        self.steps = self.updates = 0

        self.gamma: float = config["gamma"]
        self.target_entropy = -config["target_entropy_scale"] * self.action_dim
        self.log_std = LogStd(config["log_std"], float(config["log_std_min"]), float(config["log_std_max"]))
        if self.log_std.kind not in ("clamp", "tanh"):
            raise ValueError(f"log_std must be clamp or tanh, not {self.log_std.kind!r}")
        self.actor = self.network([self.observation_dim, *config["actor_hidden"], 2 * self.action_dim])
        self.log_alpha = torch.tensor([math.log(config["initial_alpha"])])
        self.actor_optimizer = Adam(self.actor.theta, config["actor_lr"])
        self.alpha_optimizer = Adam(self.log_alpha, config["alpha_lr"])
        # everything that has a state, by name: what a checkpoint holds
        self.parts: dict[str, Any] = {
            "actor": self.actor,
            "actor_optimizer": self.actor_optimizer,
            "alpha_optimizer": self.alpha_optimizer,
            "standardiser": self.standardiser,
            "replay": self.replay,
        }
        self.build()

    def network(self, sizes: Sequence[int], *, members: int = 1, activation: str = "relu") -> MLP:
        """A new perceptron, in the precision that the config asks for."""
        precision = self.config["precision"]
        if precision not in ("float32", "bfloat16"):
            raise ConfigError(f"precision must be float32 or bfloat16, not {precision!r}")
        if precision == "bfloat16" and not bfloat16_works():
            raise ConfigError(
                "precision: bfloat16 does not work on this machine (its products fail); use float32"
            )
        kind = Bfloat16MLP if precision == "bfloat16" else MLP
        return kind(sizes, members=members, activation=activation, generator=self.init_generator)

    # --- what an agent states ---------------------------------------------------------------------------

    def build(self) -> None:
        """Make the critic (and the representation) and enter what has a state into `self.parts`."""
        raise NotImplementedError

    def learn_representation(self, batch: Batch) -> Metrics:
        """One step on the representation, before the critic's. SAC has none."""
        return {}

    def target_q(self, observation: Tensor, action: Tensor) -> Tensor:
        """Qbar_i(s', a'), [2, B], from the target networks."""
        raise NotImplementedError

    def critic_step(self, batch: Batch, target: Tensor) -> Metrics:
        """One step of Q_i(s, a) towards `target` [B]."""
        raise NotImplementedError

    def actor_q(self, observation: Tensor, action: Tensor) -> tuple[Tensor, TwinPullback]:
        """Q_i(s, a), [2, B], and the gradient in the actions of scale sum_i sum_(rows of twin i) Q_i, [B, d_a].

        Each row of min_i Q_i depends on one of the twins. No parameter gets a gradient.
        """
        raise NotImplementedError

    def track_targets(self, tau: float) -> None:
        """Qbar <- (1 - tau) Qbar + tau Q."""
        raise NotImplementedError

    def begin_episode(self) -> None:
        """Thompson sampling happens here. SAC does nothing."""

    # --- acting -------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        if explore and self.steps < self.config["warmup"]:
            uniform = torch.rand(self.action_dim, generator=self.policy_generator)
            return uniform.mul_(2.0).sub_(1.0).numpy()
        state = torch.from_numpy(np.array(observation, dtype=np.float32)[None])
        mean, raw = self.actor(self.standardiser.apply_(state)).view(2, self.action_dim)
        if explore:
            noise = torch.randn(self.action_dim, generator=self.policy_generator)
            mean.addcmul_(self.log_std.value(raw).exp_(), noise)
        return mean.tanh_().numpy()

    def sample_action(self, out: Tensor) -> tuple[Tensor, Tensor, Pullback]:
        """a ~ pi, log pi(a) and their pullback, from the actor's output."""
        noise = torch.randn(self.action_dim, out.shape[0], generator=self.policy_generator).t()
        return squashed_gaussian(out, noise, self.log_std)

    def policy(self, states: Tensor) -> PolicySample:
        out, tape = self.actor.forward(states)
        return PolicySample(*self.sample_action(out[0]), tape)

    # --- learning -----------------------------------------------------------------------------------------

    @torch.inference_mode()  # gradients are written out: without autograd's part in it each small operation is faster
    def observe(self, transition: Transition) -> Metrics:
        self.replay.add(transition)
        self.steps += 1
        warmup = self.config["warmup"]
        if self.steps == warmup and self.config["standardise"]:
            self.standardiser.fit(self.replay.observations())
        metrics: Metrics = {}
        if self.steps >= warmup:
            for _ in range(self.config["updates_per_step"]):
                metrics = self.update(self.sample(self.config["batch_size"]))
        return metrics

    def sample(self, size: int) -> Batch:
        """A batch with standardised observations."""
        batch = self.replay.sample(size)
        self.standardiser.apply_(batch.states)
        return batch

    def update(self, batch: Batch) -> Metrics:
        self.updates += 1
        metrics = self.learn_representation(batch)
        policy = self.policy(
            batch.states
        )  # the actor does not change before its own step: one pass for s and s'
        metrics.update(self.critic_step(batch, self.bellman_target(batch, policy)))
        metrics.update(self.actor_step(batch, policy))
        if self.updates % self.config["target_every"] == 0:
            self.track_targets(self.config["tau"])
        return metrics

    def bellman_target(self, batch: Batch, policy: PolicySample) -> Tensor:
        """y = r + gamma (1 - d) [min_i Qbar_i(s', a') - alpha log pi(a'|s')], with pi on s above s'."""
        action, log_prob = policy.of(slice(len(batch.reward), None))
        value = self.target_q(batch.next_observation, action).amin(0)
        value.addcmul_(self.log_alpha.exp(), log_prob, value=-1.0)
        return torch.addcmul(batch.reward, batch.continues, value, value=self.gamma)

    def actor_step(self, batch: Batch, policy: PolicySample) -> Metrics:
        """mean [alpha log pi(a|s) - min_i Q_i(s, a)], and the temperature; pi on s, or on s above s'."""
        action, log_prob = policy.of(slice(len(batch.reward)))
        q, q_pullback = self.actor_q(batch.observation, action)
        alpha = self.log_alpha.exp()
        scale = 1.0 / q.shape[1]
        first = q[0] <= q[1]  # the smaller one carries the gradient
        rows = [where.nonzero().squeeze(1) for where in (first, ~first)]
        d_out = policy.pullback(q_pullback(rows, -scale), alpha * scale)
        self.actor.backward(policy.tape, d_out.unsqueeze(0), parameters=True)
        self.actor_optimizer.step(self.actor.grad)
        # d/dlog alpha of mean[-log alpha (log pi + target entropy)]
        entropy = log_prob.mean().neg_()
        self.alpha_optimizer.step((entropy - self.target_entropy).view(1))
        return {"actor_q": q.mean(), "alpha": alpha[0], "entropy": entropy}

    # --- checkpoints --------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "log_alpha": self.log_alpha,
            "generators": {
                "policy": self.policy_generator.get_state(),
                "model": self.model_generator.get_state(),
            },
            "steps": self.steps,
            "updates": self.updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        self.log_alpha.copy_(state["log_alpha"])
        self.policy_generator.set_state(state["generators"]["policy"])
        self.model_generator.set_state(state["generators"]["model"])
        self.steps, self.updates = state["steps"], state["updates"]


class TwinCritic(SoftActorCritic):
    """Two perceptrons Q_i(s, a) and their target copies: the critic of ordinary SAC."""

    extra_outputs = 0  # outputs beside Q on the same representation (SPEDE-REG)

    def build(self) -> None:
        sizes = [
            self.observation_dim + self.action_dim,
            *self.config["critic_hidden"],
            1 + self.extra_outputs,
        ]
        self.critic = self.network(sizes, members=2)
        self.critic_target = self.critic.copy()
        self.critic_optimizer = Adam(self.critic.theta, self.config["critic_lr"])
        self.parts |= {
            "critic": self.critic,
            "critic_target": self.critic_target,
            "critic_optimizer": self.critic_optimizer,
        }

    def target_q(self, observation: Tensor, action: Tensor) -> Tensor:
        return self.critic_target(observation, action)[..., 0]

    def critic_step(self, batch: Batch, target: Tensor) -> Metrics:
        out, tape = self.critic.forward(batch.state_action)
        metrics, d_out = self.critic_loss(out, batch, target)
        self.critic.backward(tape, d_out, parameters=True)
        self.critic_optimizer.step(self.critic.grad)
        return metrics

    def critic_loss(self, out: Tensor, batch: Batch, target: Tensor) -> tuple[Metrics, Tensor]:
        """sum_i mean (Q_i - y)^2, and its gradient."""
        error = out[..., 0] - target
        metrics = {"critic_loss": mean_square(error)}
        return metrics, error.mul_(2.0 / len(target)).unsqueeze(-1)

    def actor_q(self, observation: Tensor, action: Tensor) -> tuple[Tensor, TwinPullback]:
        out, tape = self.critic.forward(observation, action)

        def pullback(rows: Sequence[Tensor], scale: float) -> Tensor:
            d_out = torch.zeros(1 + self.extra_outputs)
            d_out[0] = scale
            return self.critic.input_gradient_of_rows(tape, rows, d_out, wanted_input=1)

        return out[..., 0], pullback

    def track_targets(self, tau: float) -> None:
        self.critic_target.theta.lerp_(self.critic.theta, tau)
