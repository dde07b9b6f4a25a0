"""Pictures without a window."""

import gymnasium
import numpy as np
import pytest

import envs_mbbl
from envs_mbbl import TASKS
from envs_mbbl.drawing import HEIGHT, WIDTH
from envs_mbbl.pictures import save

CLASSIC = ("Pendulum", "Acrobot", "CartPole", "MountainCar")


def make(name: str) -> envs_mbbl.MbblEnv:
    return envs_mbbl.make(name, render_mode="rgb_array")


@pytest.fixture(scope="module")
def opengl():
    """Skips where this machine cannot draw."""
    env = make("Reacher")
    env.reset(seed=0)
    try:
        env.render()
    except Exception as error:  # every driver fails in its own way
        pytest.skip(f"no OpenGL on this machine: {error}")
    finally:
        env.close()


@pytest.mark.parametrize("name", TASKS)
def test_a_picture_shows_the_state(name, request):
    if name not in CLASSIC:
        request.getfixturevalue("opengl")
    env = make(name)
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (HEIGHT, WIDTH, 3)
    assert first.dtype == np.uint8
    assert len(np.unique(first)) > 3
    for _ in range(12):
        env.step(np.full(env.task.action_dim, 0.4))
    assert not np.array_equal(env.render(), first)
    env.close()


@pytest.mark.parametrize("name", ["Pendulum", "Hopper", "Humanoid-ET"])
def test_looking_changes_nothing(name, request):
    if name not in CLASSIC:
        request.getfixturevalue("opengl")
    seen, unseen = make(name), envs_mbbl.make(name)
    seen.reset(seed=0)
    unseen.reset(seed=0)
    for action in np.random.default_rng(0).uniform(-1, 1, (5, seen.task.action_dim)):
        seen.render()
        np.testing.assert_array_equal(seen.step(action)[0], unseen.step(action)[0])
    seen.close()


@pytest.mark.parametrize("name", ["CartPole", "Hopper"])
def test_made_by_gymnasium(name, request):
    if name not in CLASSIC:
        request.getfixturevalue("opengl")
    env = gymnasium.make(f"mbbl/{name}-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (HEIGHT, WIDTH, 3)
    env.close()
    envs = gymnasium.make_vec(f"mbbl/{name}-v0", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    assert [frame.shape for frame in envs.render()] == [(HEIGHT, WIDTH, 3)] * 2
    envs.close()


def test_a_restored_state_looks_the_same(opengl):
    env, other = make("Hopper"), make("Hopper")
    env.reset(seed=0)
    for _ in range(5):
        env.step(np.ones(3))
    other.set_state(env.get_state())
    env.set_state(env.get_state())  # the positions of bodies lag behind by a part of a step after `step`
    np.testing.assert_array_equal(env.render(), other.render())
    env.close()
    other.close()


def test_the_time_to_ask():
    env = envs_mbbl.make("Pendulum")
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="render_mode='rgb_array'"):
        env.render()
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        make("Pendulum").render()


def test_closing_twice_and_drawing_again(opengl):
    env = make("Hopper")
    env.reset(seed=0)
    first = env.render()
    env.close()
    env.close()
    np.testing.assert_array_equal(env.render(), first)
    env.close()


def test_the_pictures_of_the_documentation_are_small(root, tmp_path):
    pictures = {path.stem: path.stat().st_size for path in (root / "docs" / "images" / "envs").glob("*.png")}
    assert set(pictures) == set(TASKS)
    assert max(pictures.values()) < 30_000
    env = make("Acrobot")
    env.reset(seed=0)
    save(tmp_path / "acrobot.png", env.render())
    assert 0 < (tmp_path / "acrobot.png").stat().st_size < 30_000
