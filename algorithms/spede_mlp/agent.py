"""SPEDE-MLP: SPEDE with a perceptron on the spectral features in place of the linear form (Sec. 4, Table 4).

A perceptron has no closed-form fit, so these heads descend on the TD error with target copies, as SAC's critics do.
(Without hidden layers they are SPEDE's linear heads learned by descent: `head_hidden: []`.)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from algorithms.core.loop import interact
from algorithms.core.optim import Adam
from algorithms.core.replay import Batch
from algorithms.core.run import Run
from algorithms.core.sac import Metrics, SoftActorCritic, TwinPullback
from algorithms.spede.agent import RowGradient, Spede


class SpedeMlp(Spede):
    """SPEDE whose heads are twin perceptrons Q_i = MLP_i(phi)."""

    draws = 1  # perceptrons differ by themselves
    update = SoftActorCritic.update

    def build_heads(self, dim: int) -> None:
        sizes = [dim, *self.config["head_hidden"], 1]
        self.heads = self.network(sizes, members=2, activation="elu")
        self.target_heads = self.heads.copy()
        self.head_optimizer = Adam(self.heads.theta, self.config["critic_lr"])
        self.parts |= {
            "heads": self.heads,
            "target_heads": self.target_heads,
            "head_optimizer": self.head_optimizer,
        }

    def target_q(self, observation: Tensor, action: Tensor) -> Tensor:
        (phi,), _ = self.features(observation, action)
        return self.target_heads(phi)[..., 0]

    def critic_step(self, batch: Batch, target: Tensor) -> Metrics:
        (phi,), _ = self.features(batch.observation, batch.action)
        out, tape = self.heads.forward(phi)
        error = out[..., 0] - target
        metrics = {"critic_loss": error.square().mean()}
        self.heads.backward(tape, error.mul_(2.0 / len(target)).unsqueeze(-1), parameters=True)
        self.head_optimizer.step(self.heads.grad)
        return metrics

    def actor_q(self, observation: Tensor, action: Tensor) -> tuple[Tensor, TwinPullback]:
        (phi,), phi_pullback = self.features(observation, action)
        out, tape = self.heads.forward(phi)

        def pullback(rows: Sequence[Tensor], scale: float) -> Tensor:
            d_phi = self.heads.input_gradient_of_rows(tape, rows, torch.tensor([scale]), wanted_input=0)
            return phi_pullback([RowGradient(torch.arange(len(d_phi)), d_phi)])

        return out[..., 0], pullback

    def track_targets(self, tau: float) -> None:
        self.target_heads.theta.lerp_(self.heads.theta, tau)


def train(run: Run) -> None:
    interact(run, SpedeMlp(run))
