"""Imagined episodes as Stable-Baselines3 sees them; the models' early stopping."""

from __future__ import annotations

import numpy as np
import torch

import envs_mbbl
from algorithms.core.ensemble import EarlyStopping, Ensemble, Transitions
from algorithms.me_trpo.imagined_env import ImaginedVecEnv


def test_an_imagined_episode_is_cut_off_and_starts_again() -> None:
    torch.manual_seed(0)
    task = envs_mbbl.TASKS["MountainCar"]
    env = ImaginedVecEnv(task, lambda s, a: s + 0.01, episodes=3, horizon=4)
    first = env.reset()
    assert ((first[:, 0] > -0.61) & (first[:, 0] < -0.39)).all()
    for time in range(4):
        before = env.observations.numpy().copy()
        observations, rewards, dones, infos = env.step(np.zeros((3, 1), np.float32))
        np.testing.assert_allclose(
            rewards, before[:, 0]
        )  # MountainCar's reward is the start state's position
        assert dones.all() == (time == 3)
    np.testing.assert_allclose(infos[0]["terminal_observation"], first[0] + 0.04, atol=1e-6)
    assert all(info["TimeLimit.truncated"] for info in infos)
    assert ((observations[:, 0] > -0.61) & (observations[:, 0] < -0.39)).all()
    assert env.times.tolist() == [0, 0, 0]


def test_a_fall_ends_one_imagined_episode_and_is_no_time_limit() -> None:
    torch.manual_seed(0)
    task = envs_mbbl.TASKS["Hopper-ET"]

    def dynamics(s: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        following = s.clone()
        following[0, 0] = 0.5  # below 0.7: fallen
        return following

    env = ImaginedVecEnv(task, dynamics, episodes=2, horizon=100)
    env.reset()
    _, _, dones, infos = env.step(np.zeros((2, 3), np.float32))
    assert dones.tolist() == [True, False]
    assert infos[0]["TimeLimit.truncated"] is False
    assert "terminal_observation" not in infos[1]
    assert env.times.tolist() == [0, 1]


def test_imagined_states_stay_in_the_box() -> None:
    task = envs_mbbl.TASKS["MountainCar"]
    env = ImaginedVecEnv(task, lambda s, a: 1e30 * torch.ones_like(s), episodes=2, horizon=10)
    env.low, env.high = torch.tensor([-1.0, -0.1]), torch.tensor([1.0, 0.1])
    env.reset()
    observations, *_ = env.step(np.zeros((2, 1), np.float32))
    np.testing.assert_allclose(observations, [[1.0, 0.1]] * 2)


def test_early_stopping_keeps_each_members_best() -> None:
    torch.manual_seed(0)
    data = Transitions(1, 1, members=2, capacity=20, seed=0)
    for value in np.linspace(-1, 1, 20):
        data.add(np.array([value]), np.zeros(1), np.array([value + 0.1 * value]))
    ensemble = Ensemble(1, 1, [4], members=2)
    ensemble.standardise(data.arrays())
    stopping = EarlyStopping(ensemble, patience=2)
    assert not stopping.judge(data.arrays())
    good = [parameter.detach().clone() for parameter in ensemble.parameters()]
    with torch.no_grad():
        ensemble.biases[-1][0] += 5.0  # member 0 gets worse
        ensemble.biases[-1][1] *= 1.0  # member 1 stays as it is
    assert not stopping.judge(data.arrays())
    assert stopping.judge(data.arrays())
    stopping.restore()
    for before, after in zip(good, ensemble.parameters(), strict=True):
        assert torch.equal(before, after)
    stopping.restart()
    assert torch.isinf(stopping.least).all()
