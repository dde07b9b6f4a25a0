"""A bootstrap ensemble of probabilistic networks for the dynamics (Chua et al. 2018).

Member m predicts the change of the observation,  s' - s ~ N(mu_m(s, a), diag var_m(s, a)),  and minimises

    mean over its bootstrap sample of  1/2 [(s' - s - mu)^2 / var + log var]
        + bound_weight (sum max_log_var - sum min_log_var)

with log var kept softly between two learned bounds. Inputs and targets are standardised: the networks see
and predict numbers of order one, whatever the task's units are. The bootstrap is online: on arrival each
transition gets a multiplicity ~ Poisson(1) for each member and keeps it for good.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

SMALLEST_INPUT_SCALE = 1e-6  # an input that hardly varies is only centred
SMALLEST_TARGET_SCALE = 1e-6  # a constant coordinate (Reacher's goal) is predicted as constant


class Transitions:
    """All (s, a, s') of a run with their bootstrap multiplicities. A `GrowingLog`."""

    def __init__(self, observation_dim: int, action_dim: int, members: int, capacity: int, seed: int) -> None:
        self._row_dtype = np.dtype(
            [
                ("observation", np.float64, (observation_dim,)),
                ("action", np.float64, (action_dim,)),
                ("next_observation", np.float64, (observation_dim,)),
                ("multiplicity", np.uint8, (members,)),
            ]
        )
        self._array = np.zeros(capacity, dtype=self._row_dtype)
        self._seed, self._members = seed, members
        self._count = 0

    def add(self, observation: np.ndarray, action: np.ndarray, next_observation: np.ndarray) -> None:
        row = self._array[self._count]
        row["observation"], row["action"], row["next_observation"] = observation, action, next_observation
        # a generator per row: nothing about the bootstrap has to be saved but the rows themselves
        draws = np.random.default_rng((self._seed, self._count)).poisson(1.0, self._members)
        row["multiplicity"] = np.minimum(draws, 255)
        self._count += 1

    def arrays(self, start: int = 0) -> np.ndarray:
        return self._array[start : self._count]

    @property
    def row_dtype(self) -> np.dtype[Any]:
        return self._row_dtype

    def __len__(self) -> int:
        return self._count

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self._array[start:stop]

    def extend(self, rows: np.ndarray) -> None:
        self._array[self._count : self._count + len(rows)] = rows
        self._count += len(rows)


class Ensemble(nn.Module):
    """`members` networks of the same shape, evaluated together: weights [M, in, out], inputs [M, B, in]."""

    input_mean: Tensor
    input_scale: Tensor
    target_mean: Tensor
    target_scale: Tensor

    def __init__(
        self,
        observation_dim: int,
        action_dim: int,
        hidden: Sequence[int],
        members: int,
        *,
        initial_log_variance: tuple[float, float] = (-10.0, 0.5),
    ) -> None:
        super().__init__()
        self.members = members
        sizes = [observation_dim + action_dim, *hidden, 2 * observation_dim]
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for fan_in, fan_out in pairwise(sizes):
            weight = torch.empty(members, fan_in, fan_out)
            nn.init.trunc_normal_(weight, std=0.5 / math.sqrt(fan_in), a=-math.inf, b=math.inf)
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(members, 1, fan_out)))
        low, high = initial_log_variance
        self.min_log_variance = nn.Parameter(torch.full((observation_dim,), low))
        self.max_log_variance = nn.Parameter(torch.full((observation_dim,), high))
        for name, width in (("input", sizes[0]), ("target", observation_dim)):
            self.register_buffer(f"{name}_mean", torch.zeros(width))
            self.register_buffer(f"{name}_scale", torch.ones(width))

    @torch.no_grad()
    def standardise(self, rows: np.ndarray) -> None:
        """Take the units from the data."""
        inputs, targets = inputs_and_targets(rows)
        scale = inputs.std(0, unbiased=False)
        self.input_mean.copy_(inputs.mean(0))
        self.input_scale.copy_(torch.where(scale < SMALLEST_INPUT_SCALE, 1.0, scale))
        self.target_mean.copy_(targets.mean(0))
        self.target_scale.copy_(targets.std(0, unbiased=False).clamp(min=SMALLEST_TARGET_SCALE))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of the standardised target, [M, B, d] each, for raw inputs [M, B, d + k]."""
        h = (inputs - self.input_mean) / self.input_scale
        last = len(self.weights) - 1
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = torch.baddbmm(bias, h, weight)
            if depth < last:
                h = F.silu(h, inplace=not torch.is_grad_enabled())
        mean, log_variance = h.chunk(2, -1)
        log_variance = self.max_log_variance - F.softplus(self.max_log_variance - log_variance)
        log_variance = self.min_log_variance + F.softplus(log_variance - self.min_log_variance)
        return mean, log_variance

    def negative_log_likelihood(self, inputs: Tensor, targets: Tensor, weighting: float = 0.0) -> Tensor:
        """Of each member [M], per coordinate and sample, without the constant; raw inputs and targets.

        Each term is weighted by var^weighting, taken as a constant (Seitzer et al. 2022). At 0 an error in a
        noisy-looking region counts so little that the mean may never be learned there: on InvertedPendulum
        the networks called the pole's motion near upright noise, and predicted it no better than a constant.
        """
        mean, log_variance = self(inputs)
        error = (targets - self.target_mean) / self.target_scale - mean
        terms = 0.5 * (error.square() * torch.exp(-log_variance) + log_variance)
        if weighting:
            terms = terms * torch.exp(weighting * log_variance.detach())
        return terms.mean((1, 2))

    def squared_error(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error of each member [M] in standardised units, for shared inputs [B, d + k]."""
        mean, _ = self(inputs.expand(self.members, -1, -1))
        error = (targets - self.target_mean) / self.target_scale - mean
        return error.square().mean((1, 2))

    def predict(self, observation: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of s' for each member, from [M, B, d] and [M, B, k]."""
        mean, log_variance = self(torch.cat([observation, action], -1))
        change = self.target_mean + self.target_scale * mean
        return observation + change, self.target_scale * torch.exp(0.5 * log_variance)

    def sample(self, observation: Tensor, action: Tensor) -> Tensor:
        mean, deviation = self.predict(observation, action)
        return mean + deviation * torch.randn_like(mean)

    # --- as dynamics of imagined episodes ---------------------------------------------------------------

    def trajectory_sampling(self, observation: Tensor, action: Tensor) -> Tensor:
        """TS-infinity: [P, N, d], where particle p belongs to one member from its first step to its last."""
        particles, candidates, _ = observation.shape
        if particles % self.members:
            raise ValueError(f"{particles} particles cannot be shared evenly by {self.members} members")
        shape = (self.members, particles // self.members * candidates, -1)
        return self.sample(observation.reshape(shape), action.reshape(shape)).reshape(observation.shape)

    def random_member(self, observation: Tensor, action: Tensor) -> Tensor:
        """At each step a member is drawn anew for each of the episodes [N, d]; all get the same number."""
        order = torch.randperm(len(observation))
        if len(order) % self.members:
            raise ValueError(f"{len(order)} episodes cannot be shared evenly by {self.members} members")
        shape = (self.members, len(order) // self.members, -1)
        drawn = self.sample(observation[order].reshape(shape), action[order].reshape(shape))
        result = torch.empty_like(observation)
        result[order] = drawn.reshape(observation.shape)
        return result


def inputs_and_targets(rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """[s, a] and s' - s. The difference is taken in double precision: MountainCar moves by 1e-4."""
    inputs = np.concatenate([rows["observation"], rows["action"]], -1)
    targets = rows["next_observation"] - rows["observation"]
    return torch.from_numpy(inputs).float(), torch.from_numpy(targets).float()


class EnsembleTrainer:
    """Fits an ensemble to growing data, one epoch at a time."""

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        learning_rate: float,
        weight_decay: float,
        batch_size: int,
        updates_at_most: int,
        variance_weighting: float = 0.0,
        bound_weight: float = 0.01,
    ) -> None:
        self.ensemble, self.variance_weighting = ensemble, variance_weighting
        self.batch_size, self.updates_at_most, self.bound_weight = batch_size, updates_at_most, bound_weight
        groups: list[dict[str, Any]] = [
            {"params": list(ensemble.weights), "weight_decay": weight_decay},
            {"params": [*ensemble.biases, ensemble.min_log_variance, ensemble.max_log_variance]},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=learning_rate)

    def epoch(self, rows: np.ndarray) -> float:
        """As many samples as there are rows, in at most `updates_at_most` steps. Returns the mean loss."""
        inputs, targets = inputs_and_targets(rows)
        bootstrap = [
            torch.repeat_interleave(torch.from_numpy(rows["multiplicity"][:, m].astype(np.int64)))
            for m in range(self.ensemble.members)
        ]
        updates = min(math.ceil(len(rows) / self.batch_size), self.updates_at_most)
        losses = [self._update(inputs, targets, bootstrap) for _ in range(updates)]
        return sum(losses) / len(losses)

    def _update(self, inputs: Tensor, targets: Tensor, bootstrap: Sequence[Tensor]) -> float:
        picks = torch.stack([sample[torch.randint(len(sample), (self.batch_size,))] for sample in bootstrap])
        ensemble = self.ensemble
        losses = ensemble.negative_log_likelihood(inputs[picks], targets[picks], self.variance_weighting)
        bounds = ensemble.max_log_variance.sum() - ensemble.min_log_variance.sum()
        loss = losses.sum() + self.bound_weight * bounds
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return float(losses.detach().mean())

    def state_dict(self) -> dict[str, Any]:
        return {"ensemble": self.ensemble.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.ensemble.load_state_dict(state["ensemble"])
        self.optimizer.load_state_dict(state["optimizer"])


class EarlyStopping:
    """Keeps the parameters of each member at its least held-out error; asks to stop when all have stalled."""

    def __init__(self, ensemble: Ensemble, patience: int) -> None:
        self.ensemble, self.patience = ensemble, patience
        self.restart()

    def restart(self) -> None:
        """New data: what was best before has no meaning now."""
        self.least = torch.full((self.ensemble.members,), math.inf)
        self.stalled = torch.zeros(self.ensemble.members, dtype=torch.int64)
        self.best = [parameter.detach().clone() for parameter in self._parameters()]

    def _parameters(self) -> list[nn.Parameter]:
        return [*self.ensemble.weights, *self.ensemble.biases]

    @torch.no_grad()
    def judge(self, held_out: np.ndarray) -> bool:
        """After an epoch: remember what got better; True if no member did for `patience` epochs."""
        errors = self.ensemble.squared_error(*inputs_and_targets(held_out))
        better = errors < self.least
        self.least = torch.where(better, errors, self.least)
        self.stalled = torch.where(better, 0, self.stalled + 1)
        for best, parameter in zip(self.best, self._parameters(), strict=True):
            best[better] = parameter.detach()[better]
        return bool((self.stalled >= self.patience).all())

    @torch.no_grad()
    def restore(self) -> None:
        for best, parameter in zip(self.best, self._parameters(), strict=True):
            parameter.copy_(best)

    def state_dict(self) -> dict[str, Any]:
        return {"least": self.least, "stalled": self.stalled, "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.least, self.stalled, self.best = state["least"], state["stalled"], state["best"]
