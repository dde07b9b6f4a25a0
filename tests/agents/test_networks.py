"""The hand-written passes against autograd, finite differences and numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import integrate
from torch import Tensor

from algorithms.core.networks import MLP, LogStd, squashed_gaussian
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
@pytest.mark.parametrize("sizes", [SIZES, [5, 2]])
def test_perceptron_agrees_with_autograd(
    activation: str, members: int, shared: bool, sizes: list[int]
) -> None:
    net = MLP(sizes, members=members, activation=activation, generator=torch_generator(), dtype=torch.float64)
    shape = (9, 5) if shared else (members, 9, 5)
    x = torch.randn(shape, dtype=torch.float64, generator=torch_generator(1), requires_grad=True)
    theta = net.theta.clone().requires_grad_()
    d_out = torch.randn(members, 9, 2, dtype=torch.float64, generator=torch_generator(2))
    expected = reference(net, theta, x)
    d_theta, d_x = torch.autograd.grad((expected * d_out).sum(), (theta, x))
    for inputs, columns in (
        ((x.detach(),), [slice(0, 5)]),
        (x.detach().split([3, 2], -1), [slice(0, 3), slice(3, 5)]),
    ):
        for which, column in enumerate(columns):
            actual, tape = net.forward(*inputs)
            torch.testing.assert_close(actual, expected)
            net.grad.zero_()
            d_input = net.backward(tape, d_out, parameters=True, wanted_input=which)
            torch.testing.assert_close(d_input, d_x[..., column])
            torch.testing.assert_close(net.grad, d_theta)


@pytest.mark.parametrize("activation", ["relu", "elu"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_gradient_of_the_smaller_member_skips_the_rows_of_the_larger(activation: str, outputs: int) -> None:
    net = MLP(
        [5, 7, 6, outputs],
        members=2,
        activation=activation,
        generator=torch_generator(),
        dtype=torch.float64,
    )
    x = torch.randn(20, 5, dtype=torch.float64, generator=torch_generator(1), requires_grad=True)
    values = net(x.detach())[..., 0]
    net.layers[-1][1][1][0] += (values[0] - values[1]).mean()  # now each is the smaller one in some rows
    value = reference(net, net.theta, x)[..., 0].amin(0)
    (d_x,) = torch.autograd.grad(value.sum(), x)
    out, tape = net.forward(*x.detach().split([3, 2], -1))
    first = out[0, :, 0] <= out[1, :, 0]
    assert 0 < first.sum() < 20
    rows = [first.nonzero().squeeze(1), (~first).nonzero().squeeze(1)]
    d_out = torch.zeros(outputs, dtype=torch.float64)
    d_out[0] = 3.0
    torch.testing.assert_close(net.input_gradient_of_rows(tape, rows, d_out, 1), 3.0 * d_x[:, 3:])
    none = [row[:0] for row in rows]
    assert torch.equal(net.input_gradient_of_rows(tape, none, d_out, 0), torch.zeros(20, 3).double())


@pytest.mark.parametrize("activation", ["relu", "elu"])
def test_a_weighted_sum_of_the_outputs(activation: str) -> None:
    net = MLP([5, 7, 6, 4], activation=activation, generator=torch_generator(), dtype=torch.float64)
    x = torch.randn(9, 5, dtype=torch.float64, generator=torch_generator(1), requires_grad=True)
    w = torch.randn(4, dtype=torch.float64, generator=torch_generator(2))
    expected = reference(net, net.theta, x)[0] @ w
    one, other = (net.weighted(factor * w, slot) for slot, factor in enumerate((1.0, 3.0)))
    value, tape = one.forward(x.detach())
    torch.testing.assert_close(
        other.forward(x.detach())[0], 3.0 * value
    )  # which leaves the first one's tape alone
    torch.testing.assert_close(value[0, :, 0], expected)
    rows = torch.tensor([0, 3, 8])
    d_x = one.input_gradient_of_rows(tape, [rows], torch.tensor([0.5], dtype=torch.float64), wanted_input=0)
    torch.testing.assert_close(d_x, torch.autograd.grad(0.5 * expected[rows].sum(), x)[0])


def test_a_gradient_of_the_first_rows_alone() -> None:
    net = MLP(SIZES, generator=torch_generator(), dtype=torch.float64)
    x = torch.randn(9, 5, dtype=torch.float64)
    d_out = torch.randn(1, 4, 2, dtype=torch.float64)
    _, tape = net.forward(x)
    d_x = net.backward(tape, d_out, parameters=True, wanted_input=0)
    of_first = net.grad.clone()
    _, tape = net.forward(x[:4])
    torch.testing.assert_close(net.backward(tape, d_out, parameters=True, wanted_input=0), d_x)
    torch.testing.assert_close(net.grad, of_first)


def test_frozen_parameters_get_no_gradient() -> None:
    net = MLP(SIZES, generator=torch_generator())
    _, tape = net.forward(torch.randn(4, 3), torch.randn(4, 2))
    assert net.backward(tape, torch.ones(1, 4, 2), wanted_input=1) is not None
    assert torch.equal(net.grad, torch.zeros_like(net.grad))


def test_an_overwritten_tape_is_refused() -> None:
    net = MLP(SIZES, generator=torch_generator())
    _, tape = net.forward(torch.randn(4, 5))
    net(torch.randn(4, 5))  # takes no tape
    net.backward(tape, torch.ones(1, 4, 2), parameters=True)
    net.forward(torch.randn(4, 5))
    with pytest.raises(RuntimeError, match="earlier forward pass"):
        net.backward(tape, torch.ones(1, 4, 2), parameters=True)


def test_loading_a_state_reaches_the_layers() -> None:
    one, two = (MLP(SIZES, generator=torch_generator(seed)) for seed in (0, 1))
    two.load_state_dict(one.state_dict())
    x = torch.randn(4, 5)
    assert torch.equal(one(x), two(x))
    copy = one.copy()
    one.theta.add_(1.0)
    assert torch.equal(copy(x), two(x))


def log_std_by_hand(bounds: LogStd, raw: Tensor) -> Tensor:
    if bounds.kind == "clamp":
        return torch.clamp(raw, bounds.low, bounds.high)
    return bounds.low + 0.5 * (bounds.high - bounds.low) * (torch.tanh(raw) + 1.0)


TANH, CLAMP = LogStd("tanh", -5.0, 2.0), LogStd("clamp", -1.0, 0.5)


@pytest.mark.parametrize("bounds", [TANH, CLAMP])
@pytest.mark.parametrize(("mean", "raw"), [(0.0, 0.0), (0.7, -0.5), (-1.5, 0.6), (2.0, -1.5)])
def test_density_integrates_to_one_and_gives_the_moments(mean: float, raw: float, bounds: LogStd) -> None:
    """The log-density of a = tanh(u) against numerical integration over a."""
    std = math.exp(log_std_by_hand(bounds, torch.tensor(raw, dtype=torch.float64)))
    out = torch.tensor([[mean, raw]], dtype=torch.float64)

    def density(a: float) -> float:
        noise = torch.tensor([[(math.atanh(a) - mean) / std]], dtype=torch.float64)
        action, log_prob, _ = squashed_gaussian(out, noise, bounds)
        assert action.item() == pytest.approx(a, abs=1e-9)
        return math.exp(log_prob.item())

    points = [math.tanh(mean + z * std) for z in (-3.0, 0.0, 3.0)]
    total, _ = integrate.quad(density, -1 + 1e-12, 1 - 1e-12, points=points, limit=400)
    assert total == pytest.approx(1.0, abs=1e-5)
    expected, _ = integrate.quad(lambda a: a * density(a), -1 + 1e-12, 1 - 1e-12, points=points, limit=400)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    assert expected == pytest.approx(weights @ np.tanh(mean + std * nodes) / math.sqrt(2 * math.pi), abs=1e-5)


@pytest.mark.parametrize("bounds", [TANH, CLAMP])
def test_density_is_finite_where_tanh_saturates(bounds: LogStd) -> None:
    out = torch.tensor([[30.0, -30.0, 5.0, 5.0]])
    action, log_prob, pullback = squashed_gaussian(out, torch.tensor([[3.0, -3.0]]), bounds)
    assert torch.isfinite(log_prob).all()
    assert torch.isfinite(pullback(torch.ones(1, 2), torch.ones(()))).all()
    assert action.abs().max() <= 1.0


@pytest.mark.parametrize("bounds", [TANH, CLAMP])
def test_gradients_of_the_squashed_gaussian(bounds: LogStd) -> None:
    """Against autograd on the textbook formula."""
    out = torch.randn(6, 4, dtype=torch.float64, generator=torch_generator(), requires_grad=True)
    noise = torch.randn(6, 2, dtype=torch.float64, generator=torch_generator(1))
    d_action = torch.randn(6, 2, dtype=torch.float64, generator=torch_generator(2))
    d_log_prob = torch.randn(6, 1, dtype=torch.float64, generator=torch_generator(3))
    mean, raw = out.chunk(2, -1)
    log_std = log_std_by_hand(bounds, raw)
    if bounds.kind == "clamp":
        assert (raw < bounds.low).any()
        assert (raw > bounds.high).any()
    u = mean + log_std.exp() * noise
    expected = torch.tanh(u)
    normal = torch.distributions.Normal(mean, log_std.exp())
    log_density = (normal.log_prob(u) - torch.log(1.0 - expected.square())).sum(-1)
    ((expected * d_action).sum() + (log_density * d_log_prob[:, 0]).sum()).backward()
    action, log_prob, pullback = squashed_gaussian(out.detach(), noise, bounds)
    torch.testing.assert_close(action, expected.detach())
    torch.testing.assert_close(log_prob, log_density.detach())
    torch.testing.assert_close(pullback(d_action, d_log_prob), out.grad)
    torch.testing.assert_close(pullback(d_action[:4], d_log_prob[:4]), out.grad[:4])  # type: ignore[index]
