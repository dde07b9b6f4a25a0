"""The replay: every transition comes back as it was stored, and only whole transitions do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.core.loop import Transition
from algorithms.core.replay import Replay

lengths_and_falls = st.lists(st.tuples(st.integers(1, 7), st.booleans()), min_size=1, max_size=8)


def episodes(spec: list[tuple[int, bool]]) -> list[Transition]:
    """Observations carry their own number, so that a mixed-up pair shows."""
    transitions, clock, step = [], 0.0, 0
    for length, falls in spec:
        for age in range(length):
            last = age == length - 1
            step += 1
            transitions.append(
                Transition(
                    np.array([clock, -clock]), np.array([clock / 100]), clock * 2,
                    np.array([clock + 1, -clock - 1]), last and falls, last and not falls, step,
                )
            )  # fmt: skip
            clock += 1
        clock += 10
    return transitions


def filled(transitions: list[Transition], **kwargs: bool) -> Replay:
    replay = Replay(2, 1, len(transitions), seed=0, **kwargs)
    for transition in transitions:
        replay.add(transition)
    return replay


@settings(max_examples=50, deadline=None)
@given(lengths_and_falls)
def test_samples_are_stored_transitions(spec: list[tuple[int, bool]]) -> None:
    transitions = episodes(spec)
    batch = filled(transitions).sample(200)
    by_clock = {t.observation[0]: t for t in transitions}
    for i in range(200):
        original = by_clock[batch.observation[i, 0].item()]
        assert np.array_equal(batch.next_observation[i], original.next_observation.astype(np.float32))
        assert np.array_equal(batch.action[i], original.action.astype(np.float32))
        assert batch.reward[i] == original.reward
        assert batch.continues[i] == (0.0 if original.terminated else 1.0)
    assert torch.equal(batch.state_action, torch.cat([batch.observation, batch.action], 1))
    assert torch.equal(batch.states, torch.cat([batch.observation, batch.next_observation]))


def test_every_transition_is_drawn_equally_often() -> None:
    replay = filled(episodes([(3, True), (1, False), (4, True), (2, False)]))
    drawn = replay.sample(40_000).observation[:, 0]
    _, counts = torch.unique(drawn, return_counts=True)
    assert len(counts) == 10
    assert torch.all((counts - 4000).abs() < 5 * 4000**0.5)


def test_a_time_limit_bootstraps_and_a_fall_does_not() -> None:
    transitions = episodes([(1, True), (1, False)])
    for flag, expected in ((True, [0.0, 1.0]), (False, [0.0, 0.0])):
        batch = filled(transitions, bootstrap_time_limits=flag).sample(100)
        for row, continues in zip(batch.observation[:, 0], batch.continues, strict=True):
            assert continues == expected[int(row > 0)]


def test_a_fall_at_the_time_limit_is_a_fall() -> None:
    replay = Replay(2, 1, 1, seed=0)
    replay.add(Transition(np.zeros(2), np.zeros(1), 0.0, np.ones(2), True, True, 1))
    assert replay.sample(1).continues.item() == 0.0


@settings(max_examples=50, deadline=None)
@given(lengths_and_falls, st.integers(0, 60))
def test_restored_from_rows_it_draws_the_same_bytes(spec: list[tuple[int, bool]], cut: int) -> None:
    transitions = episodes(spec)
    cut = min(cut, len(transitions) - 1)
    original = filled(transitions[:cut]) if cut else Replay(2, 1, len(transitions), seed=0)
    original = Replay(2, 1, len(transitions), seed=0)
    for transition in transitions[:cut]:
        original.add(transition)
    if cut:
        original.sample(8)
    restored = Replay(2, 1, len(transitions), seed=1)
    restored.load_state_dict(original.state_dict())
    restored.extend(original.rows(0, len(original)).copy())
    for transition in transitions[cut:]:
        original.add(transition)
        restored.add(transition)
        for a, b in zip(original.sample(16), restored.sample(16), strict=True):
            assert torch.equal(a, b)
    assert original.rows(0, len(original)).tobytes() == restored.rows(0, len(restored)).tobytes()


def test_memory_is_not_touched_before_it_is_used() -> None:
    def resident_kb() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    before = resident_kb()
    replay = Replay(376, 17, 200_000, seed=0)  # 632 MB if it were touched
    replay.add(Transition(np.zeros(376), np.zeros(17), 0.0, np.zeros(376), False, False, 1))
    assert resident_kb() - before < 20_000


@pytest.mark.parametrize("size", [1, 256])
def test_rows_are_plain_records(size: int) -> None:
    replay = filled(episodes([(size, True)]))
    rows = replay.rows(0, len(replay))
    assert rows.dtype == replay.row_dtype
    assert len(rows) == size + 1
    assert np.array_equal(rows["reward"][:size], 2.0 * np.arange(size))
