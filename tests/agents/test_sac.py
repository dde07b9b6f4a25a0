"""The core of soft actor-critic: its target, its three losses against autograd, and how the targets follow."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from algorithms.core.networks import MLP
from algorithms.core.replay import Batch
from algorithms.core.sac import TwinCritic
from tests.agents.support import batch_of, make_agent
from tests.agents.test_networks import reference


def sac(**overrides: object) -> TwinCritic:
    agent = make_agent("sac", **overrides)
    assert isinstance(agent, TwinCritic)
    return agent


def value(network: MLP, *inputs: Tensor) -> Tensor:
    """[members, B, out] with plain operations, which autograd can follow."""
    return reference(network, network.theta, torch.cat(inputs, 1))


def test_the_bellman_target() -> None:
    """y = r + gamma (1 - d) [min_i Qbar_i(s', a') - alpha log pi(a'|s')], by hand."""
    agent = sac(gamma=0.8, initial_alpha=0.3)
    agent.critic_target.theta.add_(0.05)  # Qbar is not Q
    batch = batch_of(agent, 256)
    assert 0 < int(batch.continues.sum()) < 256  # some of both kinds
    policy = agent.policy(batch.states)
    action, log_prob = policy.action[256:], policy.log_prob[256:]
    q = value(agent.critic_target, batch.next_observation, action)[..., 0]
    expected = batch.reward + 0.8 * batch.continues * (q.amin(0) - 0.3 * log_prob)
    torch.testing.assert_close(agent.bellman_target(batch, policy), expected)
    fell = batch.continues == 0
    assert torch.equal(agent.bellman_target(batch, policy)[fell], batch.reward[fell])


def test_the_critic_descends_on_the_squared_td_error() -> None:
    agent = sac()
    batch, target = batch_of(agent), torch.linspace(-1.0, 1.0, 32)
    theta = agent.critic.theta.clone().requires_grad_()
    q = reference(agent.critic, theta, batch.state_action)[..., 0]
    expected = torch.autograd.grad((q - target).square().mean(1).sum(), theta)[0]
    agent.critic_step(batch, target)
    torch.testing.assert_close(agent.critic.grad, expected, atol=1e-6, rtol=1e-4)


def actor_loss(agent: TwinCritic, theta: Tensor, batch: Batch, noise: Tensor, alpha: float) -> Tensor:
    """mean [alpha log pi(a|s) - min_i Q_i(s, a)], a = tanh(mean + std noise), with torch's own distributions."""
    mean, raw = reference(agent.actor, theta, batch.observation)[0].chunk(2, 1)
    std = raw.clamp(agent.log_std.low, agent.log_std.high).exp()
    u = mean + std * noise
    action = torch.tanh(u)
    log_prob = torch.distributions.Normal(mean, std).log_prob(u) - torch.log1p(-action.square())
    q = value(agent.critic, batch.observation, action)[..., 0].amin(0)
    return (alpha * log_prob.sum(1) - q).mean()


def test_the_actor_descends_on_the_entropy_regularised_value(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = sac(initial_alpha=0.4)
    batch = batch_of(agent)
    noise = torch.randn(32, 2, generator=torch.Generator().manual_seed(3))
    monkeypatch.setattr(torch, "randn", lambda *_, **__: noise.t())
    theta = agent.actor.theta.clone().requires_grad_()
    expected = torch.autograd.grad(actor_loss(agent, theta, batch, noise, 0.4), theta)[0]
    critic = agent.critic.theta.clone()
    agent.actor_step(batch, agent.policy(batch.observation))
    torch.testing.assert_close(agent.actor.grad, expected, atol=1e-6, rtol=1e-3)
    assert torch.equal(agent.critic.theta, critic)


@pytest.mark.parametrize(("target_entropy_scale", "rises"), [(-5.0, True), (5.0, False)])
def test_the_temperature_rises_while_the_entropy_is_below_its_target(
    target_entropy_scale: float, rises: bool
) -> None:
    """The target is -scale dim A: 10 is above the entropy of any policy on [-1, 1]^2, -10 below that of a new one."""
    agent = sac(target_entropy_scale=target_entropy_scale, initial_alpha=0.2)
    batch = batch_of(agent)
    agent.actor_step(batch, agent.policy(batch.observation))
    assert (agent.log_alpha.item() > math.log(0.2)) is rises


def test_target_networks_follow_at_rate_tau_every_so_many_updates() -> None:
    """With a critic that stands still the distance shrinks by 1 - tau at each turn, and only then."""
    agent = sac(tau=0.1, target_every=3, critic_lr=0.0)
    agent.critic.theta.add_(1.0)
    batch, distances = batch_of(agent), []
    for _ in range(7):
        agent.update(batch)
        distances.append((agent.critic.theta - agent.critic_target.theta).mean().item())
    expected = [0.9 ** (update // 3) for update in range(1, 8)]
    assert distances == pytest.approx(expected, rel=1e-4)


def test_the_time_limit_counts_as_a_fall_only_by_the_flag() -> None:
    """`fill` ends every tenth step: by turns a fall, and a time limit alone."""
    ends = {}
    for bootstrap in (True, False):
        agent = sac(bootstrap_time_limits=bootstrap)
        ends[bootstrap] = int((batch_of(agent, 5000).continues == 0).sum()) / 5000
    assert ends[True] == pytest.approx(0.05, abs=0.02)
    assert ends[False] == pytest.approx(0.10, abs=0.02)
