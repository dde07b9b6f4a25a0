"""The environments as gymnasium, an agent and a careless caller see them."""

import dataclasses
import warnings

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import envs_mbbl
from envs_mbbl import TASKS, MbblEnv

all_names = pytest.mark.parametrize("name", TASKS)
FALLING = [name for name in TASKS if name.endswith("-ET")]


def play(env: MbblEnv, actions: np.ndarray) -> list:
    """The results of steps until the actions or the episode end."""
    results = []
    for action in actions:
        results.append(env.step(action))
        if results[-1][2] or results[-1][3]:
            break
    return results


def assert_same(one: list, other: list) -> None:
    assert len(one) == len(other)
    for (obs1, *rest1), (obs2, *rest2) in zip(one, other, strict=True):
        np.testing.assert_array_equal(obs1, obs2)
        assert rest1 == rest2


# --- gymnasium's own rules ---


@all_names
def test_gymnasium_finds_no_fault(name):
    env = gymnasium.make(f"mbbl/{name}-v0").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Observations of the simulator really have no bounds: gymnasium only warns of that.
        warnings.filterwarnings("ignore", message=".*Box observation space m(in|ax)imum value is.*infinity.*")
        check_env(env, skip_render_check=True)


@all_names
def test_made_by_gymnasium_it_is_the_same(name):
    ours, theirs = envs_mbbl.make(name), gymnasium.make(f"mbbl/{name}-v0")
    first, _ = ours.reset(seed=5)
    np.testing.assert_array_equal(first, theirs.reset(seed=5)[0])
    for _ in range(5):
        action = theirs.action_space.sample()
        assert_same([ours.step(action)], [theirs.step(action)])
    assert theirs.unwrapped.task is TASKS[name]
    theirs.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectorised(mode):
    envs = gymnasium.make_vec("mbbl/Hopper-ET-v0", num_envs=2, vectorization_mode=mode)
    single = [envs_mbbl.make("Hopper-ET") for _ in range(2)]
    observations, _ = envs.reset(seed=3)
    for i, env in enumerate(single):
        np.testing.assert_array_equal(observations[i], env.reset(seed=3 + i)[0])
    actions = np.random.default_rng(0).uniform(-1, 1, (3, 2, 3)).astype(np.float32)
    for action in actions:
        observations, rewards, *_ = envs.step(action)
        for i, env in enumerate(single):
            observation, reward, *_ = env.step(action[i])
            np.testing.assert_array_equal(observations[i], observation)
            assert rewards[i] == reward
    envs.close()


@all_names
def test_spaces(name):
    env = envs_mbbl.make(name)
    assert env.observation_space.shape == (env.task.observation_dim,)
    assert env.observation_space.dtype == np.float64
    np.testing.assert_array_equal(env.action_space.high, np.ones(env.task.action_dim))
    np.testing.assert_array_equal(env.action_space.low, -np.ones(env.task.action_dim))
    native = envs_mbbl.make(name, raw_actions=True).action_space
    np.testing.assert_allclose(native.high, env.task.action_bound)


@pytest.mark.parametrize("name", ["Pendulum", "Acrobot", "MountainCar", "Reacher"])
def test_bounded_observations_keep_their_bounds(name):
    env = envs_mbbl.make(name)
    for seed in range(5):
        env.reset(seed=seed)
        push = np.ones(env.task.action_dim)
        for _ in range(env.task.horizon):
            observation, *_ = env.step(push * (1 if observed_velocity(env) >= 0 else -1))
            assert env.observation_space.contains(observation)


def observed_velocity(env: MbblEnv) -> float:
    """Of the joint that is driven: to push along with it is the way to the bounds."""
    index = {"Pendulum": 2, "Acrobot": 5, "MountainCar": 1, "Reacher": 6}[env.task.name]
    return float(env.get_state()["observation"][index])


# --- properties of trajectories ---


@all_names
@settings(max_examples=5, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**31))
def test_step_agrees_with_the_array_functions(name, data, seed):
    env = envs_mbbl.make(name)
    shape = (10, env.task.action_dim)
    actions = data.draw(arrays(np.float64, shape, elements=st.floats(-2, 2)))  # outside the box, too
    start, _ = env.reset(seed=seed)
    for action in actions:
        end, reward, terminated, truncated, _ = env.step(action)
        assert reward == float(env.task.reward(start, action))
        assert reward == pytest.approx(
            float(env.task.reward(torch.from_numpy(start), torch.from_numpy(action))), rel=1e-9, abs=1e-9
        )
        assert terminated == bool(env.task.terminated(end))
        assert not truncated
        if terminated:
            break
        start = end


@all_names
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_the_same_seed_gives_the_same_trajectory(name, seed):
    actions = np.random.default_rng(seed).uniform(-1, 1, (20, TASKS[name].action_dim))
    env = envs_mbbl.make(name)
    first, _ = env.reset(seed=seed)
    results = play(env, actions)
    again, _ = env.reset(seed=seed)
    np.testing.assert_array_equal(first, again)
    assert_same(results, play(env, actions))
    assert not np.array_equal(first, env.reset()[0]), "without a seed the next episode starts elsewhere"


@all_names
def test_observations_belong_to_the_caller(name):
    env, control = envs_mbbl.make(name), envs_mbbl.make(name)
    observation, _ = env.reset(seed=0)
    control.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (5, env.task.action_dim))
    for action in actions:
        kept = observation.copy()
        after, *result = env.step(action)
        np.testing.assert_array_equal(observation, kept)
        expected, *expected_result = control.step(action)
        np.testing.assert_array_equal(after, expected)
        assert result == expected_result
        observation = after
        after_copy, after[:] = after.copy(), np.nan  # a caller who spoils his array spoils nothing else
        observation = after_copy


