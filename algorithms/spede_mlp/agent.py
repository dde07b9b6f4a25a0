"""SPEDE-MLP: SPEDE with a perceptron on the spectral features in place of the linear form (Sec. 4, Table 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from algorithms.core.loop import interact
from algorithms.core.networks import MLP
from algorithms.core.optim import Adam
from algorithms.core.run import Run
from algorithms.core.sac import Metrics
from algorithms.spede.agent import Bootstrap, Heads, Spede


class MlpHeads:
    """Q_i = MLP_i(phi): twin perceptrons, trained by the TD error."""

    def __init__(self, sizes: list[int], *, lr: float, generator: torch.Generator) -> None:
        self.net = MLP(sizes, members=2, activation="elu", generator=generator)
        self.net_target = self.net.copy()
        self.optimizer = Adam(self.net.theta, lr)

    def value(self, features: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        out, tape = self.net.forward(features)

        def pullback(d_q: Tensor) -> Tensor:
            d_features = self.net.backward(tape, d_q.unsqueeze(-1), wanted_input=0)
            assert d_features is not None
            return d_features

        return out[..., 0], pullback

    def target(self, features: Tensor) -> Tensor:
        return self.net_target(features)[..., 0]

    def step(self, features: Tensor, target: Tensor, bootstrap: Bootstrap) -> Metrics:
        out, tape = self.net.forward(features)
        error = out[..., 0] - target
        metrics = {"critic_loss": error.square().mean()}
        self.net.backward(tape, error.mul_(2.0 / len(target)).unsqueeze(-1), parameters=True)
        self.optimizer.step(self.net.grad)
        return metrics

    def track(self, tau: float) -> None:
        self.net_target.theta.lerp_(self.net.theta, tau)

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
