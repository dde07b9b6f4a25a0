"""DeepSF: SPEDE with the representation objective swapped for deep successor features, and nothing else changed.

Successor features are the discounted sum of the state features that a policy will see (Dayan 1993; Kulkarni et al. 2016):

    psi(s, a) = (1 - gamma) e(s) + gamma E[psi(s', a')],   a' ~ pi(.|s'),   r ~ <w, e(s)>,   s ~ dec(e(s)),

learned by a TD error on psi, and regressions of the reward and of the state on the encoder e. As in SPEDE: an ensemble
of psi by Langevin dynamics, one member drawn for each episode, its momentum copy feeds [psi, r, 1] to the linear heads, and
the heads alone learn from the TD error of Q.
"""

from __future__ import annotations

import torch
from torch import Tensor

from algorithms.core.loop import interact
from algorithms.core.networks import MLP
from algorithms.core.optim import adam
from algorithms.core.replay import Batch
from algorithms.core.run import Run
from algorithms.core.sac import Metrics
from algorithms.spede.agent import Spede


class DeepSuccessorFeatures(Spede):
    """A linear critic on successor features."""

    encoded: Tensor  # e(s) of the batch at hand

    def make_model(self) -> MLP:
        """(s, a) -> (psi(s, a), r(s, a)): the trunk of SPEDE's f with as many outputs as SPEDE has features."""
        inputs = self.observation_dim + self.action_dim
        return MLP([inputs, *self.config["model_hidden"], self.config["features"] + 1], generator=self.init_generator)

    def build_features(self) -> None:
        d, m, hidden = self.observation_dim, self.config["features"], self.config["model_hidden"]
        self.encoder = MLP([d, *hidden, m], generator=self.init_generator)
        # from e(s) to the reward and to the state, in one network of two linear parts
        self.decoder = MLP([m, 1 + d], generator=self.init_generator)
        self.encoder_optimizer = adam([self.encoder.theta, self.decoder.theta], self.config["model_lr"])
        self.parts |= {
            "encoder": self.encoder,
            "decoder": self.decoder,
            "encoder_optimizer": self.encoder_optimizer,
        }

    def learn_representation(self, batch: Batch) -> Metrics:
        """The encoder, then psi towards (1 - gamma) e + gamma psi."""
        encoded = self.encoder(batch.observation)[0]
        loss, metrics = self.encoder_loss(encoded, batch)
        self.encoder.theta.grad = self.decoder.theta.grad = None
        loss.backward()
        self.encoder_optimizer.step()
        self.encoded = encoded.detach()
        return {**metrics, **super().learn_representation(batch)}

    def encoder_loss(self, encoded: Tensor, batch: Batch) -> tuple[Tensor, Metrics]:
        """(r - <w, e(s)>)^2 + |s - dec(e(s))|^2"""
        out = self.decoder(encoded)[0]
        reward = (out[:, 0] - batch.reward).square().mean()
        reconstruction = (out[:, 1:] - batch.observation).square().sum(1).mean()
        return reward + reconstruction, {"reconstruction_error": reconstruction.detach()}

    @torch.no_grad()
    def successor_target(self, k: int, batch: Batch) -> Tensor:
        """(1 - gamma) e(s) + gamma (1 - d) psi_k(s', a'), a' ~ pi, with psi_k from the momentum copy."""
        next_action, _ = self.sample_action(self.actor(batch.next_observation)[0])
        following = self.momentum_models[k](batch.next_observation, next_action)[0, :, :-1]
        now = self.encoded * (1.0 - self.gamma)
        return now.addcmul_(batch.continues.unsqueeze(1), following, value=self.gamma)

    def model_loss(self, k: int, batch: Batch) -> tuple[Tensor, Metrics]:
        """mean over features of (psi - sg(target))^2, and the reward's squared error."""
        out = self.models[k](batch.state_action)[0]
        successor = (out[:, :-1] - self.successor_target(k, batch)).square().mean()
        reward = (out[:, -1] - batch.reward).square().mean()
        return successor + reward, {"successor_error": successor.detach(), "reward_error": reward.detach()}

    def features(self, observation: Tensor, action: Tensor) -> Tensor:
        """[psi(s, a), r(s, a), 1] from the momentum copy of the drawn member."""
        out = self.momentum_models[self.member](observation, action, frozen=True)[0]
        psi, reward = out[:, :-1], out[:, -1:]
        parts = [psi]
        if self.reward_feature == "learned":
            parts.append(reward)
        elif self.reward_feature == "oracle":
            parts.append(self.task.reward(self.standardiser.invert(observation), action).unsqueeze(1))
        return torch.cat([*parts, torch.ones_like(reward)], 1)


def train(run: Run) -> None:
    interact(run, DeepSuccessorFeatures(run))
