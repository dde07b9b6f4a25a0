"""The physics against gymnasium's, and where MBBL differs from it on purpose."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

import envs_mbbl
from benchmarks.envs import COUNTERPARTS, start_alike
from envs_mbbl.classic import ClassicEnv
from envs_mbbl.simulation import MujocoEnv


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    monkeypatch.chdir(
        tmp_path
    )  # gymnasium's cheetah makes MuJoCo write a log file into the working directory


def their_action(name: str, action: np.ndarray) -> Any:
    if name == "Pendulum":
        return 2 * action
    if name == "Acrobot":
        return 0 if action[0] < -0.33 else 1 if action[0] < 0.33 else 2
    if name == "CartPole":
        return int(action[0] > 0)
    return envs_mbbl.TASKS[name].action_bound * action


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_the_same_motion_as_gymnasium(name):
    ours: Any = envs_mbbl.make(name)
    gymnasium_id, options = COUNTERPARTS[name]
    theirs: Any = gymnasium.make(gymnasium_id, **options).unwrapped
    if isinstance(ours, MujocoEnv):
        theirs.model.jnt_range[:] = ours.model.jnt_range  # the humanoid's left hip: the one difference
    ours.reset(seed=0)
    start_alike(ours, theirs)
    # gymnasium's MountainCar rounds its state to single precision; CartPole sums in another order
    tolerance = {"MountainCar": 1e-5, "CartPole": 1e-12}.get(name, 0.0)
    for action in np.random.default_rng(0).uniform(-1, 1, (100, ours.task.action_dim)):
        _, _, terminated, truncated, _ = ours.step(action)
        theirs.step(their_action(name, action))
        if isinstance(ours, MujocoEnv):
            np.testing.assert_array_equal(ours.data.qpos, theirs.data.qpos)
            np.testing.assert_array_equal(ours.data.qvel, theirs.data.qvel)
        else:
            assert isinstance(ours, ClassicEnv)
            np.testing.assert_allclose(ours._state, theirs.state, rtol=0, atol=tolerance)
        if terminated or truncated:
            break


def test_reading_a_model_leaves_nothing_behind(tmp_path, capfd):
    envs_mbbl.make("HalfCheetah")
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""


def test_the_cheetah_is_the_model_that_its_file_describes(capfd):
    ours: Any = envs_mbbl.make("HalfCheetah")
    theirs: Any = gymnasium.make("HalfCheetah-v5").unwrapped
    assert ours.model.body_mass.sum() == pytest.approx(14.0)
    for field in ("body_mass", "body_inertia", "dof_invweight0", "body_invweight0", "actuator_acc0"):
        np.testing.assert_array_equal(getattr(ours.model, field), getattr(theirs.model, field))


@pytest.mark.parametrize("name", ["SlimHumanoid", "SlimHumanoid-ET", "Humanoid-ET"])
def test_the_left_hip_bends_as_far_as_in_gym_0_7(name):
    env: Any = envs_mbbl.make(name)
    np.testing.assert_allclose(np.degrees(env.model.joint("left_hip_y").range), (-120, 20))
    np.testing.assert_allclose(np.degrees(env.model.joint("right_hip_y").range), (-110, 20))


def test_the_walker_has_two_different_feet():
    env: Any = envs_mbbl.make("Walker2D")
    assert env.model.geom("foot_geom").friction[0] == 0.9
    assert env.model.geom("foot_left_geom").friction[0] == 1.9


@pytest.mark.parametrize(("name", "seconds"), [
    ("InvertedPendulum", 0.04), ("Reacher", 0.02), ("HalfCheetah", 0.05), ("Swimmer-v0", 0.04), ("Swimmer", 0.04),
    ("Ant", 0.05), ("Walker2D", 0.008), ("Hopper", 0.008), ("SlimHumanoid", 0.015), ("Humanoid-ET", 0.015),
])  # fmt: skip
def test_seconds_per_step(name, seconds):
    env: Any = envs_mbbl.make(name)
    env.reset(seed=0)
    env.step(np.zeros(env.task.action_dim))
    assert env.data.time == pytest.approx(seconds)


@pytest.mark.parametrize(("name", "first"), [("Ant", 1), ("SlimHumanoid", 1), ("Humanoid-ET", 1)])
def test_quaternions_are_normalised_from_the_first_observation(name, first):
    env = envs_mbbl.make(name)
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        assert np.linalg.norm(observation[first : first + 4]) == pytest.approx(1.0, abs=1e-12)


def test_velocities_are_not_clipped():
    """gymnasium's hoppers and walkers clip what is seen to ±10."""
    env = envs_mbbl.make("Hopper")
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    assert max(np.abs(env.step(np.sign(a))[0][5:]).max() for a in actions) > 10


def test_the_pendulum_clips_its_velocity_after_moving():
    env: Any = envs_mbbl.make("Pendulum")
    env.reset(seed=0)
    env.set_state(env.get_state() | {"physics": np.array([np.pi / 2, 7.9])})
    env.step(np.ones(1))
    angle, velocity = env._state
    unclipped = 7.9 + (15.0 + 6.0) * 0.05
    assert velocity == 8.0
    assert angle == pytest.approx(np.pi / 2 + unclipped * 0.05)


