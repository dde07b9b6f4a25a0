"""What makes SPEDE SPEDE: the features, who learns from what, the momentum copy, the drawn member."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from algorithms.core.networks import BLOCK_OF_ROWS
from algorithms.spede.agent import SpectralMap, Spede, fitted_q_iteration, gram_matrix
from tests.agents.support import batch_of, fill, make_agent, torch_generator
from tests.agents.test_networks import reference


def spede(**overrides: Any) -> Spede:
    agent = make_agent("spede", **overrides)
    assert isinstance(agent, Spede)
    return agent


def snapshot(agent: Spede) -> dict[str, Tensor]:
    values = {f"model_{k}": m.theta for k, m in enumerate(agent.models)}
    values |= {f"momentum_{k}": m.theta for k, m in enumerate(agent.momentum_models)}
    values |= {
        "actor": agent.actor.theta,
        "omega": agent.phi.omega,
        "b": agent.phi.b,
        "w": agent.linear_heads.w,
    }
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
            phi = SpectralMap(dim, m, sigma, draws=1, generator=torch_generator(100 + draw))
            of_x = phi.value(x)[0].clone()
            of_y = phi.value(y)[0]
            estimate = of_x[:, :m] @ of_y[:, :m].T / m
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
    if isinstance(agent, Spede) and algorithm != "spede_mlp":
        agent.linear_heads.w.normal_(generator=torch_generator(5)).mul_(0.1)
    batch = batch_of(agent, 8)
    _, pullback = agent.actor_q(batch.observation, batch.action)
    rows = [torch.tensor([0, 2, 3]), torch.tensor([1, 3, 4, 7])]  # 3 has both twins, 5 and 6 have none
    gradient = pullback(rows, -0.7)
    counted = torch.zeros(2, 8)
    counted[0, rows[0]], counted[1, rows[1]] = -0.7, -0.7
    for column in range(batch.action.shape[1]):
        values = []
        for shift in (1e-2, -1e-2):
            action = batch.action.clone()
            action[:, column] += shift
            values.append((agent.actor_q(batch.observation, action)[0] * counted).sum(0))
        torch.testing.assert_close(gradient[:, column], (values[0] - values[1]) / 2e-2, atol=5e-3, rtol=5e-2)
    assert gradient[[5, 6]].count_nonzero() == 0


def test_rows_without_a_gradient_get_none() -> None:
    agent = spede()
    agent.linear_heads.w.normal_(generator=torch_generator(5))
    batch = batch_of(agent, 8)
    whole = agent.actor_q(batch.observation, batch.action)[1]([torch.arange(8)] * 2, 1.0)
    part = agent.actor_q(batch.observation, batch.action)[1]([torch.arange(3)] * 2, 1.0)
    torch.testing.assert_close(part[:3], whole[:3])
    assert part[3:].count_nonzero() == 0


def test_only_the_heads_learn_from_the_td_error() -> None:
    agent = spede()
    batch_of(agent)
    before = snapshot(agent)
    agent.plan()
    assert changed(before, snapshot(agent)) == {"w"}
    assert all(model.grad.count_nonzero() == 0 for model in agent.models + agent.momentum_models)


def test_the_heads_are_fitted_at_every_so_many_updates() -> None:
    agent = spede(head_every=3)
    fill(agent, 200)
    moved = []
    for _ in range(7):
        before = agent.linear_heads.w.clone()
        agent.update(agent.sample(32))
        moved.append(not torch.equal(before, agent.linear_heads.w))
    assert moved == [True, False, False, True, False, False, True]


def test_the_heads_follow_the_solution_at_rate_tau() -> None:
    """Two agents that differ in tau alone go the same way, one of them by 1 - (1 - tau)^(updates / target_every)."""
    first, second = spede(tau=1.0), spede(tau=0.1, head_every=4, target_every=2)
    for agent in (first, second):
        fill(agent, 200)
        agent.plan()
    torch.testing.assert_close(second.linear_heads.w, first.linear_heads.w * (1.0 - 0.9**2))


def test_the_twins_have_draws_of_their_own() -> None:
    agent = spede()
    batch = batch_of(agent)
    one, other = agent.features(batch.observation, batch.action)[0]
    assert not torch.equal(one[:, :-2], other[:, :-2])
    assert torch.equal(one[:, -2:], other[:, -2:])  # the reward and the constant


@pytest.mark.parametrize("kind", ["none", "learned", "oracle"])
@pytest.mark.parametrize("algorithm", ["spede", "spede_mlp"])
def test_features_without_a_tape_are_the_same(algorithm: str, kind: str) -> None:
    agent = make_agent(algorithm, reward_feature=kind)
    assert isinstance(agent, Spede)
    batch = batch_of(agent)
    with_tape = [phi.clone() for phi in agent.features(batch.observation, batch.action)[0]]
    for one, other in zip(with_tape, agent.feature_values(batch.observation, batch.action), strict=True):
        assert torch.equal(one, other)


def test_only_the_models_learn_from_the_dynamics() -> None:
    agent = spede(model_updates=5)
    before = snapshot(agent)
    agent.learn_representation(batch_of(agent))
    names = {f"{kind}_{k}" for kind in ("model", "momentum") for k in range(5)}
    assert changed(before, snapshot(agent)) == names


def test_members_take_turns() -> None:
    agent = spede(model_updates=2)
    batch = batch_of(agent)
    trained = []
    for _ in range(5):
        before = snapshot(agent)
        agent.learn_representation(batch)
        trained += sorted(name for name in changed(before, snapshot(agent)) if name.startswith("model"))
    assert sorted(trained) == sorted(2 * [f"model_{k}" for k in range(5)])


@pytest.mark.parametrize("algorithm", ["spede", "deepsf"])
def test_members_that_learn_at_once_share_out_the_batch(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent(algorithm, model_updates=3)
    assert isinstance(agent, Spede)
    batch, seen = batch_of(agent, 30), []
    monkeypatch.setattr(agent, "model_step", lambda k, *examples: seen.append((k, *examples)) or {})
    for _ in range(2):
        agent.learn_representation(batch)
    assert [k for k, *_ in seen] == [0, 1, 2, 3, 4, 0]
    for whole, *parts in zip(agent.examples(batch), *(examples for _, *examples in seen[:3]), strict=True):
        assert torch.equal(torch.cat(parts), whole)


def test_the_model_step_descends_on_the_gaussian_likelihood_of_state_and_reward() -> None:
    agent = spede(langevin_temperature=0.0)
    batch = batch_of(agent)
    theta = agent.models[0].theta.clone().requires_grad_()
    out = reference(agent.models[0], theta, batch.state_action)[0]
    error = out - torch.cat((batch.next_observation - batch.observation, batch.reward.unsqueeze(1)), 1)
    (error.square().sum(1).mean() / (2.0 * agent.sigma**2)).backward()
    agent.model_step(0, *agent.examples(batch))
    torch.testing.assert_close(agent.models[0].grad, theta.grad, atol=1e-6, rtol=1e-4)


def test_the_actor_step_moves_the_actor_alone() -> None:
    agent = spede()
    batch = batch_of(agent)
    before = snapshot(agent)
    agent.actor_step(batch, agent.policy(batch.observation))
    assert changed(before, snapshot(agent)) == {"actor"}
    assert all(model.grad.count_nonzero() == 0 for model in agent.models + agent.momentum_models)


def test_critic_and_actor_use_the_momentum_copy_of_the_drawn_member() -> None:
    agent = spede()
    agent.linear_heads.w.fill_(0.1)
    batch = batch_of(agent)
    agent.member = 3

    def values() -> tuple[Tensor, ...]:
        return (
            *(phi.clone() for phi in agent.features(batch.observation, batch.action)[0]),
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


@pytest.mark.parametrize("per_update", [1, 5, 10])
def test_momentum_copies_follow_as_fast_however_many_learn_at_once(per_update: int) -> None:
    agent = spede(momentum=0.9, model_updates=per_update, model_lr=1e-12, ensemble=5)
    batch = batch_of(agent)
    for model in agent.models:
        model.theta.add_(1.0)
    distance = [m.theta - c.theta for m, c in zip(agent.models, agent.momentum_models, strict=True)]
    for _ in range(10):
        agent.learn_representation(batch)
    for old, model, copy in zip(distance, agent.models, agent.momentum_models, strict=True):
        torch.testing.assert_close(model.theta - copy.theta, old * 0.9**10, atol=1e-4, rtol=1e-4)


def test_a_member_is_drawn_for_each_episode_uniformly() -> None:
    agent = spede(ensemble=4)
    counts = np.zeros(4)
    for _ in range(2000):
        agent.begin_episode()
        counts[agent.member] += 1
    assert np.all(np.abs(counts - 500) < 5 * math.sqrt(500))


@pytest.mark.parametrize(("kind", "extra"), [("none", 1), ("learned", 2), ("oracle", 2)])
def test_reward_augmentation(kind: str, extra: int) -> None:
    agent = spede(reward_feature=kind)
    batch = batch_of(agent)
    (features, _), _ = agent.features(batch.observation, batch.action)
    assert features.shape == (32, agent.config["features"] + extra)
    assert torch.equal(features[:, -1], torch.ones(32))
    if kind == "oracle":
        expected = agent.task.reward(agent.standardiser.invert(batch.observation), batch.action)
        torch.testing.assert_close(features[:, -2], expected)


@pytest.mark.parametrize("width", [1, 3, 4, 66])
def test_the_gram_matrix_in_blocks(width: int) -> None:
    features = torch.randn(50, width, generator=torch_generator(2))
    torch.testing.assert_close(gram_matrix(features).triu(), (features.T @ features).triu())


def test_large_batches_go_through_in_blocks() -> None:
    agent = spede(features=8)
    rows = 2 * BLOCK_OF_ROWS + 7
    observation, action = torch.randn(rows, 3), torch.rand(rows, 2)
    in_blocks = [phi.clone() for phi in agent.feature_values(observation, action)]
    with_tape = [phi.clone() for phi in agent.features(observation, action)[0]]
    halves = zip(observation.split(900), action.split(900), strict=True)
    by_hand = [
        torch.cat(parts)
        for parts in zip(*([phi.clone() for phi in agent.features(*half)[0]] for half in halves), strict=True)
    ]
    for values in (in_blocks, with_tape):
        for one, other in zip(values, by_hand, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def twin(features: Tensor) -> list[Tensor]:
    return [features, features]


def test_a_sweep_is_the_ridge_regression_on_the_bellman_target() -> None:
    generator = torch_generator(3)
    phi, next_phi = ([torch.randn(64, 7, generator=generator) for _ in range(2)] for _ in range(2))
    w, reward = torch.randn(2, 7, generator=generator), torch.randn(64, generator=generator)
    entropy_cost = torch.rand(64, generator=generator)
    discount = 0.9 * (torch.rand(64, generator=generator) < 0.8)
    solved, error = fitted_q_iteration(
        w, phi, next_phi, reward, discount, entropy_cost, ridge=0.1, sweeps=1, bounds=(-1e9, 1e9)
    )
    value = torch.stack([next_phi[i] @ w[i] for i in (0, 1)]).amin(0) - entropy_cost
    target = reward + discount * value
    assert torch.equal(target[discount == 0], reward[discount == 0])  # a fall: nothing follows
    for i in (0, 1):
        exact = torch.linalg.solve(
            phi[i].T @ phi[i] / 64 + 0.1 * torch.eye(7), phi[i].T @ target / 64
        )  # the textbook's solution
        torch.testing.assert_close(solved[i], exact, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(error[i], phi[i] @ exact - target, atol=1e-3, rtol=1e-3)


def test_sweeps_find_the_fixed_point_of_the_bellman_equation() -> None:
    """A ring of 5 states with one-hot features: w must become the exact values, from random transitions."""
    gamma, reward = 0.9, torch.tensor([0.0, 1.0, -0.5, 2.0, 0.3])
    successor = torch.roll(torch.eye(5), -1, 0)
    exact = torch.linalg.solve(torch.eye(5) - gamma * successor, reward)
    start = torch.randint(5, (64,), generator=torch_generator(1))
    phi, following = torch.eye(5)[start], successor[start]
    w, error = fitted_q_iteration(
        torch.zeros(2, 5), twin(phi), twin(following), reward[start], torch.full((64,), gamma), torch.zeros(64),
        ridge=1e-9, sweeps=150, bounds=(-100.0, 100.0),
    )  # fmt: skip
    torch.testing.assert_close(w, exact.expand(2, 5), atol=1e-3, rtol=1e-3)
    assert error.abs().max() < 1e-3


def test_sweeps_that_expand_stay_within_the_bound() -> None:
    """The classic example of divergence: V(s') = 2 V(s) in the features, only s in the data. The truth is 0."""
    phi, following = torch.ones(16, 1), torch.full((16, 1), 2.0)
    w = torch.ones(2, 1)
    for _ in range(20):
        w, _ = fitted_q_iteration(
            w, twin(phi), twin(following), torch.zeros(16), torch.full((16,), 0.99), torch.zeros(16),
            ridge=1e-6, sweeps=10, bounds=(-100.0, 100.0),
        )  # fmt: skip
    assert w.abs().max() <= 100.0


def test_values_stay_between_the_least_and_the_greatest_return() -> None:
    """An expanding fit of rewards that are never positive: an unbounded one would promise what cannot be had."""
    phi, following = torch.ones(16, 1), torch.full((16, 1), -2.0)
    w = torch.full((2, 1), -1.0)
    for _ in range(20):
        w, _ = fitted_q_iteration(
            w, twin(phi), twin(following), torch.full((16,), -1.0), torch.full((16,), 0.99), torch.zeros(16),
            ridge=1e-9, sweeps=1, bounds=(-100.0, 0.0),
        )  # fmt: skip
        assert w.min() >= -100.1
        assert w.max() <= -0.9


@pytest.mark.parametrize(("falls", "expected"), [(False, (-3.0, -1.0)), (True, (-3.0, 0.0))])
def test_the_range_of_rewards_has_zero_in_it_once_something_falls(
    falls: bool, expected: tuple[float, float]
) -> None:
    agent = spede()
    batch = batch_of(agent)
    rewards, continues = torch.linspace(-3.0, -1.0, 32), torch.ones(32)
    continues[5] = 0.0 if falls else 1.0
    assert agent.widen_reward_range(batch._replace(reward=rewards, continues=continues)) == expected
    narrow = batch._replace(reward=torch.full((32,), -2.0), continues=torch.ones(32))
    assert agent.widen_reward_range(narrow) == expected  # what was seen stays
    assert agent.state_dict()["reward_range"] == expected


def test_twins_take_the_smaller_value_of_the_next_state() -> None:
    phi = torch.eye(2)
    w, _ = fitted_q_iteration(
        torch.tensor([[1.0, 5.0], [3.0, 2.0]]), twin(phi), twin(phi), torch.zeros(2), torch.ones(2), torch.zeros(2),
        ridge=0.0, sweeps=1, bounds=(-1e9, 1e9),
    )  # fmt: skip
    torch.testing.assert_close(w, torch.tensor([[1.0, 2.0], [1.0, 2.0]]))
