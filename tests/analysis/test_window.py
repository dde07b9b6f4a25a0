"""The window: what counts for the final performance of a run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.window import window_counts, window_means

# Episodes that end at 10, 20, 35, 50; the window (20, 50] of 30 steps.
STEPS, RETURNS, LENGTHS = [10, 20, 35, 50], [1.0, 2.0, 3.0, 6.0], [10, 10, 15, 15]


def test_by_hand() -> None:
    assert window_means(STEPS, RETURNS, [50], 30)[0] == 4.5  # 3 and 6
    assert window_counts(STEPS, [50], 30)[0] == 2


def test_the_lower_edge_is_open_and_the_upper_edge_closed() -> None:
    assert window_means(STEPS, RETURNS, [50], 31)[0] == pytest.approx(11 / 3)  # 20 is inside (19, 50]
    assert window_means(STEPS, RETURNS, [49], 29)[0] == 3.0


def test_nothing_in_the_window_is_nan() -> None:
    assert np.isnan(window_means(STEPS, RETURNS, [9], 5)[0])
    assert np.isnan(window_means([], [], [9], 5)[0])


def test_a_nan_inside_spoils_its_windows_and_no_others() -> None:
    means = window_means(STEPS, [1.0, np.nan, 3.0, 6.0], [10, 20, 50], 15)
    assert means[0] == 1.0
    assert np.isnan(means[1])
    assert means[2] == 6.0


def test_an_episode_across_the_edge_by_each_rule() -> None:
    # The window (30, 50]: the episode (20, 35] lies across its edge, with 5 of its 15 steps inside.
    def mean(straddle: str) -> float:
        return float(window_means(STEPS, RETURNS, [50], 20, LENGTHS, straddle)[0])

    assert mean("end") == 4.5
    assert mean("inside") == 6.0
    assert mean("weighted") == pytest.approx((3 * (5 / 15) + 6) / (5 / 15 + 1))


def test_an_unknown_rule_and_decreasing_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="straddle 'middle'"):
        window_means(STEPS, RETURNS, [50], 20, LENGTHS, "middle")
    with pytest.raises(ValueError, match="decrease"):
        window_means([2, 1], [0.0, 0.0], [2], 1)


episodes = st.lists(
    st.tuples(st.integers(1, 40), st.floats(-1e6, 1e6, allow_nan=False)), min_size=1, max_size=60
)


@given(episodes, st.integers(1, 50))
def test_consecutive_windows_share_no_episode_and_lose_none(
    log: list[tuple[int, float]], window: int
) -> None:
    steps = np.cumsum([length for length, _ in log])
    ends = np.arange(window, steps[-1] + window, window)
    assert window_counts(steps, ends, window).sum() == len(log)


@given(episodes, st.integers(1, 200), st.sampled_from(["end", "inside", "weighted"]))
def test_a_mean_lies_between_its_returns(log: list[tuple[int, float]], window: int, straddle: str) -> None:
    lengths = [length for length, _ in log]
    steps, returns = np.cumsum(lengths), np.array([value for _, value in log])
    end = steps[-1]
    value = window_means(steps, returns, [end], window, lengths, straddle)[0]
    inside = returns[steps > end - window]
    assert np.isnan(value) or inside.min() - 1e-6 <= value <= inside.max() + 1e-6


@given(episodes, st.integers(1, 200))
def test_the_rules_agree_when_nothing_straddles(log: list[tuple[int, float]], window: int) -> None:
    lengths = [length for length, _ in log]
    steps = np.cumsum(lengths)
    returns = [value for _, value in log]
    end = steps[-1]
    # A window that begins exactly where an episode begins.
    window = int(end - max((step for step in [0, *steps] if step <= end - min(window, end)), default=0))
    means = [
        window_means(steps, returns, [end], window, lengths, rule)[0]
        for rule in ("end", "inside", "weighted")
    ]
    np.testing.assert_allclose(means, means[0], rtol=1e-9, atol=1e-6)


@given(episodes, st.integers(1, 100), st.floats(-100, 100), st.floats(0.1, 10))
def test_shifting_and_scaling_returns_does_the_same_to_the_mean(
    log: list[tuple[int, float]], window: int, shift: float, scale: float
) -> None:
    steps, returns = np.cumsum([n for n, _ in log]), np.array([value for _, value in log])
    plain = window_means(steps, returns, steps, window)
    moved = window_means(steps, scale * returns + shift, steps, window)
    np.testing.assert_allclose(moved, scale * plain + shift, rtol=1e-9, atol=1e-4)


@given(episodes, st.integers(1, 100))
def test_episodes_after_the_end_change_nothing(log: list[tuple[int, float]], window: int) -> None:
    steps, returns = np.cumsum([n for n, _ in log]), np.array([value for _, value in log])
    half = len(log) // 2 + 1
    end = steps[half - 1]
    whole = window_means(steps, returns, [end], window)
    np.testing.assert_array_equal(whole, window_means(steps[:half], returns[:half], [end], window))
