"""SPEDE: a linear critic on the spectral features of a learned dynamics model (Algorithm 1, Sec. 3.2).

If s' = f(s, a) + eps with eps ~ N(0, sigma^2 I), the transition operator factorises for free (Eqs. 3-7):

    T(s'|s, a) = (2 pi sigma^2)^(-d/2) k(f(s, a), s') = <phi(s, a), mu(s')>,    k the Gaussian kernel,
    phi(s, a)  = sqrt(2) cos(omega^T f(s, a) + b),    omega ~ N(0, sigma^-2 I),  b ~ U[0, 2 pi],

so that Q(s, a) = <[phi(s, a), r(s, a)], w> for every policy (Eq. 2). Hence the division of labour:

    f      learns from the dynamics only: an ensemble, each member by stochastic gradient Langevin dynamics;
    phi    is made from a momentum copy of the member that was drawn for this episode (Thompson sampling);
    w      learns from the TD error only, and is all that does;
    actor  and temperature are those of soft actor-critic, with gradients through phi.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from algorithms.core.loop import interact
from algorithms.core.networks import MLP
from algorithms.core.optim import Adam, Langevin
from algorithms.core.replay import Batch
from algorithms.core.run import Run
from algorithms.core.sac import Metrics, SoftActorCritic

SQRT_2 = math.sqrt(2.0)
STIFFEN, RELAX, STIFFEST_RIDGE = 4.0, 1.5, 10.0  # how the ridge reacts to weights that are not credible
SLOWEST_CONTRACTION = 0.995


class SpectralMap:
    """phi as a function of f: a fixed draw of omega and b."""

    def __init__(self, dim: int, features: int, sigma: float, generator: torch.Generator) -> None:
        self.omega = torch.randn(dim, features, generator=generator) / sigma
        self.b = torch.rand(features, generator=generator) * (2.0 * math.pi)

    def value(self, f: Tensor, reward: Tensor | None = None) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """[phi(f), r, 1], [B, m + 2] (or m + 1 without a reward), and the pullback dL/dvalue -> dL/df."""
        m = self.omega.shape[1]
        z = torch.addmm(self.b, f, self.omega)
        features = f.new_empty(f.shape[0], m + (reward is not None) + 1)
        phi = features[:, :m]
        torch.cos(z, out=phi)
        phi.mul_(SQRT_2)
        if reward is not None:
            features[:, m] = reward
        features[:, -1] = 1.0

        def pullback(d_features: Tensor) -> Tensor:
            return torch.mm(z.sin_().mul_(d_features[:, :m]), self.omega.t()).mul_(-SQRT_2)

        return features, pullback

    def state_dict(self) -> dict[str, Tensor]:
        return {"omega": self.omega, "b": self.b}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.omega.copy_(state["omega"])
        self.b.copy_(state["b"])


class Bootstrap(NamedTuple):
    """The part of the target y that comes from the heads: y = (the rest) + value, value = <w_target, features>."""

    features: Tensor  # gamma (1 - d) [phi(s', a'), r, 1]
    value: Tensor
    bound: float  # no |Q| can be larger: the largest |r| so far / (1 - gamma)


class Heads(Protocol):
    """Twin Q-functions of given features, with target copies."""

    def value(
        self, features: Tensor
    ) -> tuple[Tensor, Callable[[Tensor], Tensor]]: ...  # Q and dL/dQ -> dL/dphi
    def target(self, features: Tensor) -> Tensor: ...
    def step(self, features: Tensor, target: Tensor, bootstrap: Bootstrap) -> Metrics: ...
    def track(self, tau: float) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class LinearHeads:
    """Q_i = <w_i, phi>, w of shape [2, m], fitted to the TD target y.

    `least_squares` is the paper's planning step, a regression whose fixed point is solved for (Sec. 3.2):

        (A + ridge I) w = b + C w,   A = E[phi phi^T],  b = E[phi (r - gamma (1 - d) alpha log pi')],  C = E[phi phi'^T]

    with phi' = gamma (1 - d) phi(s', a') and averages over the last `window` batches or so. Each twin sees its own
    half of every batch, or they would be equal. A sweep is one iteration of fitted Q-iteration,
    w <- (A + ridge I)^-1 (b + C w). It costs no data and no gradient, so values spread over the whole horizon at once
    and not by one step per turn of a target network. `sweeps=0` keeps the target heads: (A + ridge I) w = E[phi y].
    Off the policy's distribution a sweep may expand: the ridge is then raised until the result is credible again.

    `adam` descends (Q_i - y)^2. The features are strongly correlated (the eigenvalues of A fall off exponentially), and
    along the small ones, where the effect of one action on Q lives, descent stands still.
    """

    def __init__(
        self,
        dim: int,
        *,
        fit: str,
        lr: float,
        window: int,
        ridge: float,
        solve_every: int,
        sweeps: int,
        generator: torch.Generator,
    ) -> None:
        if fit not in ("adam", "least_squares"):
            raise ValueError(f"head_fit must be adam or least_squares, not {fit!r}")
        bound = 1.0 / math.sqrt(dim)
        self.w = torch.empty(2, dim).uniform_(-bound, bound, generator=generator)
        self.w_target = self.w.clone()
        self.optimizer = Adam(self.w, lr) if fit == "adam" else None
        self.keep, self.ridge, self.solve_every, self.sweeps = 1.0 - 1.0 / window, ridge, solve_every, sweeps
        self.a = torch.zeros(2, dim, dim) if fit == "least_squares" else torch.zeros(0)
        self.c = torch.zeros(2, dim, dim) if fit == "least_squares" and sweeps else torch.zeros(0)
        self.b = torch.zeros(2, dim)
        self.stiffness = 1.0
        self.steps = 0

    def value(self, features: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        return torch.mm(self.w, features.t()), lambda d_q: torch.mm(d_q.t(), self.w)

    def target(self, features: Tensor) -> Tensor:
        return torch.mm(self.w_target, features.t())

    def step(self, features: Tensor, target: Tensor, bootstrap: Bootstrap) -> Metrics:
        self.steps += 1
        error = torch.mm(self.w, features.t()).sub_(target)
        if self.optimizer is not None:
            self.optimizer.step(torch.mm(error, features).mul_(2.0 / features.shape[0]))
        else:
            self.accumulate(features, target, bootstrap)
            if self.steps % self.solve_every == 1 or self.solve_every == 1:
                self.solve(
                    torch.cat((features, bootstrap.features)) if self.sweeps else features, bootstrap.bound
                )
        return {"critic_loss": error.square_().mean(), "ridge": torch.tensor(self.ridge * self.stiffness)}

    def accumulate(self, features: Tensor, target: Tensor, bootstrap: Bootstrap) -> None:
        """Discounted averages of phi phi^T, phi phi'^T and phi y."""
        half = features.shape[0] // 2
        share = (1.0 - self.keep) / half
        if self.sweeps:
            target = target - bootstrap.value
        for i, rows in enumerate((slice(half), slice(half, 2 * half))):
            phi_t = features[rows].t()
            self.a[i].addmm_(phi_t, features[rows], beta=self.keep, alpha=share)
            self.b[i].addmv_(phi_t, target[rows], beta=self.keep, alpha=share)
            if self.sweeps:
                self.c[i].addmm_(phi_t, bootstrap.features[rows], beta=self.keep, alpha=share)

    def solve(self, probe: Tensor, bound: float) -> None:
        """New weights, if they are credible: sweeps contract, and no |Q| on `probe` exceeds `bound`."""
        if not self.sweeps:
            self.w.copy_(torch.cholesky_solve(self.b.double().unsqueeze(-1), self.factor()).squeeze(-1))
            return
        self.stiffness = max(1.0, self.stiffness / RELAX)
        while self.ridge * self.stiffness < STIFFEST_RIDGE:
            w, growth = self.sweep()
            w = w.squeeze(-1).float()
            if growth < SLOWEST_CONTRACTION and float(torch.mm(w, probe.t()).abs().max()) <= bound:
                self.w.copy_(w)
                return
            self.stiffness *= STIFFEN

    def sweep(self) -> tuple[Tensor, float]:
        """The weights after `sweeps` iterations, and by how much the last step was longer than the one before."""
        factor, b, c = self.factor(), self.b.double().unsqueeze(-1), self.c.double()
        w, lengths = self.w.double().unsqueeze(-1), [1.0, 1.0]
        for _ in range(self.sweeps):
            following = torch.cholesky_solve(torch.baddbmm(b, c, w), factor)
            lengths.append(float(torch.linalg.vector_norm(following - w)))
            w = following
        return w, lengths[-1] / max(lengths[-2], 1e-12)

    def factor(self) -> Tensor:
        """The Cholesky factor of A + ridge I."""
        a = self.a.double()
        filled = 1.0 - self.keep**self.steps  # the averages have not filled their window at first
        a.diagonal(dim1=1, dim2=2).add_(self.ridge * self.stiffness * filled)
        return torch.linalg.cholesky(a)

    def track(self, tau: float) -> None:
        self.w_target.lerp_(self.w, tau)

    def state_dict(self) -> dict[str, Any]:
        return {
            "w": self.w,
            "w_target": self.w_target,
            "a": self.a,
            "b": self.b,
            "c": self.c,
            "stiffness": self.stiffness,
            "steps": self.steps,
            "optimizer": self.optimizer.state_dict() if self.optimizer is not None else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.w.copy_(state["w"])
        self.w_target.copy_(state["w_target"])
        self.a.copy_(state["a"])
        self.b.copy_(state["b"])
        self.c.copy_(state["c"])
        self.stiffness, self.steps = state["stiffness"], state["steps"]
        if self.optimizer is not None:
            self.optimizer.load_state_dict(state["optimizer"])


class Spede(SoftActorCritic):
    """Thompson sampling over an ensemble of dynamics models; a linear critic on the drawn model's features."""

    heads: Heads
    next_features: Tensor  # of the Bellman target at hand
    next_q: Tensor

    # --- the representation -----------------------------------------------------------------------------

    def build(self) -> None:
        config, d = self.config, self.observation_dim
        self.reward_feature: str = config["reward_feature"]
        if self.reward_feature not in ("none", "learned", "oracle"):
            raise ValueError(f"reward_feature must be none, learned or oracle, not {self.reward_feature!r}")
        self.critic_every = config["head_every"]
        self.sigma = config["sigma"] * math.sqrt(d)  # in units of standardised states
        self.member = 0
        self.largest_reward = 0.0
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
        self.heads = self.make_heads(config["features"] + (self.reward_feature != "none") + 1)
        self.parts["heads"] = self.heads

    def make_model(self) -> MLP:
        """(s, a) -> (f(s, a) - s, r(s, a))"""
        d = self.observation_dim
        return MLP([d + self.action_dim, *self.config["model_hidden"], d + 1], generator=self.init_generator)

    def build_features(self) -> None:
        self.phi = SpectralMap(self.observation_dim, self.config["features"], self.sigma, self.init_generator)
        self.parts["phi"] = self.phi

    def make_heads(self, dim: int) -> Heads:
        config = self.config
        return LinearHeads(
            dim,
            fit=config["head_fit"],
            lr=config["critic_lr"],
            window=config["head_window"],
            ridge=config["head_ridge"],
            solve_every=config["head_solve_every"],
            sweeps=config["head_sweeps"],
            generator=self.init_generator,
        )

    def begin_episode(self) -> None:
        """Sample f_k ~ P(f | H_k): Line 3 of Algorithm 1."""
        self.member = int(torch.randint(len(self.models), (1,), generator=self.model_generator))

    def learn_representation(self, batch: Batch) -> Metrics:
        """A Langevin step and a momentum step for `members_per_update` members in turn (0: for all)."""
        members = len(self.models)
        count = min(self.config["members_per_update"] or members, members)
        # a member that learns in every n-th update follows as fast, per update, as one that learns in each
        tau = 1.0 - self.config["momentum"] ** (members / count)
        metrics: Metrics = {}
        for turn in range(self.updates * count, (self.updates + 1) * count):
            k = turn % members
            metrics = self.model_step(k, batch)
            self.momentum_models[k].theta.lerp_(self.models[k].theta, tau)
        return metrics

    def model_step(self, k: int, batch: Batch) -> Metrics:
        """A step on -log N(s'; f(s, a), sigma^2 I), up to a constant, and on the reward's squared error."""
        d, size = self.observation_dim, len(batch.reward)
        model = self.models[k]
        out, tape = model.forward(batch.state_action)
        error = out[0]  # of (f - s, r): what is predicted minus what happened
        error[:, :d] -= batch.next_observation
        error[:, :d] += batch.observation
        error[:, d] -= batch.reward
        metrics = {"model_error": error.square().mean()}
        error[:, :d] *= 1.0 / (self.sigma**2 * size)
        error[:, d] *= 2.0 / size
        model.backward(tape, out, parameters=True)
        self.samplers[k].step(model.grad, self.replay.transitions)
        return metrics

    def features(self, observation: Tensor, action: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """[phi(s, a), r(s, a), 1] from the momentum copy of the drawn model, and its pullback to the action."""
        d = self.observation_dim
        model = self.momentum_models[self.member]
        out, tape = model.forward(observation, action)
        reward: Tensor | None = None
        if self.reward_feature == "learned":
            reward = out[0, :, d]
        elif self.reward_feature == "oracle":
            reward = self.known_reward(observation, action)
        features, spectral_pullback = self.phi.value(observation + out[0, :, :d], reward)

        def pullback(d_features: Tensor) -> Tensor:
            d_out = torch.zeros_like(out)
            d_out[0, :, :d] = spectral_pullback(d_features)
            if self.reward_feature == "learned":
                d_out[0, :, d] = d_features[:, -2]
            d_action = model.backward(tape, d_out, wanted_input=1)
            assert d_action is not None
            if self.reward_feature == "oracle":
                d_action += self.known_reward_gradient(observation, action, d_features[:, -2])
            return d_action

        return features, pullback

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

    def target_q(self, observation: Tensor, action: Tensor) -> Tensor:
        self.next_features, _ = self.features(observation, action)
        self.next_q = self.heads.target(self.next_features)
        return self.next_q

    def critic_step(self, batch: Batch, target: Tensor) -> Metrics:
        discount = batch.continues * self.gamma
        self.largest_reward = max(self.largest_reward, float(batch.reward.abs().max()))
        bootstrap = Bootstrap(
            self.next_features.mul_(discount.unsqueeze(1)),
            self.next_q.amin(0).mul_(discount),
            self.largest_reward / (1.0 - self.gamma),
        )
        return self.heads.step(self.features(batch.observation, batch.action)[0], target, bootstrap)

    def actor_q(self, observation: Tensor, action: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        features, features_pullback = self.features(observation, action)
        q, q_pullback = self.heads.value(features)
        return q, lambda d_q: features_pullback(q_pullback(d_q))

    def track_targets(self, tau: float) -> None:
        self.heads.track(tau)

    # --- checkpoints ------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "member": self.member, "largest_reward": self.largest_reward}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.member, self.largest_reward = state["member"], state["largest_reward"]


def train(run: Run) -> None:
    interact(run, Spede(run))
