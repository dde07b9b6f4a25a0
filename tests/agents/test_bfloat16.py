"""Networks with bfloat16 products: close to float32, never stale, and refused where the processor cannot."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest
import torch

from algorithms.core import bfloat16
from algorithms.core.bfloat16 import Bfloat16MLP, bfloat16_works
from algorithms.core.config import ConfigError
from algorithms.core.networks import MLP
from algorithms.core.optim import Adam
from tests.agents.support import make_agent, torch_generator, world

needs_bfloat16 = pytest.mark.skipif(not bfloat16_works(), reason="this processor's bfloat16 products fail")


def pair(*, activation: str = "relu", hidden: int = 2) -> tuple[MLP, Bfloat16MLP]:
    sizes = [7, *hidden * [64], 3]
    exact = MLP(sizes, members=2, activation=activation, generator=torch_generator())
    low = Bfloat16MLP(sizes, members=2, activation=activation, generator=torch_generator())
    assert torch.equal(exact.theta, low.theta)
    return exact, low


@needs_bfloat16
@pytest.mark.parametrize("activation", ["relu", "elu"])
@pytest.mark.parametrize("hidden", [0, 1, 2, 3])
def test_values_and_gradients_are_those_of_float32_up_to_rounding(hidden: int, activation: str) -> None:
    generator = torch_generator(1)
    x, action = torch.randn(50, 4, generator=generator), torch.randn(50, 3, generator=generator)
    d_out = torch.randn(2, 50, 3, generator=generator)
    results = []
    for net in pair(activation=activation, hidden=hidden):
        value, tape = net.forward(x, action)
        d_action = net.backward(tape, d_out, parameters=True, wanted_input=1)
        assert d_action is not None
        assert {t.dtype for t in (value, d_action, net.grad)} == {torch.float32}
        results.append((value.clone(), d_action.clone(), net.grad.clone()))
    # rounding turns about one unit of relu in 250 on or off, and with it all of its gradient: sqrt(1 / 250) = 6%
    tolerances = (0.01, *2 * [0.1 if activation == "relu" else 0.01])
    for exact, low, tolerance in zip(*results, tolerances, strict=True):
        assert (low - exact).norm() < tolerance * exact.norm()
    if hidden > 1:
        assert not torch.equal(results[0][0], results[1][0])  # it really is another arithmetic


@needs_bfloat16
def test_the_gradient_of_rows_alone_is_that_of_all_rows() -> None:
    _, net = pair()
    x = torch.randn(50, 7, generator=torch_generator(1))
    of_a_row = torch.randn(3, generator=torch_generator(2))
    d_out = of_a_row.repeat(2, 50, 1)
    d_out[0, ::2], d_out[1, 1::2] = 0.0, 0.0
    _, tape = net.forward(x)
    whole = net.backward(tape, d_out, wanted_input=0)
    rows = [torch.arange(1, 50, 2), torch.arange(0, 50, 2)]
    torch.testing.assert_close(
        net.input_gradient_of_rows(tape, rows, of_a_row, wanted_input=0), whole, atol=2e-3, rtol=2e-2
    )


@needs_bfloat16
@pytest.mark.parametrize("change", ["adam", "lerp", "load", "copy"])
def test_no_change_of_the_parameters_is_missed(change: str) -> None:
    exact: MLP
    net: MLP
    exact, net = pair()
    x = torch.randn(20, 7, generator=torch_generator(1))
    net(x)
    if change == "copy":
        net.theta.add_(0.1)
        net = net.copy()
    with torch.inference_mode():
        if change == "adam":
            Adam(net.theta, 0.1).step(torch.ones_like(net.theta))
        elif change == "lerp":
            net.theta.lerp_(torch.ones_like(net.theta), 0.1)
        elif change == "load":
            net.load_state_dict({"theta": net.theta + 0.1})
        exact.theta.copy_(net.theta)
        assert (net(x) - exact(x)).norm() < 0.01 * exact(x).norm()


@needs_bfloat16
@pytest.mark.parametrize("algorithm", ["sac", "spede", "spede_mlp", "deepsf"])
def test_agents_learn_in_bfloat16_and_resume_to_the_same_bytes(algorithm: str) -> None:
    whole, broken = (make_agent(algorithm, precision="bfloat16", warmup=50) for _ in range(2))
    first, second = world(), world()
    for _ in range(60):
        first.advance(whole)
        second.advance(broken)
    resumed = make_agent(algorithm, precision="bfloat16", warmup=50, seed=7)
    resumed.load_state_dict(broken.state_dict())
    resumed.replay.extend(broken.replay.rows(0, len(broken.replay)))
    for _ in range(20):
        first.advance(whole)
        second.advance(resumed)
    assert torch.equal(whole.actor.theta, resumed.actor.theta)


def test_a_processor_that_cannot_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe's process dies of an illegal instruction, as on virtual machines that hide a part of AMX."""
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=-4))
    bfloat16_works.cache_clear()
    try:
        assert not bfloat16.bfloat16_works()
        with pytest.raises(ConfigError, match="does not work on this machine"):
            make_agent("sac", precision="bfloat16")
    finally:
        bfloat16_works.cache_clear()


def test_unknown_precision() -> None:
    with pytest.raises(ConfigError, match="float32 or bfloat16"):
        make_agent("sac", precision="float16")
