"""The table of tasks, and rewards and terminations as array functions."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from envs_mbbl import TASKS, Task
from tests.envs import reference

# name: paper's name, MBBL's id, dimensions of observation and action, horizon, early termination, MBBL's box
TABLE = {
    "Pendulum": ("Pendulum", "gym_pendulum", 3, 1, 200, False, 1.0),
    "InvertedPendulum": ("I-Pendulum", "gym_invertedPendulum", 4, 1, 100, False, 3.0),
    "Acrobot": ("Acrobot", "gym_acrobot", 6, 1, 200, False, 1.0),
    "CartPole": ("Cartpole", "gym_cartpole", 4, 1, 200, False, 1.0),
    "MountainCar": ("MountainCar", "gym_mountain", 2, 1, 200, False, 1.0),
    "Reacher": ("Reacher", "gym_reacher", 11, 2, 50, False, 1.0),
    "HalfCheetah": (None, "gym_cheetah", 17, 6, 1000, False, 1.0),
    "Swimmer-v0": ("Swimmer", "gym_swimmer", 8, 2, 1000, False, 1.0),
    "Swimmer": (None, "gym_fswimmer", 9, 2, 1000, False, 1.0),
    "Ant": (None, "gym_ant", 27, 8, 1000, False, 1.0),
    "Ant-ET": ("Ant-ET", "gym_fant", 27, 8, 1000, True, 1.0),
    "Walker2D": (None, "gym_walker2d", 17, 6, 1000, False, 1.0),
    "Walker2D-ET": ("Walker-ET", "gym_fwalker2d", 17, 6, 1000, True, 1.0),
    "Hopper": (None, "gym_hopper", 11, 3, 1000, False, 1.0),
    "Hopper-ET": ("Hopper-ET", "gym_fhopper", 11, 3, 1000, True, 1.0),
    "SlimHumanoid": (None, "gym_nostopslimhumanoid", 45, 17, 1000, False, 0.4),
    "SlimHumanoid-ET": ("S-Humanoid-ET", "gym_slimhumanoid", 45, 17, 1000, True, 0.4),
    "Humanoid-ET": ("Humanoid-ET", "gym_humanoid", 376, 17, 1000, True, 0.4),
}

all_tasks = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def some_states(task: Task, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """States near those that occur: heights around the limits, contact forces large enough to cost something."""
    rng = np.random.default_rng(seed)
    states = rng.uniform(-2.0, 2.0, (*shape, task.observation_dim))
    if task.observation_dim == 376:
        states[..., -84:] *= rng.choice([1.0, 300.0, 3000.0], (*shape, 1))  # free, costly, beyond the cap
    if task.name == "Acrobot":
        q0, q1 = states[..., 4], states[..., 5]
        states[..., :4] = np.stack([np.cos(q0), np.sin(q0), np.cos(q1), np.sin(q1)], axis=-1)
    return states


def some_actions(task: Task, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + 1).uniform(-1.0, 1.0, (*shape, task.action_dim))


def test_the_table_is_that_of_mbbl():
    assert list(TASKS) == list(TABLE)
    for name, task in TASKS.items():
        assert (
            task.paper_name,
            task.mbbl_id,
            task.observation_dim,
            task.action_dim,
            task.horizon,
            task.early_termination,
            task.action_bound,
        ) == TABLE[name]


@all_tasks
def test_a_task_can_be_sent_to_another_process(task):
    assert pickle.loads(pickle.dumps(task)).name == task.name


def test_the_table_is_light_to_import():
    code = (
        "import sys, envs_mbbl.tasks; "
        "print([m for m in ('gymnasium', 'mujoco', 'torch') if m in sys.modules], len(envs_mbbl.TASKS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 18"


@pytest.mark.parametrize(
    "imports",
    [
        "import envs_mbbl, gymnasium",
        "import gymnasium, envs_mbbl",
        "import envs_mbbl; envs_mbbl.make('Pendulum'); import gymnasium",
        "import envs_mbbl, importlib.util; importlib.util.find_spec('gymnasium'); import gymnasium",
        "import envs_mbbl.tasks, gymnasium.envs",
    ],
)
def test_registered_in_whatever_order_modules_are_imported(imports):
    code = f"{imports}; print(sum(name.startswith('mbbl/') for name in gymnasium.registry))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "18"


# --- rewards ---


@all_tasks
def test_reward_is_the_sum_of_the_documented_terms(task):
    states, actions = some_states(task, (500,)), some_actions(task, (500,))
    if task.early_termination and "Humanoid" not in task.name:
        states = states[~task.terminated(states)]  # there the bonus depends on the start state: tested below
        actions = actions[: len(states)]
    expected = reference.reward(reference.TERMS[task.name], states, task.action_bound * actions)
    assert len(states) > 20
    np.testing.assert_allclose(task.reward(states, actions), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["Ant-ET", "Walker2D-ET", "Hopper-ET"])
def test_alive_bonus_looks_at_the_start_state(name):
    task, without_termination = TASKS[name], TASKS[name.removesuffix("-ET")]
    states, actions = some_states(task, (500,)), some_actions(task, (500,))
    difference = without_termination.reward(states, actions) - task.reward(states, actions)
    np.testing.assert_allclose(difference, task.terminated(states), atol=1e-12)


@all_tasks
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_reward_and_termination_are_batched_over_any_leading_axes(task, library):
    states, actions = some_states(task, (4, 3)), some_actions(task, (4, 3))
    one_by_one = [
        [task.reward(s, a) for s, a in zip(*rows, strict=True)] for rows in zip(states, actions, strict=True)
    ]
    ends = [[bool(task.terminated(s)) for s in row] for row in states]
    if library == "torch":
        states, actions = torch.from_numpy(states), torch.from_numpy(actions)
    rewards, terminated = task.reward(states, actions), task.terminated(states)
    assert tuple(rewards.shape) == tuple(terminated.shape) == (4, 3)
    assert terminated.dtype in (np.bool_, torch.bool)
    np.testing.assert_allclose(np.asarray(rewards), one_by_one, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(terminated), ends)
    assert tuple(task.reward(states[:0], actions[:0]).shape) == (0, 3)


@all_tasks
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_one_state_with_many_actions(task, library):
    state, actions = some_states(task, ()), some_actions(task, (5,))
    many = np.tile(state, (5, 1))
    expected = task.reward(many, actions)
    if library == "torch":
        state, actions = torch.from_numpy(state), torch.from_numpy(actions)
    np.testing.assert_allclose(np.asarray(task.reward(state, actions)), expected, rtol=1e-12)


@all_tasks
def test_float32_stays_float32(task):
    states, actions = some_states(task, (6,)).astype(np.float32), some_actions(task, (6,)).astype(np.float32)
    assert task.reward(states, actions).dtype == np.float32
    assert task.reward(torch.from_numpy(states), torch.from_numpy(actions)).dtype == torch.float32


@all_tasks
def test_reward_clips_actions_as_step_does(task):
    state, action = some_states(task, ()), some_actions(task, ()) * 5
    assert task.reward(state, action) == task.reward(state, np.clip(action, -1, 1))
    assert task.native_reward(state, task.control(action)) == task.reward(state, action)


@all_tasks
def test_a_wrong_width_is_refused(task):
    state, action = some_states(task, (2,)), some_actions(task, (2,))
    with pytest.raises(ValueError, match=task.name):
        task.reward(state[:, 1:], action)
    with pytest.raises(ValueError, match=task.name):
        task.reward(state, np.concatenate([action, action], axis=-1))
    with pytest.raises(ValueError, match=task.name):
        task.terminated(state[:, 1:])


@all_tasks
@settings(max_examples=15, deadline=None)
@example(seed=121739)  # Walker2D: an action within a millionth of 1
@given(seed=st.integers(0, 2**32 - 1))
def test_gradients_agree_with_finite_differences(task, seed):
    state, action = some_states(task, (), seed), some_actions(task, (), seed)
    action = 0.99 * action  # actions are cut off at 1: a difference across that kink is no slope
    s, a = torch.tensor(state, requires_grad=True), torch.tensor(action, requires_grad=True)
    gradients = torch.autograd.grad(task.reward(s, a), (s, a), allow_unused=True)

    def slope(of_state: bool) -> np.ndarray:
        x = state if of_state else action
        step = 1e-6 * np.maximum(1.0, np.abs(x))
        up, down = x + np.diag(step), x - np.diag(step)
        pairs = [(p, action) if of_state else (state, p) for p in (up, down)]
        above, below = (
            task.reward(np.broadcast_to(s, (len(x), len(state))), np.broadcast_to(a, (len(x), len(action))))
            for s, a in pairs
        )
        return (above - below) / (2 * step)

    for gradient, of_state in zip(gradients, (True, False), strict=True):
        expected = slope(of_state)
        found = np.zeros_like(expected) if gradient is None else gradient.numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_gradient_at_the_reachers_target_is_finite():
    state = torch.zeros(11, requires_grad=True)
    TASKS["Reacher"].reward(state, torch.zeros(2)).backward()
    assert state.grad is not None
    assert (state.grad == 0).all()


# --- terminations ---

INSIDE = {"Ant-ET": (0.5, 0.0), "Walker2D-ET": (1.25, 0.0), "Hopper-ET": (1.25, 0.0)}
STANDING = {"SlimHumanoid-ET": (1.4, 1.0), "Humanoid-ET": (1.4, 1.0)}
BOUNDARIES = [
    # task, height, angle (or first entry of the quaternion), terminated
    ("Ant-ET", 1.0, 0.0, False),
    ("Ant-ET", 1.001, 0.0, True),
    ("Ant-ET", 0.2, 0.0, False),
    ("Ant-ET", 0.199, 0.0, True),
    ("Walker2D-ET", 2.0, 0.0, True),
    ("Walker2D-ET", 1.999, 0.0, False),
    ("Walker2D-ET", 0.8, 0.0, True),
    ("Walker2D-ET", 0.801, 0.0, False),
    ("Walker2D-ET", 1.25, 1.0, True),
    ("Walker2D-ET", 1.25, -1.0, True),
    ("Walker2D-ET", 1.25, -0.999, False),
    ("Hopper-ET", 0.7, 0.0, True),
    ("Hopper-ET", 0.701, 0.0, False),
    ("Hopper-ET", 5.0, 0.0, False),
    ("Hopper-ET", 1.25, 0.2, True),
    ("Hopper-ET", 1.25, -0.2, True),
    ("Hopper-ET", 1.25, 0.199, False),
    ("SlimHumanoid-ET", 1.0, 1.0, False),
    ("SlimHumanoid-ET", 0.999, 1.0, True),
    ("Humanoid-ET", 2.0, 1.0, False),
    ("Humanoid-ET", 2.001, 1.0, True),
]


@pytest.mark.parametrize(("name", "height", "second", "terminated"), BOUNDARIES)
def test_terminations_at_their_boundaries(name, height, second, terminated):
    state = np.zeros(TASKS[name].observation_dim)
    state[:2] = height, second
    assert bool(TASKS[name].terminated(state)) is terminated
    assert bool(TASKS[name].terminated(torch.from_numpy(state))) is terminated


@all_tasks
def test_only_early_termination_tasks_terminate(task):
    anywhere = np.random.default_rng(0).uniform(-100, 100, (1000, task.observation_dim))
    assert task.terminated(anywhere).any() == task.early_termination
