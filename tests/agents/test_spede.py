"""What makes SPEDE SPEDE: the features, who learns from what, the momentum copy, the drawn member."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from algorithms.spede.agent import Bootstrap, LinearHeads, SpectralMap, Spede
from tests.agents.support import batch_of, fill, make_agent, torch_generator

NOTHING = Bootstrap(torch.empty(0, 0), torch.empty(0), 0.0)  # for heads that do not sweep


def spede(**overrides: Any) -> Spede:
    agent = make_agent("spede", **overrides)
    assert isinstance(agent, Spede)
    return agent


def snapshot(agent: Spede) -> dict[str, Tensor]:
    values = {f"model_{k}": m.theta for k, m in enumerate(agent.models)}
    values |= {f"momentum_{k}": m.theta for k, m in enumerate(agent.momentum_models)}
    values |= {"actor": agent.actor.theta, "omega": agent.phi.omega, "b": agent.phi.b}
    assert isinstance(agent.heads, LinearHeads)
    values |= {"w": agent.heads.w, "w_target": agent.heads.w_target}
    return {name: value.clone() for name, value in values.items()}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> set[str]:
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.mark.parametrize("dim", [1, 3, 11])
def test_features_converge_to_the_gaussian_kernel_at_rate_one_half(dim: int) -> None:
    """<phi(x), phi(y)> / m -> exp(-|x - y|^2 / 2 sigma^2), with an error of order m^(-1/2) (Eq. 4)."""
    sigma = 1.3 * math.sqrt(dim)
    x, y = (torch.randn(40, dim, generator=torch_generator(seed)) for seed in (1, 2))
    kernel = torch.exp(-torch.cdist(x, y).square() / (2 * sigma**2))
    counts, errors = [64, 256, 1024, 4096], []
    for m in counts:
        squares = []
        for draw in range(8):
            phi = SpectralMap(dim, m, sigma, torch_generator(100 + draw))
            estimate = phi.value(x)[0][:, :m] @ phi.value(y)[0][:, :m].T / m
            squares.append((estimate - kernel).square().mean())
        errors.append(torch.stack(squares).mean().sqrt().item())
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.07)
    assert errors[-1] < 0.02


@pytest.mark.parametrize("kind", ["none", "learned", "oracle"])
@pytest.mark.parametrize("algorithm", ["spede", "spede_mlp", "deepsf"])
def test_gradient_of_q_in_the_action_against_finite_differences(algorithm: str, kind: str) -> None:
    agent = make_agent(
        algorithm, reward_feature=kind, features=32, sigma=3.0
    )  # smooth enough for differences
    batch = batch_of(agent, 8)
    q, pullback = agent.actor_q(batch.observation, batch.action)
    d_q = torch.randn(q.shape, generator=torch_generator())
    gradient = pullback(d_q)
    for column in range(batch.action.shape[1]):
        values = []
        for shift in (1e-2, -1e-2):
            action = batch.action.clone()
            action[:, column] += shift
            values.append((agent.actor_q(batch.observation, action)[0] * d_q).sum(0))
        torch.testing.assert_close(gradient[:, column], (values[0] - values[1]) / 2e-2, atol=5e-3, rtol=5e-2)


def test_only_the_heads_learn_from_the_td_error() -> None:
    agent = spede(target_every=1)
    batch = batch_of(agent)
    before = snapshot(agent)
    agent.critic_step(batch, agent.bellman_target(batch, agent.policy(batch.states)))
    assert changed(before, snapshot(agent)) == {"w"}
    assert all(model.grad.count_nonzero() == 0 for model in agent.models + agent.momentum_models)


def test_only_the_models_learn_from_the_dynamics() -> None:
    agent = spede(members_per_update=0)
    before = snapshot(agent)
    agent.learn_representation(batch_of(agent))
    names = {f"{kind}_{k}" for kind in ("model", "momentum") for k in range(5)}
    assert changed(before, snapshot(agent)) == names


def test_members_take_turns() -> None:
    agent = spede(members_per_update=2)
    batch = batch_of(agent)
    trained = []
    for _ in range(5):
        before = snapshot(agent)
        agent.learn_representation(batch)
        agent.updates += 1
        trained += sorted(name for name in changed(before, snapshot(agent)) if name.startswith("model"))
    assert sorted(trained) == sorted(2 * [f"model_{k}" for k in range(5)])


def test_the_actor_step_moves_the_actor_alone() -> None:
    agent = spede()
    batch = batch_of(agent)
    before = snapshot(agent)
    agent.actor_step(batch, agent.policy(batch.observation))
    assert changed(before, snapshot(agent)) == {"actor"}
    assert all(model.grad.count_nonzero() == 0 for model in agent.models + agent.momentum_models)


def test_critic_target_and_actor_all_use_the_momentum_copy_of_the_drawn_member() -> None:
    agent = spede()
    batch = batch_of(agent)
    agent.member = 3

    def values() -> tuple[Tensor, ...]:
        return (
            agent.features(batch.observation, batch.action)[0],
            agent.target_q(batch.observation, batch.action),
            agent.actor_q(batch.observation, batch.action)[0],
        )

    before = values()
    for k, (model, momentum) in enumerate(zip(agent.models, agent.momentum_models, strict=True)):
        model.theta.add_(1.0)
        if k != 3:
            momentum.theta.add_(1.0)
    assert all(torch.equal(a, b) for a, b in zip(before, values(), strict=True))
    agent.momentum_models[3].theta.add_(0.1)
    assert not any(torch.equal(a, b) for a, b in zip(before, values(), strict=True))


@pytest.mark.parametrize("per_update", [0, 1])
def test_momentum_copies_follow_as_fast_however_many_learn_at_once(per_update: int) -> None:
    agent = spede(momentum=0.9, members_per_update=per_update, model_lr=1e-12, ensemble=5)
    batch = batch_of(agent)
    for model in agent.models:
        model.theta.add_(1.0)
    distance = [m.theta - c.theta for m, c in zip(agent.models, agent.momentum_models, strict=True)]
    for _ in range(10):
        agent.learn_representation(batch)
        agent.updates += 1
    for old, model, copy in zip(distance, agent.models, agent.momentum_models, strict=True):
        torch.testing.assert_close(model.theta - copy.theta, old * 0.9**10, atol=1e-4, rtol=1e-4)


def test_target_heads_follow_every_second_update() -> None:
    agent = spede(target_every=2, tau=0.25)
    fill(agent, 200)
    assert isinstance(agent.heads, LinearHeads)
    expected = agent.heads.w_target.clone()
    for update in range(1, 7):
        agent.update(agent.sample(32))
        if update % 2 == 0:
            expected = 0.75 * expected + 0.25 * agent.heads.w
        torch.testing.assert_close(agent.heads.w_target, expected)


def test_a_member_is_drawn_for_each_episode_uniformly() -> None:
    agent = spede(ensemble=4)
    counts = np.zeros(4)
    for _ in range(2000):
        agent.begin_episode()
        counts[agent.member] += 1
    assert np.all(np.abs(counts - 500) < 5 * math.sqrt(500))


def test_bellman_target_by_hand() -> None:
    agent = spede()
    batch = batch_of(agent, 64)
    policy = agent.policy(batch.states)
    target = agent.bellman_target(batch, policy)
    action, log_prob = policy.action[64:], policy.log_prob[64:]
    q = agent.target_q(batch.next_observation, action).min(0).values
    expected = batch.reward + 0.99 * batch.continues * (q - agent.log_alpha.exp() * log_prob)
    torch.testing.assert_close(target, expected)
    fallen = batch.continues == 0
    assert fallen.any()
    assert torch.equal(target[fallen], batch.reward[fallen])


@pytest.mark.parametrize(("kind", "extra"), [("none", 1), ("learned", 2), ("oracle", 2)])
def test_reward_augmentation(kind: str, extra: int) -> None:
    agent = spede(reward_feature=kind)
    batch = batch_of(agent)
    features, _ = agent.features(batch.observation, batch.action)
    assert features.shape == (32, agent.config["features"] + extra)
    assert torch.equal(features[:, -1], torch.ones(32))
    if kind == "oracle":
        expected = agent.task.reward(agent.standardiser.invert(batch.observation), batch.action)
        torch.testing.assert_close(features[:, -2], expected)


def test_head_gradient_is_that_of_autograd() -> None:
    heads = linear_heads(6, fit="adam")
    features, target = torch.randn(20, 6), torch.randn(20)
    w = heads.w.clone().requires_grad_()
    (w @ features.T - target).square().mean(1).sum().backward()
    heads.step(features, target, NOTHING)
    assert w.grad is not None
    assert heads.optimizer is not None
    torch.testing.assert_close(heads.optimizer.mean, 0.1 * w.grad)  # Adam's first moment after one step


def linear_heads(
    dim: int, *, fit: str, ridge: float = 1e-6, window: int = 100, sweeps: int = 0
) -> LinearHeads:
    return LinearHeads(
        dim,
        fit=fit,
        lr=3e-3,
        window=window,
        ridge=ridge,
        solve_every=5,
        sweeps=sweeps,
        generator=torch_generator(),
    )


def test_least_squares_heads_are_the_ridge_regression() -> None:
    """Constant weights (a huge window): each twin is the textbook solution on its half of the data."""
    generator = torch_generator(3)
    heads = linear_heads(7, fit="least_squares", ridge=0.1, window=10**6)
    features, target = torch.randn(11, 64, 7, generator=generator), torch.randn(11, 64, generator=generator)
    for phi, y in zip(features, target, strict=True):
        heads.step(phi, y, NOTHING)
    for i, rows in enumerate((slice(32), slice(32, 64))):
        phi, y = features[:, rows].reshape(-1, 7).double(), target[:, rows].reshape(-1).double()
        n = len(y)
        exact = torch.linalg.solve(phi.T @ phi / n + 0.1 * torch.eye(7).double(), phi.T @ y / n)
        torch.testing.assert_close(heads.w[i].double(), exact, atol=1e-4, rtol=1e-4)


def test_least_squares_solves_an_ill_conditioned_regression_that_adam_does_not() -> None:
    """Targets along directions in which the features hardly vary."""
    generator = torch_generator(3)
    basis = torch.linalg.qr(torch.randn(20, 20, generator=generator)).Q
    scales = torch.logspace(1, -2, 20)
    features = torch.randn(4096, 20, generator=generator) * scales @ basis
    target = features @ (basis.T @ (1.0 / scales))
    errors = {}
    for fit in ("adam", "least_squares"):
        heads = linear_heads(20, fit=fit)
        for _ in range(501):
            pick = torch.randint(4096, (256,), generator=generator)
            heads.step(features[pick], target[pick], NOTHING)
        errors[fit] = (heads.value(features)[0] - target).square().mean().item()
    assert errors["least_squares"] < 1e-2
    assert errors["adam"] > 100 * errors["least_squares"]


def test_the_window_forgets() -> None:
    heads = linear_heads(3, fit="least_squares", window=10)
    features = torch.randn(64, 3, generator=torch_generator())
    for truth in (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([-1.0, 0.5, 0.0])):
        for _ in range(101):
            heads.step(features, features @ truth, NOTHING)
    torch.testing.assert_close(heads.w, truth.expand(2, 3), atol=1e-3, rtol=0.0)


def test_sweeps_find_the_fixed_point_of_the_bellman_equation() -> None:
    """A ring of 5 states with one-hot features: w must become the exact values, from random transitions."""
    gamma, reward = 0.9, torch.tensor([0.0, 1.0, -0.5, 2.0, 0.3])
    successor = torch.roll(torch.eye(5), -1, 0)
    exact = torch.linalg.solve(torch.eye(5) - gamma * successor, reward)
    heads = linear_heads(5, fit="least_squares", ridge=1e-9, sweeps=50)
    generator = torch_generator(1)
    for _ in range(51):
        start = torch.randint(5, (64,), generator=generator)
        phi, following = torch.eye(5)[start], gamma * successor[start]
        value = following @ heads.w_target[0]
        heads.step(phi, reward[start] + value, Bootstrap(following, value, 100.0))
    torch.testing.assert_close(heads.w, exact.expand(2, 5), atol=1e-3, rtol=1e-3)


def test_sweeps_that_expand_are_tamed_by_the_ridge() -> None:
    """The classic example of divergence: V(s') = 2 V(s) in the features, only s in the data. The truth is 0."""
    heads = linear_heads(1, fit="least_squares", sweeps=10)
    heads.w.fill_(1.0)
    for _ in range(200):
        phi, following = torch.ones(16, 1), torch.full((16, 1), 0.99 * 2.0)
        value = (following @ heads.w_target[0]).clone()
        heads.step(phi, value, Bootstrap(following, value, 100.0))
        assert heads.w.abs().max() <= 1.0
    assert heads.stiffness > 1.0
