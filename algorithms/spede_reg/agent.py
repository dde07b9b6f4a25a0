"""SPEDE-REG: soft actor-critic whose critic representation must also carry the dynamics (Sec. 4).

The last hidden layer h_i(s, a) of each critic is its representation. Q_i and a prediction of the next state are linear
in it, and it gets gradients from both losses:

    sum_i mean [(Q_i(s, a) - y)^2 + lambda |s + M_i h_i(s, a) - s'|^2 / d]
"""

from __future__ import annotations

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

    def critic_loss(self, out: Tensor, batch: Batch, target: Tensor) -> tuple[Tensor, Metrics]:
        td_loss, metrics = super().critic_loss(out, batch, target)
        change = batch.next_observation - batch.observation
        dynamics = (out[..., 1:] - change).square().mean((1, 2)).sum()
        metrics["model_error"] = dynamics.detach()
        return td_loss + self.config["dynamics_weight"] * dynamics, metrics


def train(run: Run) -> None:
    interact(run, SpedeReg(run))
