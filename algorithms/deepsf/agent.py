"""DeepSF: SPEDE with the representation objective swapped for deep successor features, and nothing else changed.

Successor features are the discounted sum of the state features that a policy will see (Dayan 1993;
Kulkarni et al. 2016):

    psi(s, a) = (1 - gamma) e(s) + gamma E[psi(s', a')],   a' ~ pi(.|s'),   r ~ <w, e(s)>,   s ~ dec(e(s)),

learned by a TD error on psi, and regressions of the reward and of the state on the encoder e. As in SPEDE: an
ensemble of psi by Langevin dynamics, one member drawn for each episode, its momentum copy feeds [psi, r, 1] to the
linear heads, and the heads alone learn from the TD error of Q.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from algorithms.core.loop import interact
from algorithms.core.networks import MLP
from algorithms.core.optim import Adam
from algorithms.core.replay import Batch
from algorithms.core.run import Run
from algorithms.core.sac import Metrics, TwinPullback
from algorithms.spede.agent import Spede, reward_gradient


class DeepSuccessorFeatures(Spede):
    """A linear critic on successor features."""

    def make_model(self) -> MLP:
        """(s, a) -> (psi(s, a), r(s, a)): the trunk of SPEDE's f with as many outputs as SPEDE has features."""
        inputs = self.observation_dim + self.action_dim
        return self.network([inputs, *self.config["model_hidden"], self.config["features"] + 1])

    def build_features(self) -> None:
        d, m, hidden = self.observation_dim, self.config["features"], self.config["model_hidden"]
        self.encoder = self.network([d, *hidden, m])
        # from e(s) to the reward and to the state, in one network of two linear parts
        self.decoder = self.network([m, 1 + d])
        self.encoder_optimizer = Adam(self.encoder.theta, self.config["model_lr"])
        self.decoder_optimizer = Adam(self.decoder.theta, self.config["model_lr"])
        self.parts |= {
            "encoder": self.encoder,
            "decoder": self.decoder,
            "encoder_optimizer": self.encoder_optimizer,
            "decoder_optimizer": self.decoder_optimizer,
        }

    def learn_representation(self, batch: Batch) -> Metrics:
        """The encoder, then psi towards (1 - gamma) e + gamma psi."""
        metrics = self.encoder_step(batch)
        return {**metrics, **super().learn_representation(batch)}

    def encoder_step(self, batch: Batch) -> Metrics:
        """A step on (r - <w, e(s)>)^2 + |s - dec(e(s))|^2"""
        encoded, encoder_tape = self.encoder.forward(batch.observation)
        error, decoder_tape = self.decoder.forward(encoded[0])
        error[0, :, 0].sub_(batch.reward)
        error[0, :, 1:].sub_(batch.observation)
        metrics = {"reconstruction_error": error.square().mean()}
        error.mul_(2.0 / len(batch.reward))
        d_encoded = self.decoder.backward(decoder_tape, error, parameters=True, wanted_input=0)
        assert d_encoded is not None
        self.encoder.backward(encoder_tape, d_encoded.unsqueeze(0), parameters=True)
        self.decoder_optimizer.step(self.decoder.grad)
        self.encoder_optimizer.step(self.encoder.grad)
        return metrics

    def examples(self, batch: Batch) -> tuple[Tensor, ...]:
        return batch.state_action, batch.reward, batch.observation, batch.next_observation, batch.continues

    def successor_target(
        self, k: int, observation: Tensor, next_observation: Tensor, continues: Tensor
    ) -> Tensor:
        """(1 - gamma) e(s) + gamma (1 - d) psi_k(s', a'), a' ~ pi, with psi_k from the momentum copy."""
        next_action, _, _ = self.sample_action(self.actor(next_observation)[0])
        following = self.momentum_models[k](next_observation, next_action)[0, :, :-1]
        now = self.encoder(observation)[0].mul_(1.0 - self.gamma)
        return now.addcmul_(continues.unsqueeze(1), following, value=self.gamma)

    def model_step(self, k: int, *examples: Tensor) -> Metrics:
        """A step on the mean over features of (psi_k - target)^2, and on the reward's squared error."""
        state_action, reward, *transition = examples
        target = self.successor_target(k, *transition)
        model = self.models[k]
        error, tape = model.forward(state_action)
        error[0, :, :-1].sub_(target)
        error[0, :, -1].sub_(reward)
        metrics = {"successor_error": error.square().mean()}
        error[0, :, :-1].mul_(2.0 / target.numel())
        error[0, :, -1].mul_(2.0 / len(target))
        model.backward(tape, error, parameters=True)
        self.samplers[k].step(model.grad, self.replay.transitions)
        return metrics

    def feature_values(self, observation: Tensor, action: Tensor) -> list[Tensor]:
        """[psi(s, a), r(s, a), 1] from the momentum copies of the drawn member and of the next, one for each twin."""
        return [
            self._member_features(self.momentum_models[k](observation, action)[0], observation, action)
            for k in self._members_of_the_twins()
        ]

    def _members_of_the_twins(self) -> list[int]:
        """The drawn member and the next one."""
        return [(self.member + i) % len(self.models) for i in (0, 1)]

    def _member_features(self, out: Tensor, observation: Tensor, action: Tensor) -> Tensor:
        """[psi(s, a), r(s, a), 1] from a member's output."""
        psi, reward = out[:, :-1], out[:, -1:]
        parts = [psi]
        if self.reward_feature == "learned":
            parts.append(reward)
        elif self.reward_feature == "oracle":
            parts.append(self.known_reward(observation, action).unsqueeze(1))
        return torch.cat([*parts, torch.ones_like(reward)], 1)

    def actor_q(self, observation: Tensor, action: Tensor) -> tuple[Tensor, TwinPullback]:
        """Q_i = <w_i, [psi, r, 1]> is linear in the last hidden layer of psi's network: psi itself need not be made."""
        w, m = self.linear_heads.w, self.config["features"]
        learned, known = self.reward_feature == "learned", self.reward_feature == "oracle"
        of_outputs = w[:, :-1] if learned else pad(w[:, :m], (0, 1))  # (psi, r)
        networks = [
            self.momentum_models[k].weighted(of_outputs[i], ("twin", i))
            for i, k in enumerate(self._members_of_the_twins())
        ]
        values, tapes = zip(*(network.forward(observation, action) for network in networks), strict=True)
        q = torch.cat(values)[..., 0] + w[:, -1:]
        if known:
            q += w[:, m : m + 1] * self.known_reward(observation, action)

        def pullback(rows: Sequence[Tensor], scale: float) -> Tensor:
            d_action, d_q = torch.zeros_like(action), torch.tensor([scale])
            for network, tape, of_twin in zip(networks, tapes, rows, strict=True):
                d_action += network.input_gradient_of_rows(tape, [of_twin], d_q, wanted_input=1)
            if known:
                d_reward = reward_gradient(self.linear_heads.gradients(rows, scale), len(action))
                d_action += self.known_reward_gradient(observation, action, d_reward)
            return d_action

        return q, pullback


def train(run: Run) -> None:
    interact(run, DeepSuccessorFeatures(run))
