"""Planners: which sequence of actions has the largest return, according to somebody else's judgement.

A planner proposes plans [N, H, k] with actions in [-1, 1] and is told their returns [N]; whether a learned
model or the true dynamics judged them, it does not know. A return that is not finite (a model that
diverged) counts as minus infinity: as zero it would win wherever returns are negative.

All randomness comes from torch's global generator, which the harness restores after an evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

Judge = Callable[[Tensor], Tensor]  # plans [N, H, k] -> returns [N]


def rank(judge: Judge, plans: Tensor) -> Tensor:
    """Returns [N] of the plans; those that are not finite become -inf."""
    returns = judge(plans)
    return torch.where(torch.isfinite(returns), returns, -math.inf)


class Planner(Protocol):
    """`plan` gives the next action [k]; what it remembers for the following step is its state."""

    def plan(self, judge: Judge) -> Tensor: ...
    def begin_episode(self) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@dataclass
class RandomShooting:
    """Uniform sequences; the first action of the best one. It remembers nothing."""

    action_dim: int
    horizon: int
    candidates: int

    def plan(self, judge: Judge) -> Tensor:
        plans = 2.0 * torch.rand(self.candidates, self.horizon, self.action_dim) - 1.0
        return plans[rank(judge, plans).argmax(), 0]

    def begin_episode(self) -> None:
        """Nothing to forget."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


@dataclass
class _WarmStarted:
    """Planners that start from what was left of the last plan, shifted by one step."""

    action_dim: int
    horizon: int
    candidates: int
    mean: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.begin_episode()

    def begin_episode(self) -> None:
        self.mean = torch.zeros(self.horizon, self.action_dim)

    def _take_first(self) -> Tensor:
        action = self.mean[0].clone()
        self.mean = torch.cat([self.mean[1:], torch.zeros(1, self.action_dim)])
        return action

    def state_dict(self) -> dict[str, Any]:
        return {"mean": self.mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.mean = state["mean"]


@dataclass
class CrossEntropy(_WarmStarted):
    """The cross-entropy method as in PETS (Chua et al. 2018).

    Each iteration draws from a Gaussian truncated at two standard deviations, then moves mean and variance
    towards those of the best `elites`: x <- momentum x + (1 - momentum) x_elites. The variance is held so
    small that two standard deviations stay inside the box.
    """

    elites: int
    iterations: int
    momentum: float
    initial_variance: float = 0.25  # a box of width 2: (2 / 4)^2
    smallest_variance: float = 1e-3  # below it, further iterations would change nothing

    @classmethod
    def of_config(cls, action_dim: int, config: Mapping[str, Any]) -> CrossEntropy:
        keys = ("horizon", "candidates", "elites", "iterations", "momentum")
        return cls(action_dim, **{key: config[key] for key in keys})

    def plan(self, judge: Judge) -> Tensor:
        mean = self.mean
        variance = torch.full_like(mean, self.initial_variance)
        for _ in range(self.iterations):
            if variance.max() < self.smallest_variance:
                break
            to_the_wall = torch.minimum(1.0 - mean, 1.0 + mean) / 2.0
            spread = torch.minimum(to_the_wall, variance.sqrt())
            noise = truncated_normal((self.candidates, self.horizon, self.action_dim))
            plans = (mean + spread * noise).clamp(-1.0, 1.0)
            returns = rank(judge, plans)
            judged = int(torch.isfinite(returns).sum())
            if judged == 0:
                continue  # nothing was learned
            best = plans[returns.topk(min(self.elites, judged)).indices]
            mean = self.momentum * mean + (1.0 - self.momentum) * best.mean(0)
            variance = self.momentum * variance + (1.0 - self.momentum) * best.var(0, unbiased=False)
        self.mean = mean
        return self._take_first()


@dataclass
class PathIntegral(_WarmStarted):
    """MPPI (Williams et al. 2017): the plans' average, weighted by exp(return / temperature).

        U <- sum_n w_n (U + eps_n),    w_n ~ exp((R_n - max R) / (temperature (max R - median R)))

    The temperature is in units of the spread of the returns, so that one value suits tasks with rewards of
    any size. (Not of their standard deviation: one candidate on which the model ran away to -1e30 would make
    all the others look alike.) `smoothing` makes neighbouring noises alike:

        eps_t = smoothing eps_{t-1} + sqrt(1 - smoothing^2) xi_t,    xi_t ~ N(0, I).
    """

    iterations: int
    noise: float
    temperature: float
    smoothing: float

    def plan(self, judge: Judge) -> Tensor:
        for _ in range(self.iterations):
            plans = (self.mean + self.noise * self._draw()).clamp(-1.0, 1.0)
            plans[0] = self.mean  # the plan as it stands is a candidate too
            returns = rank(judge, plans).double()
            judged = returns[torch.isfinite(returns)]
            if len(judged) == 0:
                continue  # nothing was learned
            scale = self.temperature * (judged.max() - judged.median()) + 1e-9
            weights = torch.softmax((returns - judged.max()) / scale, 0)
            self.mean = torch.einsum("n,nhk->hk", weights.to(plans.dtype), plans)
        return self._take_first()

    def _draw(self) -> Tensor:
        noise = torch.randn(self.candidates, self.horizon, self.action_dim)
        if self.smoothing:
            fresh = math.sqrt(1.0 - self.smoothing**2)
            for time in range(1, self.horizon):
                noise[:, time] = self.smoothing * noise[:, time - 1] + fresh * noise[:, time]
        return noise


def truncated_normal(shape: tuple[int, ...], bound: float = 2.0) -> Tensor:
    """Standard normal numbers conditioned on |x| <= bound, by inversion of the distribution function."""
    tail = math.erf(bound / math.sqrt(2.0))
    uniform = tail * (2.0 * torch.rand(shape) - 1.0)
    return math.sqrt(2.0) * torch.erfinv(uniform)


class TrainingAndEvaluation:
    """Two planners of a kind, so that an evaluation leaves the plan of the running episode alone.

    The second planner starts afresh in each evaluation episode (`episode` says which one it is: the run's
    `evaluations_finished`); so it needs no place in a checkpoint, which is never taken within an evaluation.
    """

    def __init__(self, make: Callable[[], Planner], episode: Callable[[], int]) -> None:
        self.training, self.evaluation = make(), make()
        self.episode = episode
        self._planned_episode = -1

    def plan(self, judge: Judge, *, explore: bool) -> Tensor:
        if explore:
            return self.training.plan(judge)
        if self.episode() != self._planned_episode:
            self.evaluation.begin_episode()
            self._planned_episode = self.episode()
        return self.evaluation.plan(judge)
