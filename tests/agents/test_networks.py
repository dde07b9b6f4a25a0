"""The hand-written passes against autograd, finite differences and numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import integrate
from torch import Tensor

from algorithms.core.networks import MLP, squashed_gaussian, track
from tests.agents.support import torch_generator

SIZES = [5, 7, 6, 2]


def reference(net: MLP, theta: Tensor, x: Tensor) -> Tensor:
    """The same perceptron in ordinary autograd operations."""
    outputs = []
    for k in range(net.members):
        h = x if x.dim() == 2 else x[k]
        for depth, layer in enumerate(net.views(theta)):
            weight, bias = layer[k]
            h = h @ weight + bias
            if depth < len(net.sizes) - 2:
                h = torch.relu(h) if net.activation == "relu" else torch.nn.functional.elu(h)
        outputs.append(h)
    return torch.stack(outputs)


@pytest.mark.parametrize("activation", ["relu", "elu"])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("shared", [True, False])
def test_perceptron_agrees_with_autograd(activation: str, members: int, shared: bool) -> None:
    net = MLP(SIZES, members=members, activation=activation, generator=torch_generator(), dtype=torch.float64)
    shape = (9, 5) if shared else (members, 9, 5)
    x = torch.randn(shape, dtype=torch.float64, generator=torch_generator(1), requires_grad=True)
    weights = torch.randn(members, 9, 2, dtype=torch.float64, generator=torch_generator(2))
    expected = reference(net, net.theta, x)
    grads = torch.autograd.grad((expected * weights).sum(), (net.theta, x))
    left, right = x[..., :3], x[..., 3:]
    for actual in (net(x), net(left, right)):
        torch.testing.assert_close(actual, expected)
        for a, b in zip(torch.autograd.grad((actual * weights).sum(), (net.theta, x)), grads, strict=True):
            torch.testing.assert_close(a, b)


def test_frozen_parameters_get_no_gradient_and_inputs_do() -> None:
    net = MLP(SIZES, generator=torch_generator())
    state, action = torch.randn(4, 3), torch.randn(4, 2, requires_grad=True)
    net(state, action, frozen=True).sum().backward()
    assert net.theta.grad is None
    assert action.grad is not None
    assert not net(state, torch.randn(4, 2), frozen=True).requires_grad


def test_a_linear_network_has_no_hidden_layer() -> None:
    net = MLP([3, 2], generator=torch_generator())
    x = torch.randn(4, 3, requires_grad=True)
    torch.testing.assert_close(net(x), reference(net, net.theta, x))
    net(x).sum().backward()
    assert x.grad is not None


def test_loading_a_state_reaches_the_layers() -> None:
    one, two = (MLP(SIZES, generator=torch_generator(seed)) for seed in (0, 1))
    two.load_state_dict(one.state_dict())
    x = torch.randn(4, 5)
    assert torch.equal(one(x), two(x))


def test_momentum_update_is_the_geometric_average() -> None:
    net = MLP(SIZES, generator=torch_generator())
    copy = net.copy()
    expected = net.theta.detach().clone().double()
    for step in range(50):
        with torch.no_grad():
            net.theta.add_(torch.randn(net.theta.shape, generator=torch_generator(step)))
        track([copy.theta], [net.theta], 0.01)
        expected = 0.99 * expected + 0.01 * net.theta.detach().double()
    torch.testing.assert_close(copy.theta.detach().double(), expected, atol=1e-5, rtol=1e-5)
    assert not copy.theta.requires_grad


@pytest.mark.parametrize(("mean", "raw"), [(0.0, 0.0), (0.7, -0.5), (-1.5, 0.6), (2.0, -1.0)])
def test_density_integrates_to_one_and_gives_the_moments(mean: float, raw: float) -> None:
    """The log-density of a = tanh(u) against numerical integration over a."""
    low, high = -5.0, 2.0
    std = math.exp(low + 0.5 * (high - low) * (math.tanh(raw) + 1.0))
    out = torch.tensor([[mean, raw]], dtype=torch.float64)

    def density(a: float) -> float:
        noise = torch.tensor([[(math.atanh(a) - mean) / std]], dtype=torch.float64)
        action, log_prob = squashed_gaussian(out, noise, (low, high))
        assert action.item() == pytest.approx(a, abs=1e-9)
        return math.exp(log_prob.item())

    points = [math.tanh(mean + z * std) for z in (-3.0, 0.0, 3.0)]
    total, _ = integrate.quad(density, -1 + 1e-12, 1 - 1e-12, points=points, limit=400)
    assert total == pytest.approx(1.0, abs=1e-5)
    expected, _ = integrate.quad(lambda a: a * density(a), -1 + 1e-12, 1 - 1e-12, points=points, limit=400)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    assert expected == pytest.approx(weights @ np.tanh(mean + std * nodes) / math.sqrt(2 * math.pi), abs=1e-5)


def test_density_is_finite_where_tanh_saturates() -> None:
    out = torch.tensor([[30.0, -30.0, 5.0, 5.0]], requires_grad=True)
    action, log_prob = squashed_gaussian(out, torch.tensor([[3.0, -3.0]]), (-5.0, 2.0))
    (action.sum() + log_prob.sum()).backward()
    assert out.grad is not None
    assert torch.isfinite(log_prob).all()
    assert torch.isfinite(out.grad).all()
    assert action.abs().max() <= 1.0


def test_gradients_of_the_squashed_gaussian() -> None:
    out = torch.randn(6, 4, dtype=torch.float64, generator=torch_generator(), requires_grad=True)
    noise = torch.randn(6, 2, dtype=torch.float64, generator=torch_generator(1))
    assert torch.autograd.gradcheck(lambda o: squashed_gaussian(o, noise, (-5.0, 2.0)), (out,))
