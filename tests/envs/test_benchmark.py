"""The benchmark runs and covers every task. How fast it finds us depends on the machine: not tested."""

import pytest

from benchmarks.envs import COUNTERPARTS, measure
from envs_mbbl import TASKS


def test_every_task_has_a_counterpart():
    assert set(COUNTERPARTS) == set(TASKS)


@pytest.mark.parametrize("name", ["Pendulum", "Acrobot", "CartPole", "MountainCar", "Reacher", "Hopper-ET"])
def test_it_measures(name):
    assert all(figure > 0 for figure in measure(name, rounds=2, steps=20))