def test_the_mountain_car_stops_at_the_left_wall_only():
    env: Any = envs_mbbl.make("MountainCar")
    env.reset(seed=0)
    for position, velocity, after in ((-1.19, -0.05, 0.0), (0.59, 0.05, None)):
        env.set_state(env.get_state() | {"physics": np.array([position, velocity])})
        observation, *_ = env.step(np.sign([velocity]))
        assert observation[0] == (-1.2 if velocity < 0 else 0.6)
        assert (observation[1] == after) if after is not None else (observation[1] > 0.04)


def test_the_acrobot_has_three_torques():
    env = envs_mbbl.make("Acrobot")
    env.reset(seed=0)
    state = env.get_state()
    seen = {}
    for action in (-1.0, -0.34, -0.33, -0.32, 0.0, 0.32, 0.33, 1.0):
        env.set_state(state)
        seen[action] = env.step(np.array([action]))[0][5]
    assert (
        seen[-1.0]
        == seen[-0.34]
        < seen[-0.33]
        == seen[-0.32]
        == seen[0.0]
        == seen[0.32]
        < seen[0.33]
        == seen[1.0]
    )


def test_the_cart_pole_goes_left_for_zero():
    env = envs_mbbl.make("CartPole")
    env.reset(seed=0)
    state = env.get_state()
    speeds = []
    for action in (-1.0, 0.0, 1e-9, 1.0):
        env.set_state(state)
        speeds.append(env.step(np.array([action]))[0][1])
    assert speeds[0] == speeds[1] < speeds[2] == speeds[3]


def test_the_reacher_has_goals_on_the_whole_square():
    env = envs_mbbl.make("Reacher")
    goals = np.array([env.reset(seed=seed)[0][4:6] for seed in range(400)])
    assert np.abs(goals).max() <= 0.2
    assert (np.linalg.norm(goals, axis=1) > 0.2).mean() == pytest.approx(1 - np.pi / 4, abs=0.06)
    observation, _ = env.reset(seed=0)
    arm = 0.1 * np.array([1.0, 0.0]) + 0.11 * np.array([1.0, 0.0])  # stretched out along x, but for the noise
    np.testing.assert_allclose(observation[8:10], arm - observation[4:6], atol=0.06)
    assert observation[10] == pytest.approx(0.0, abs=1e-12)


def test_the_swimmers_nose():
    """Against MuJoCo's own geometry: the tip of the first capsule's axis."""
    env: Any = envs_mbbl.make("Swimmer")
    observation, _ = env.reset(seed=0)
    assert observation[8] == 0.0

    def nose() -> float:
        mujoco.mj_kinematics(env.model, env.data)
        head = env.data.body("torso")
        return float(head.xpos[0] + 1.5 * head.xmat[0])

    for action in np.random.default_rng(0).uniform(-1, 1, (20, 2)):
        before = nose()
        observation, *_ = env.step(action)
        assert observation[8] == pytest.approx((nose() - before) / 0.04, abs=1e-9)


def test_the_humanoid_observes_contact_forces():
    env: Any = envs_mbbl.make("Humanoid-ET")
    observation, _ = env.reset(seed=0)
    assert (observation[-84:] == 0).all()
    contact = np.zeros(84)
    for _ in range(60):
        observation, _, terminated, _, _ = env.step(np.zeros(17))
        contact = np.maximum(contact, np.abs(observation[-84:]))
        np.testing.assert_array_equal(observation[-84:], env.data.cfrc_ext.reshape(-1))
        if terminated:
            break
    assert contact.max() > 100


START = {  # half-widths of the uniform noise, or None for the normal velocities of deviation 0.1
    "InvertedPendulum": (0.01, 0.01), "HalfCheetah": (0.1, None), "Swimmer-v0": (0.1, 0.1), "Swimmer": (0.1, 0.1),
    "Ant": (0.1, None), "Walker2D": (0.005, 0.005), "Hopper": (0.005, 0.005), "SlimHumanoid": (0.01, 0.01),
}  # fmt: skip


@pytest.mark.parametrize("name", START)
def test_noise_of_the_start_state(name):
    env: Any = envs_mbbl.make(name)
    qpos, qvel = [], []
    for seed in range(100):
        env.reset(seed=seed)
        qpos.append(env.data.qpos - env._start_qpos)
        qvel.append(env.data.qvel.copy())
    quaternion = slice(3, 7) if env.model.nq > env.model.nv else slice(0)
    positions = np.delete(np.array(qpos), quaternion, axis=1)
    size, speed = START[name]
    assert 0.9 * size < np.abs(positions).max() <= size
    if speed is None:
        assert np.std(qvel) == pytest.approx(0.1, rel=0.1)
        assert np.abs(qvel).max() > 0.2
    else:
        assert 0.9 * speed < np.abs(qvel).max() <= speed


def test_a_diverging_simulation_is_an_error():
    env: Any = envs_mbbl.make("Hopper")
    env.reset(seed=0)
    env.data.qvel[:] = 1e200
    with (
        np.errstate(all="ignore"),
        pytest.raises(FloatingPointError, match="Hopper: the simulation diverged at step 0"),
    ):
        env.step(np.zeros(3))
    with pytest.raises(RuntimeError, match="ended"):
        env.step(np.zeros(3))
    assert np.isfinite(env.reset()[0]).all()
    env.step(np.zeros(3))
