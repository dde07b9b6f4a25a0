"""SPEDE: a linear critic on the spectral features of a learned dynamics model (Algorithms 1 and 2, Sec. 3.2).

If s' = f(s, a) + eps with eps ~ N(0, sigma^2 I), the transition operator factorises for free (Eqs. 3-7):

    T(s'|s, a) = (2 pi sigma^2)^(-d/2) k(f(s, a), s') = <phi(s, a), mu(s')>,    k the Gaussian kernel,
    phi(s, a)  = sqrt(2) cos(omega^T f(s, a) + b),    omega ~ N(0, sigma^-2 I),  b ~ U[0, 2 pi],

so that Q(s, a) = <[phi(s, a), r(s, a)], w> for every policy (Eq. 2). Hence the division of labour:

    f      learns from the dynamics only: an ensemble, each member by stochastic gradient Langevin dynamics;
    phi    is made from a momentum copy of the member that was drawn for this episode (Thompson sampling);
    w      solves the Bellman equation by fitted Q-iteration, and is all that learns from the TD error;
    actor  and temperature are those of soft actor-critic, with gradients through phi.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from algorithms.core.loop import interact
from algorithms.core.networks import BLOCK_OF_ROWS, MLP, scratch
from algorithms.core.optim import Langevin
from algorithms.core.replay import Batch
from algorithms.core.run import Run
from algorithms.core.sac import Metrics, SoftActorCritic, TwinPullback, mean_square

SQRT_2 = math.sqrt(2.0)


class RowGradient(NamedTuple):
    """dL/dfeatures in some rows of the batch; it is zero in the others."""

    rows: Tensor  # [n]
    value: Tensor  # [m] if it is the same in all of them, as for a linear head, else [n, m]


def _in_place(function: np.ufunc, x: Tensor) -> Tensor:
    """NumPy's cosine and sine take half the time of PyTorch's, with the same error of 6e-8."""
    array = x.numpy()
    function(array, out=array)
    return x


class SpectralMap:
    """phi as a function of f: fixed draws of omega and b."""

    def __init__(
        self, dim: int, features: int, sigma: float, *, draws: int, generator: torch.Generator, extra: int = 0
    ) -> None:
        # with room for the extra columns and the constant from the start: the cosine of a part of a matrix is
        # several times slower
        width = features + extra + 1
        self._omega, self._b = torch.zeros(draws, dim, width), torch.zeros(draws, width)
        self.omega, self.b = self._omega[:, :, :features], self._b[:, :features]
        self.omega.copy_(torch.randn(draws, dim, features, generator=generator) / sigma)
        self.b.copy_(torch.rand(draws, features, generator=generator) * (2.0 * math.pi))

    def value(self, f: Tensor, *extra: Tensor) -> list[Tensor]:
        """[phi(f), extra, 1], [B, m + ...], for each draw, in memory that the next call on such a batch uses again."""
        m, rows = self.b.shape[1], len(f)
        values = []
        for draw, (omega, b) in enumerate(zip(self._omega, self._b, strict=True)):
            value = scratch(rows, b.numel(), b.dtype, ("features", draw))
            for block, f_of_block in zip(value.split(BLOCK_OF_ROWS), f.split(BLOCK_OF_ROWS), strict=True):
                torch.addmm(b, f_of_block, omega, out=block)
                _in_place(np.cos, block).mul_(SQRT_2)
            for column, x in enumerate(extra, start=m):
                value[:, column] = x
            value[:, -1] = 1.0
            values.append(value)
        return values

    def pullback(self, f: Tensor, d_values: Sequence[RowGradient]) -> Tensor:
        """dL/dvalue -> dL/df. (omega is zero in the columns that are not phi's.)

        The phases are computed again where they are needed: to keep them costs more, in traffic to the memory.
        """
        d_f = torch.zeros_like(f)
        for omega, b, (rows, d_value) in zip(self._omega, self._b, d_values, strict=True):
            slope = scratch(len(f), b.numel(), b.dtype, "slope")[: len(rows)]
            torch.addmm(b, f.index_select(0, rows), omega, out=slope)
            _in_place(np.sin, slope)
            if d_value.dim() == 1:  # then the small matrix can take it
                omega = omega * d_value
            else:
                slope.mul_(d_value)
            d_f.index_add_(0, rows, torch.mm(slope, omega.t()), alpha=-SQRT_2)
        return d_f

    def state_dict(self) -> dict[str, Tensor]:
        return {"omega": self.omega, "b": self.b}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.omega.copy_(state["omega"])
        self.b.copy_(state["b"])


def gram_matrix(features: Tensor, blocks: int = 4) -> Tensor:
    """features^T features, of which only the upper triangle, block by block, is computed: the rest is as it comes."""
    width = features.shape[1]
    edges = [width * i // blocks for i in range(blocks + 1)]
    gram = features.new_empty(width, width)
    for start, stop in pairwise(edges):
        torch.mm(features[:, start:stop].t(), features[:, start:], out=gram[start:stop, start:])
    return gram


def fitted_q_iteration(
    w: Tensor,
    phi: Sequence[Tensor],
    next_phi: Sequence[Tensor],
    reward: Tensor,
    discount: Tensor,
    entropy_cost: Tensor,
    *,
    ridge: float,
    sweeps: int,
    bounds: tuple[float, float],
) -> tuple[Tensor, Tensor]:
    """Twin linear Q-functions <w_i, phi_i> towards the solution of the Bellman equation; also their last error.

        y   = r + discount (min_j <w_j, phi'_j> - alpha log pi'),
        w_i = argmin mean (<w_i, phi_i> - y)^2 + ridge |w_i|^2,    `sweeps` times.

    A sweep costs no more than a few products of a matrix with a vector, so that values spread over the whole
    horizon in one call and not by one step per turn of a target network. Off the policy's distribution a sweep
    may expand, and its errors add up over the horizon; values are kept within `bounds`, those of a return
    (an entropy bonus beyond them is cut off).
    """
    factors = []
    for features in phi:
        gram = gram_matrix(features).double().div_(len(features))
        gram.diagonal().add_(ridge)
        factors.append(torch.linalg.cholesky(gram.t()))  # which reads the lower triangle
    for _ in range(sweeps):
        value = torch.minimum(torch.mv(next_phi[0], w[0]), torch.mv(next_phi[1], w[1]))
        value.sub_(entropy_cost).clamp_(*bounds)
        target = torch.addcmul(reward, discount, value)
        moments = [torch.mv(features.t(), target).double().div_(len(target)) for features in phi]
        w = torch.stack(
            [
                torch.cholesky_solve(moment.unsqueeze(1), factor).squeeze(1).float()
                for moment, factor in zip(moments, factors, strict=True)
            ]
        )
    error = torch.stack([torch.mv(features, w_i) for features, w_i in zip(phi, w, strict=True)]) - target
    return w, error


class LinearHeads:
    """Q_i = <w_i, phi_i>: twin linear functions, each of features of its own."""

    def __init__(self, dim: int) -> None:
        self.w = torch.zeros(2, dim)

    def value(self, phi: Sequence[Tensor]) -> Tensor:
        return torch.stack([torch.mv(features, w) for features, w in zip(phi, self.w, strict=True)])

    def gradients(self, rows_of_twins: Sequence[Tensor], scale: float) -> list[RowGradient]:
        """Of scale sum_i sum_(rows of twin i) Q_i in the features."""
        scaled = self.w * scale
        return [RowGradient(rows, w) for rows, w in zip(rows_of_twins, scaled, strict=True)]

    def state_dict(self) -> dict[str, Tensor]:
        return {"w": self.w}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.w.copy_(state["w"])


class Spede(SoftActorCritic):
    """Thompson sampling over an ensemble of dynamics models; a linear critic on the drawn model's features."""

    draws = 2  # of omega: one for each twin. On equal features the twins would agree, and their minimum say nothing

    # --- the representation -----------------------------------------------------------------------------

    def build(self) -> None:
        config, d = self.config, self.observation_dim
        self.reward_feature: str = config["reward_feature"]
        if self.reward_feature not in ("none", "learned", "oracle"):
            raise ValueError(f"reward_feature must be none, learned or oracle, not {self.reward_feature!r}")
        self.sigma = config["sigma"] * math.sqrt(d)  # in units of standardised states
        self.member = self.turn = 0
        self.reward_range: tuple[float, float] = (math.inf, -math.inf)
        self.models = [self.make_model() for _ in range(config["ensemble"])]
        self.momentum_models = [model.copy() for model in self.models]
        self.samplers = [
            Langevin(
                model.theta,
                lr=config["model_lr"],
                temperature=config["langevin_temperature"],
                every=config["langevin_every"],
                generator=self.model_generator,
            )
            for model in self.models
        ]
        self.parts |= {f"model_{k}": model for k, model in enumerate(self.models)}
        self.parts |= {f"momentum_model_{k}": model for k, model in enumerate(self.momentum_models)}
        self.parts |= {f"sampler_{k}": sampler for k, sampler in enumerate(self.samplers)}
        self.build_features()
        self.build_heads(config["features"] + (self.reward_feature != "none") + 1)

    def make_model(self) -> MLP:
        """(s, a) -> (f(s, a) - s, r(s, a))"""
        d = self.observation_dim
        return self.network([d + self.action_dim, *self.config["model_hidden"], d + 1])

    def build_features(self) -> None:
        self.phi = SpectralMap(
            self.observation_dim,
            self.config["features"],
            self.sigma,
            draws=self.draws,
            generator=self.init_generator,
            extra=int(self.reward_feature != "none"),
        )
        self.parts["phi"] = self.phi

    def build_heads(self, dim: int) -> None:
        self.linear_heads = LinearHeads(dim)
        self.parts["linear_heads"] = self.linear_heads

    def begin_episode(self) -> None:
        """Sample f_k ~ P(f | H_k): Line 3 of Algorithm 1."""
        self.member = int(torch.randint(len(self.models), (1,), generator=self.model_generator))

    def learn_representation(self, batch: Batch) -> Metrics:
        """Langevin and momentum steps of `model_updates` members, in turn, among whom the batch is shared out."""
        members, count = len(self.models), self.config["model_updates"]
        # a member that learns in every n-th update follows as fast, per update, as one that learns in each
        tau = 1.0 - self.config["momentum"] ** (members / count)
        metrics: Metrics = {}
        examples, size = self.examples(batch), len(batch.reward) // count
        for i in range(count):
            k = self.turn % members
            metrics = self.model_step(k, *(x[i * size : (i + 1) * size] for x in examples))
            self.momentum_models[k].theta.lerp_(self.models[k].theta, tau)
            self.turn += 1
        return metrics

    def examples(self, batch: Batch) -> tuple[Tensor, ...]:
        """What a model learns from, row by row: (s, a), and (s' - s, r)."""
        change = batch.next_observation - batch.observation
        return batch.state_action, torch.cat((change, batch.reward.unsqueeze(1)), 1)

    def model_step(self, k: int, *examples: Tensor) -> Metrics:
        """A step on -log N([s', r]; f(s, a), sigma^2 I), up to a constant: the reward is one more coordinate."""
        state_action, outcome = examples
        model = self.models[k]
        out, tape = model.forward(state_action)
        error = out[0].sub_(outcome)
        metrics = {"model_error": mean_square(error)}
        error *= 1.0 / (self.sigma**2 * len(error))
        model.backward(tape, out, parameters=True)
        self.samplers[k].step(model.grad, self.replay.transitions)
        return metrics

    def features(
        self, observation: Tensor, action: Tensor
    ) -> tuple[list[Tensor], Callable[[Sequence[RowGradient]], Tensor]]:
        """[phi(s, a), r(s, a), 1] from the momentum copy of the drawn model, for each draw of omega, and the pullback
        of gradients to the action."""
        d = self.observation_dim
        model = self.momentum_models[self.member]
        out, tape = model.forward(observation, action)
        f, *extra = self._spectral_inputs(out[0], observation, action)

        def pullback(d_values: Sequence[RowGradient]) -> Tensor:
            d_out = torch.zeros_like(out)
            d_out[0, :, :d] = self.phi.pullback(f, d_values)
            d_reward = reward_gradient(d_values, len(action))
            if self.reward_feature == "learned":
                d_out[0, :, d] = d_reward
            d_action = model.backward(tape, d_out, wanted_input=1)
            assert d_action is not None
            if self.reward_feature == "oracle":
                d_action += self.known_reward_gradient(observation, action, d_reward)
            return d_action

        return self.phi.value(f, *extra), pullback

    def feature_values(self, observation: Tensor, action: Tensor) -> list[Tensor]:
        """The features alone: a large batch leaves no activations behind."""
        out = self.momentum_models[self.member](observation, action)[0]
        return self.phi.value(*self._spectral_inputs(out, observation, action))

    def _spectral_inputs(self, out: Tensor, observation: Tensor, action: Tensor) -> list[Tensor]:
        """f(s, a) and, if it is a feature, r(s, a), from the model's output."""
        d = self.observation_dim
        inputs = [observation + out[:, :d]]
        if self.reward_feature == "learned":
            inputs.append(out[:, d])
        elif self.reward_feature == "oracle":
            inputs.append(self.known_reward(observation, action))
        return inputs

    def known_reward(self, observation: Tensor, action: Tensor) -> Tensor:
        """r(s, a) of the task itself, which the paper assumes known."""
        reward: Tensor = self.task.reward(self.standardiser.invert(observation), action)
        return reward

    def known_reward_gradient(self, observation: Tensor, action: Tensor, d_reward: Tensor) -> Tensor:
        with torch.inference_mode(False), torch.enable_grad():
            # copies, as autograd refuses tensors that were made in inference mode
            action = action.clone().requires_grad_()
            reward = self.known_reward(observation.clone(), action)
            if not reward.requires_grad:  # this task's reward does not look at the action
                return torch.zeros_like(action, requires_grad=False)
            return torch.autograd.grad(reward, action, d_reward.clone())[0]

    # --- the critic -------------------------------------------------------------------------------------

    def update(self, batch: Batch) -> Metrics:
        metrics = self.learn_representation(batch)
        if self.updates % self.config["head_every"] == 0:
            metrics.update(self.plan())
        self.updates += 1
        metrics.update(self.actor_step(batch, self.policy(batch.observation)))
        return metrics

    def plan(self) -> Metrics:
        """The critic of Algorithm 2 in the infinite-horizon case: fitted Q-iteration on the drawn model's features."""
        config = self.config
        batch = self.sample(config["head_batch"])
        action, log_prob, _ = self.sample_action(self.actor(batch.next_observation)[0])
        both = self.feature_values(batch.states, torch.cat((batch.action, action)))  # of s above s'
        phi, next_phi = zip(*(features.chunk(2) for features in both), strict=True)
        low, high = self.widen_reward_range(batch)
        w, error = fitted_q_iteration(
            self.linear_heads.w,
            phi,
            next_phi,
            batch.reward,
            batch.continues * self.gamma,
            log_prob.mul_(self.log_alpha.exp()),
            ridge=config["head_ridge"],
            sweeps=config["head_sweeps"],
            bounds=(low / (1.0 - self.gamma), high / (1.0 - self.gamma)),
        )
        # as far as heads that follow at rate tau would come in the updates between two solutions
        turns = config["head_every"] / config["target_every"]
        self.linear_heads.w.lerp_(w, 1.0 - (1.0 - config["tau"]) ** turns)
        return {"critic_loss": error.square().mean()}

    def widen_reward_range(self, batch: Batch) -> tuple[float, float]:
        """The least and the greatest reward so far. After a fall all rewards are zero."""
        low, high = self.reward_range
        rewards = batch.reward if bool(batch.continues.all()) else pad(batch.reward, (0, 1))
        self.reward_range = (min(low, float(rewards.min())), max(high, float(rewards.max())))
        return self.reward_range

    def actor_q(self, observation: Tensor, action: Tensor) -> tuple[Tensor, TwinPullback]:
        phi, phi_pullback = self.features(observation, action)

        def pullback(rows: Sequence[Tensor], scale: float) -> Tensor:
            return phi_pullback(self.linear_heads.gradients(rows, scale))

        return self.linear_heads.value(phi), pullback

    # --- checkpoints ------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        own = {"member": self.member, "turn": self.turn, "reward_range": self.reward_range}
        return {**super().state_dict(), **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.member, self.turn = state["member"], state["turn"]
        low, high = state["reward_range"]
        self.reward_range = (low, high)


def reward_gradient(d_values: Sequence[RowGradient], size: int) -> Tensor:
    """Of the feature r, which stands before the constant, added up over the draws."""
    total = torch.zeros(size)
    for rows, d_value in d_values:
        total.index_add_(0, rows, d_value[..., -2].expand(len(rows)))
    return total


def train(run: Run) -> None:
    interact(run, Spede(run))
