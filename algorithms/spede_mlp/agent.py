"""SPEDE-MLP: SPEDE with a perceptron on the spectral features in place of the linear form (Sec. 4, Table 4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from algorithms.core.loop import interact
from algorithms.core.networks import MLP, track
from algorithms.core.optim import adam
from algorithms.core.run import Run
from algorithms.core.sac import Metrics
from algorithms.spede.agent import Heads, Spede


class MlpHeads:
    """Q_i = MLP_i(phi): twin perceptrons, trained by the TD error."""

    def __init__(self, sizes: list[int], *, lr: float, generator: torch.Generator) -> None:
        self.net = MLP(sizes, members=2, activation="elu", generator=generator)
        self.net_target = self.net.copy()
        self.optimizer = adam([self.net.theta], lr)

    def __call__(self, features: Tensor) -> Tensor:
        return self.net(features, frozen=True)[..., 0]

    def target(self, features: Tensor) -> Tensor:
        return self.net_target(features)[..., 0]

    def step(self, features: Tensor, target: Tensor) -> Metrics:
        q = self.net(features)[..., 0]
        loss = (q - target).square().mean(1).sum()
        self.net.theta.grad = None
        loss.backward()
        self.optimizer.step()
        return {"critic_loss": loss.detach(), "q": q.detach().mean()}

    def track(self, tau: float) -> None:
        track([self.net_target.theta], [self.net.theta], tau)

    def state_dict(self) -> dict[str, Any]:
        return {
            "net": self.net.state_dict(),
            "net_target": self.net_target.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.net_target.load_state_dict(state["net_target"])
        self.optimizer.load_state_dict(state["optimizer"])


class SpedeMlp(Spede):
    """SPEDE whose heads are perceptrons."""

    def make_heads(self, dim: int) -> Heads:
        sizes = [dim, *self.config["head_hidden"], 1]
        return MlpHeads(sizes, lr=self.config["critic_lr"], generator=self.init_generator)


def train(run: Run) -> None:
    interact(run, SpedeMlp(run))
