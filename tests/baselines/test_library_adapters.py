"""Stable-Baselines3 under the harness: what is stored, and that time limits do not stop bootstrapping."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.buffers import ReplayBuffer

from algorithms.core.sb3 import ReplayLog, schedule

BOX = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float64)


def filled(count: int, size: int = 10) -> ReplayBuffer:
    buffer = ReplayBuffer(size, BOX, BOX, device="cpu")
    generator = np.random.default_rng(0)
    for step in range(count):
        s, following, action = generator.uniform(-1, 1, (3, 1, 2))
        ended, cut_off = np.array([step % 3 == 2]), step == 2
        buffer.add(s, following, action, np.array([float(step)]), ended, [{"TimeLimit.truncated": cut_off}])
    return buffer


@pytest.mark.parametrize("count", [0, 4, 10])
def test_replay_is_restored_row_by_row(count: int) -> None:
    original = filled(count)
    log = ReplayLog(original)
    assert len(log) == count
    copy = ReplayBuffer(10, BOX, BOX, device="cpu")
    copied = ReplayLog(copy)
    for start, stop in ((0, count // 2), (count // 2, count)):
        rows = np.frombuffer(log.rows(start, stop).tobytes(), dtype=log.row_dtype)
        copied.extend(rows)
    assert len(copied) == count
    assert (copy.pos, copy.full) == (original.pos, original.full)
    for name in ReplayLog.FIELDS:
        np.testing.assert_array_equal(getattr(copy, name), getattr(original, name))


def test_a_time_limit_is_not_an_end() -> None:
    buffer = filled(6)
    samples = buffer._get_samples(np.arange(6))
    assert samples.dones[:, 0].tolist() == [0, 0, 0, 0, 0, 1]  # step 2 was cut off, step 5 fell


def test_many_environments_are_not_one_log() -> None:
    with pytest.raises(ValueError, match="2 environments"):
        ReplayLog(ReplayBuffer(10, BOX, BOX, device="cpu", n_envs=2))


def test_schedule() -> None:
    assert schedule(0.5, decay=True)(0.25) == 0.125
    assert schedule(0.5, decay=False)(0.25) == 0.5
