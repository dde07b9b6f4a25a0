"""SPEDE-REG: soft actor-critic whose critic representation must also carry the dynamics (Sec. 4).

The last hidden layer h_i(s, a) of each critic is its representation. Q_i and a prediction of the next state are linear
in it, and it gets gradients from both losses:

    sum_i mean [(Q_i(s, a) - y)^2 + lambda |s + M_i h_i(s, a) - s'|^2 / d]
"""

from __future__ import annotations

import torch
from torch import Tensor

from algorithms.core.loop import interact
from algorithms.core.replay import Batch
from algorithms.core.run import Run
from algorithms.core.sac import Metrics, TwinCritic


class SpedeReg(TwinCritic):
    """SAC with the dynamics as a regulariser of the critic."""

    def build(self) -> None:
        self.extra_outputs = self.observation_dim
        super().build()

    def critic_loss(self, out: Tensor, batch: Batch, target: Tensor) -> tuple[Metrics, Tensor]:
        metrics, d_q = super().critic_loss(out, batch, target)
        error = out[..., 1:] - (batch.next_observation - batch.observation)
        metrics["model_error"] = error.square().mean()
        d_dynamics = error.mul_(2.0 * self.config["dynamics_weight"] / error[0].numel())
        return metrics, torch.cat((d_q, d_dynamics), -1)


def train(run: Run) -> None:
    interact(run, SpedeReg(run))
