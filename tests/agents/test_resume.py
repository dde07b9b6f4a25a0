"""300 steps in one go, and 150 + save + load in a new object + 150: the same bytes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch

from algorithms.core.checkpoint import from_portable, to_portable
from algorithms.core.sac import SoftActorCritic
from tests.agents.support import AGENTS, World, make_agent, world


def through_a_file(value: Any) -> Any:
    """As the harness does it: portable, saved, loaded without pickled code."""
    buffer = io.BytesIO()
    torch.save(to_portable(value), buffer)
    buffer.seek(0)
    return from_portable(torch.load(buffer, weights_only=True))


def flat(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in flat(item, f"{name}/{key}").items()}
    if isinstance(value, (list, tuple)):
        return {k: v for i, item in enumerate(value) for k, v in flat(item, f"{name}/{i}").items()}
    return {name: value}


def assert_same_bytes(one: SoftActorCritic, two: SoftActorCritic) -> None:
    first, second = flat(one.state_dict()), flat(two.state_dict())
    assert first.keys() == second.keys()
    for name, value in first.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, second[name]), name
        else:
            assert value == second[name], name
    rows = [agent.replay.rows(0, len(agent.replay)).tobytes() for agent in (one, two)]
    assert rows[0] == rows[1]


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in AGENTS),
    ("spede_mlp", {"head_hidden": [], "critic_lr": 0.003}),
    ("spede", {"head_every": 7, "head_batch": 100}),
    ("spede", {"langevin_temperature": 1e-3, "model_updates": 5}),
    ("spede", {"reward_feature": "oracle", "ensemble": 2}),
    ("sac", {"standardise": False, "updates_per_step": 2, "target_every": 3}),
]


@pytest.mark.parametrize(("algorithm", "overrides"), VARIANTS)
@pytest.mark.parametrize("cut", [57, 150, 211])
def test_resume_is_bit_exact(algorithm: str, overrides: dict[str, Any], cut: int) -> None:
    whole, surroundings = make_agent(algorithm, **overrides), world()
    broken, other = make_agent(algorithm, **overrides), world()
    for _ in range(cut):
        surroundings.advance(whole)
        other.advance(broken)
    state = through_a_file(broken.state_dict())
    rows = broken.replay.rows(0, len(broken.replay)).copy()
    torch.manual_seed(99)  # the global generator must play no part
    resumed = make_agent(algorithm, seed=12, **overrides)  # everything must come from the checkpoint
    resumed.load_state_dict(state)
    resumed.replay.extend(rows)
    assert_same_bytes(broken, resumed)
    continued = World(other.generator, other.state, other.age, other.step)
    for _ in range(300 - cut):
        surroundings.advance(whole)
        continued.advance(resumed)
    assert_same_bytes(whole, resumed)


@pytest.mark.parametrize("algorithm", AGENTS)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(algorithm: str) -> None:
    agents = [make_agent(algorithm, seed=seed) for seed in (3, 3, 4)]
    for agent in agents:
        surroundings = world()
        for _ in range(130):
            surroundings.advance(agent)
    assert_same_bytes(agents[0], agents[1])
    assert not np.array_equal(agents[0].actor.theta, agents[2].actor.theta)
