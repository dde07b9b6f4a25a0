"""Saving and restoring: whatever comes after must be the same, bit by bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import envs_mbbl
from envs_mbbl import TASKS
from tests.envs.test_environments import all_names, assert_same, play


@all_names
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**31), before=st.integers(0, 30))
def test_a_fresh_environment_continues_identically(name, seed, before):
    env = envs_mbbl.make(name)
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    play(env, rng.uniform(-1, 1, (before, env.task.action_dim)))
    state = pickle.loads(pickle.dumps(env.get_state()))
    fresh = envs_mbbl.make(name)
    fresh.set_state(state)
    actions = rng.uniform(-1, 1, (15, env.task.action_dim))
    if state["phase"] == "running":
        assert_same(play(env, actions), play(fresh, actions))
    np.testing.assert_array_equal(env.reset()[0], fresh.reset()[0])  # the generator has continued, too
    assert_same(play(env, actions), play(fresh, actions))


@all_names
def test_going_back_and_trying_again(name):
    """As a planner with the true dynamics does, many times over the same environment."""
    env = envs_mbbl.make(name)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    play(env, rng.uniform(-0.3, 0.3, (4, env.task.action_dim)))
    state = env.get_state()
    plans = rng.uniform(-1, 1, (3, 8, env.task.action_dim))
    outcomes = []
    for plan in [*plans, *plans[::-1]]:
        env.set_state(state)
        outcomes.append(play(env, plan))
    for first, second in zip(outcomes[:3], outcomes[:2:-1], strict=True):
        assert_same(first, second)


@all_names
def test_a_state_is_a_snapshot(name):
    env = envs_mbbl.make(name)
    env.reset(seed=0)
    state = env.get_state()
    before = pickle.dumps(state)
    play(env, np.ones((3, env.task.action_dim)))
    env.reset()
    assert pickle.dumps(state) == before
    env.set_state(state)
    play(env, np.ones((3, env.task.action_dim)))
    assert pickle.dumps(state) == before


@all_names
def test_a_state_holds_only_plain_values(name):
    env = envs_mbbl.make(name)
    env.reset(seed=0)
    state = env.get_state()
    generator = state.pop("np_random")
    assert all(isinstance(value, (str, int, float, bool, np.ndarray)) for value in state.values())
    assert isinstance(generator, dict)


@all_names
def test_the_step_count_is_restored(name):
    env, fresh = envs_mbbl.make(name), envs_mbbl.make(name)
    env.reset(seed=0)
    state = env.get_state()
    state["elapsed"] = env.task.horizon - 1
    fresh.set_state(state)
    _, _, terminated, truncated, _ = fresh.step(np.zeros(env.task.action_dim))
    assert (terminated, truncated) == (False, True)


@all_names
def test_before_the_first_reset_and_after_the_end(name):
    fresh, other = envs_mbbl.make(name), envs_mbbl.make(name)
    other.reset(seed=0)
    other.set_state(fresh.get_state())
    with pytest.raises(RuntimeError, match="first"):
        other.step(np.zeros(other.task.action_dim))
    np.testing.assert_array_equal(other.reset()[0], fresh.reset()[0])
    ended = other.get_state() | {"phase": "ended"}
    fresh.set_state(ended)
    with pytest.raises(RuntimeError, match="ended"):
        fresh.step(np.zeros(other.task.action_dim))


def test_a_state_of_another_task_is_refused():
    env, other = envs_mbbl.make("Hopper"), envs_mbbl.make("Hopper-ET")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="Hopper-ET: this is a state of Hopper"):
        other.set_state(env.get_state())


def test_all_tasks_are_covered():
    assert len(TASKS) == 18