# --- the end of an episode ---


@all_names
def test_truncated_exactly_at_the_horizon(name):
    task = dataclasses.replace(TASKS[name], horizon=3)
    env = type(envs_mbbl.make(name))(task)
    env.reset(seed=0)
    results = play(env, np.zeros((10, task.action_dim)))
    assert [truncated for _, _, _, truncated, _ in results] == [False, False, True]
    assert not any(terminated for _, _, terminated, *_ in results)


@pytest.mark.parametrize(
    "name", ["Pendulum", "InvertedPendulum", "Acrobot", "CartPole", "MountainCar", "Reacher"]
)
def test_short_tasks_really_last_that_long(name):
    env = envs_mbbl.make(name)
    env.reset(seed=0)
    results = play(env, np.zeros((1001, env.task.action_dim)))
    assert len(results) == env.task.horizon
    assert results[-1][2:4] == (False, True)


@pytest.mark.parametrize("name", FALLING)
def test_a_fall_at_the_horizon_is_terminated_not_truncated(name):
    env = envs_mbbl.make(name)
    actions = np.random.default_rng(1).uniform(-1, 1, (1000, env.task.action_dim))
    env.reset(seed=2)
    results = play(env, actions)
    assert results[-1][2:4] == (True, False)
    limited = type(env)(dataclasses.replace(env.task, horizon=len(results)))
    limited.reset(seed=2)
    assert_same(play(limited, actions), results)


@pytest.mark.parametrize("name", FALLING)
def test_termination_changes_nothing_before_the_fall(name):
    without = name.removesuffix("-ET")
    if without not in TASKS:
        pytest.skip("MBBL has no Humanoid without early termination")
    env, endless = envs_mbbl.make(name), envs_mbbl.make(without)
    np.testing.assert_array_equal(env.reset(seed=4)[0], endless.reset(seed=4)[0])
    actions = np.random.default_rng(4).uniform(-1, 1, (1000, env.task.action_dim))
    results = play(env, actions)
    others = play(endless, actions[: len(results)])
    for one, other in zip(results, others, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == other[1]
    assert not endless.step(actions[0])[2]


# --- bad input ---


@all_names
def test_wrong_order_of_calls(name):
    env = envs_mbbl.make(name)
    action = np.zeros(env.task.action_dim)
    with pytest.raises(RuntimeError, match=rf"{name}: call reset\(\) first"):
        env.step(action)
    short = type(env)(dataclasses.replace(env.task, horizon=1))
    short.reset(seed=0)
    short.step(action)
    with pytest.raises(RuntimeError, match=rf"{name}: the episode has ended: call reset\(\)"):
        short.step(action)
    short.reset()
    short.step(action)


@all_names
def test_bad_actions_are_refused_and_change_nothing(name):
    env, control = envs_mbbl.make(name), envs_mbbl.make(name)
    env.reset(seed=0)
    control.reset(seed=0)
    n = env.task.action_dim
    bad = [
        np.zeros(n + 1),
        np.zeros((1, n)),
        np.float64(0.0),
        None,
        np.full(n, np.nan),
        np.full(n, np.inf),
        np.full(n, -np.inf),
        np.zeros(n, dtype=bool),
        np.zeros(n, dtype=complex),
        np.full(n, "0"),
        np.full(n, None),
        [[0.0], [0.0, 0.0]],
    ]
    for action in bad:
        with pytest.raises(ValueError, match=name):
            env.step(action)
    last = np.zeros(n)
    last[-1] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        env.step(last)
    assert_same([env.step(np.zeros(n))], [control.step(np.zeros(n))])


@all_names
def test_actions_outside_the_box_are_clipped(name):
    outside, inside = envs_mbbl.make(name), envs_mbbl.make(name)
    outside.reset(seed=0)
    inside.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-3, 3, (10, outside.task.action_dim))
    actions[0] = 1e200  # finite, but its square is not
    assert_same(play(outside, actions), play(inside, np.clip(actions, -1, 1)))


@all_names
def test_actions_of_any_kind_of_real_number(name):
    env = envs_mbbl.make(name)
    n = env.task.action_dim
    results = []
    for action in (np.ones(n), np.ones(n, np.float32), np.ones(n, int), [1] * n, torch.ones(n)):
        env.reset(seed=0)
        results.append(env.step(action))
    for result in results[1:]:
        assert_same([result], results[:1])


def test_unknown_names_are_told():
    with pytest.raises(ValueError, match="unknown task 'Hoper'; there are Pendulum"):
        envs_mbbl.make("Hoper")
    with pytest.raises(ValueError, match="'human'"):
        envs_mbbl.make("Hopper", render_mode="human")


# --- MBBL's own units ---


@pytest.mark.parametrize(
    ("name", "bound"), [("InvertedPendulum", 3.0), ("SlimHumanoid", 0.4), ("Hopper", 1.0)]
)
def test_raw_actions_are_neither_scaled_nor_clipped(name, bound):
    scaled, raw = envs_mbbl.make(name), envs_mbbl.make(name, raw_actions=True)
    start, _ = scaled.reset(seed=0)
    raw.reset(seed=0)
    action = np.random.default_rng(0).uniform(-1, 1, scaled.task.action_dim)
    assert_same([scaled.step(action)], [raw.step(bound * action)])
    start = raw.get_state()["observation"]
    beyond = np.full(scaled.task.action_dim, 2.0)
    _, reward, *_ = raw.step(beyond)
    assert reward == float(raw.task.native_reward(start, beyond))
