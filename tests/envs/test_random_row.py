"""Random returns against MBBL's published Random row, and what that comparison can see.

The row is a coarse instrument: some mistakes move a random policy's return by less than its spread. So there are
two checks, and every mistake below must be caught by one of them: the row, or a state and an action for which
the reward was worked out by hand. A wrong horizon beyond the row's sight is caught by the table in test_tasks.
"""

import csv
import functools
import itertools

import numpy as np
import pytest

from envs_mbbl import TASKS
from envs_mbbl.compare_random import (
    SPREAD_DIFFERS,
    Comparison,
    Episode,
    compare,
    main,
    published,
    random_episodes,
)
from tests.envs.reference import MISTAKES, TERMS, reward

MBBL_NAMES = {"Mountain Car": "MountainCar"}


def test_the_package_has_the_figures_of_the_published_table(root):
    with (root / "analysis" / "reference" / "mbbl_table.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["algorithm"] == "Random"]
    table = {MBBL_NAMES.get(row["env"], row["env"]): (float(row["mean"]), float(row["std"])) for row in rows}
    assert published() == table
    assert set(table) == set(TASKS)


# The steps to play: more where they are cheap and returns vary, fewer where they are dear; else 20,000.
STEPS = (
    dict.fromkeys(("Pendulum", "Acrobot", "CartPole", "MountainCar"), 60_000)
    | dict.fromkeys(("Ant", "SlimHumanoid"), 15_000)
    | dict.fromkeys(("Ant-ET", "Walker2D-ET", "Hopper-ET", "SlimHumanoid-ET", "Humanoid-ET"), 8_000)
)


@functools.cache
def episodes(name: str) -> list[Episode]:
    steps = STEPS.get(name, 20_000)
    found = []
    for episode in random_episodes(name):
        found.append(episode)
        steps -= len(episode.rewards)
        if steps <= 0:
            return found
    raise AssertionError("random_episodes ended")


def agrees(name: str, result: Comparison) -> bool:
    return result.mean_agrees and (result.spread_agrees or name in SPREAD_DIFFERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_random_returns_agree_with_the_published_row(name):
    result = compare(name, np.array([episode.rewards.sum() for episode in episodes(name)]))
    assert agrees(name, result), result
    for episode in episodes(name)[:3]:  # what is perturbed below is what `step` paid
        expected = reward(TERMS[name], episode.observations, episode.actions)
        np.testing.assert_allclose(episode.rewards, expected, rtol=1e-9, atol=1e-9)


# --- what the row can see ---

TENFOLD = "tenfold"
EVERY = tuple(MISTAKES)

# task: term of the reward: the mistakes in its coefficient that the row must catch. Chosen with a margin: other
# random numbers, as another processor's rounding makes them, must not change the verdict.
ROW_CATCHES = {
    "Pendulum": {"height": ("sign", TENFOLD), "velocity": ("sign", "dropped", TENFOLD)},
    "InvertedPendulum": {"angle": EVERY},
    "Acrobot": {"first link": EVERY, "second link": EVERY},
    "CartPole": {"angle": ("sign", "dropped", "doubled", TENFOLD), "position": ("sign", TENFOLD)},
    "MountainCar": {"position": EVERY},
    "Reacher": {"distance": EVERY, "control": EVERY},
    "HalfCheetah": {"velocity": ("sign", "dropped", TENFOLD), "control": EVERY},
    "Swimmer-v0": {"velocity": ("dropped", TENFOLD)},
    "Swimmer": {"velocity": ("sign", "dropped", TENFOLD)},
    "Ant": {"velocity": (TENFOLD,), "height": EVERY, "control": EVERY, "alive": EVERY},
    "Ant-ET": {"height": (TENFOLD,), "control": (TENFOLD,), "alive": ("sign", "dropped", "doubled", TENFOLD)},
    "Walker2D": {
        "velocity": (TENFOLD,),
        "height": EVERY,
        "control": (TENFOLD,),
        "alive": ("sign", "dropped", "doubled", TENFOLD),
    },
    "Walker2D-ET": {"velocity": EVERY, "height": (TENFOLD,), "control": ("sign", "dropped", TENFOLD), "alive": EVERY},
    "Hopper": {"height": EVERY, "control": (TENFOLD,), "alive": ("sign", "dropped", "doubled", TENFOLD)},
    "Hopper-ET": {"velocity": ("sign", TENFOLD), "control": ("sign", TENFOLD), "alive": EVERY},
    "SlimHumanoid": {"velocity": ("sign", "dropped", TENFOLD), "control": ("sign", TENFOLD), "alive": (TENFOLD,)},
    "SlimHumanoid-ET": {
        "velocity": ("sign", TENFOLD),
        "control": ("sign", TENFOLD),
        "alive": ("sign", "dropped", "doubled", TENFOLD),
    },
    "Humanoid-ET": {
        "velocity": ("sign", "doubled", TENFOLD),
        "control": (TENFOLD,),
        "alive": ("sign", "dropped", "doubled", TENFOLD),
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ROW_CATCHES)
def test_the_row_catches_wrong_signs_and_coefficients(name):
    for term, mistakes in ROW_CATCHES[name].items():
        for mistake in mistakes:
            returns = [
                reward(TERMS[name], episode.observations, episode.actions, {term: MISTAKES[mistake]}).sum()
                for episode in episodes(name)
            ]
            result = compare(name, np.array(returns))
            assert not agrees(name, result), f"{term} {mistake}: {result}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TASKS if name != "Swimmer-v0"])  # whose mean is about 0
def test_the_row_catches_a_reward_with_the_wrong_sign(name):
    assert not agrees(name, compare(name, np.array([-e.rewards.sum() for e in episodes(name)])))


# Not those whose return is about 0, is decided early or ends by a fall.
LASTING = [
    "Pendulum",
    "InvertedPendulum",
    "Acrobot",
    "CartPole",
    "MountainCar",
    "Reacher",
    "HalfCheetah",
    "Ant",
    "Walker2D",
    "Hopper",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", LASTING)
def test_the_row_catches_half_a_horizon(name):
    half = TASKS[name].horizon // 2
    assert not agrees(name, compare(name, np.array([e.rewards[:half].sum() for e in episodes(name)])))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["InvertedPendulum", "Acrobot", "MountainCar", "Reacher"])
def test_the_row_catches_a_tenth_of_the_horizon(name):
    most = TASKS[name].horizon * 9 // 10
    assert not agrees(name, compare(name, np.array([e.rewards[:most].sum() for e in episodes(name)])))


# --- what it cannot see: rewards worked out by hand ---

# The state is all 0.5 and the action all 0.5 in MBBL's units, but for the entries given here.
POINTS: dict[str, tuple[dict[int, float], float]] = {
    # -(0.6 + 0.1 * 0.8 + 0.1 * 0.25 + 0.001 * 1)
    "Pendulum": ({0: 0.6, 1: -0.8}, -0.706),
    # -0.3^2
    "InvertedPendulum": ({1: 0.3}, -0.09),
    # cos 0.6, sin 0.8; cos 0.8, sin 0.6: -(0.6 + 0.6 * 0.8 - 0.8 * 0.6)
    "Acrobot": ({0: 0.6, 1: 0.8, 2: 0.8, 3: -0.6}, -1.56),
    # cos(pi / 3) - 0.01 * 4
    "CartPole": ({0: 2.0, 2: np.pi / 3}, 0.46),
    "MountainCar": ({0: -0.4}, -0.4),
    # -|(2, 3, 6)| - 2 * 0.25
    "Reacher": ({8: 2.0, 9: 3.0, 10: 6.0}, -7.5),
    # 2 - 0.1 * 6 * 0.25
    "HalfCheetah": ({8: 2.0}, 1.85),
    # 2 - 0.0001 * 2 * 0.25
    "Swimmer-v0": ({3: 2.0}, 1.99995),
    "Swimmer": ({8: 2.0}, 1.99995),
    # 2 - 3 * 0.1^2 - 0.1 * 8 * 0.25 + 1
    "Ant": ({0: 0.67, 13: 2.0}, 2.77),
    "Ant-ET": ({0: 0.67, 13: 2.0}, 2.77),
    # 2 - 3 * 0.1^2 - 0.1 * 6 * 0.25 + 1
    "Walker2D": ({0: 1.2, 8: 2.0}, 2.82),
    "Walker2D-ET": ({0: 1.2, 8: 2.0}, 2.82),
    # 2 - 3 * 0.1^2 - 0.1 * 3 * 0.25 + 1
    "Hopper": ({0: 1.2, 1: 0.1, 5: 2.0}, 2.895),
    "Hopper-ET": ({0: 1.2, 1: 0.1, 5: 2.0}, 2.895),
    # 16.666... * 0.3 - 0.1 * 17 * 0.25 + 5
    "SlimHumanoid": ({0: 1.3, 22: 0.3}, 9.575),
    "SlimHumanoid-ET": ({0: 1.3, 22: 0.3}, 9.575),
    # the same - 5e-7 * (83 * 0.25 + 1000^2)
    "Humanoid-ET": ({0: 1.3, 22: 0.3, 300: 1000.0}, 9.575 - 0.500010375),
}


def point(name: str) -> tuple[np.ndarray, np.ndarray, float]:
    task = TASKS[name]
    entries, expected = POINTS[name]
    state = np.full(task.observation_dim, 0.5)
    for index, value in entries.items():
        state[index] = value
    return state, np.full(task.action_dim, 0.5), expected


@pytest.mark.parametrize("name", TASKS)
def test_rewards_worked_out_by_hand(name):
    state, action, expected = point(name)
    assert float(TASKS[name].native_reward(state, action)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "term", "mistake"),
    [(name, *pair) for name in TASKS for pair in itertools.product(TERMS[name], MISTAKES)],
)
def test_they_catch_every_mistake_in_a_coefficient(name, term, mistake):
    state, action, expected = point(name)
    wrong = float(reward(TERMS[name], state, action, {term: MISTAKES[mistake]}))
    assert abs(wrong - expected) > 1e-6


def test_a_fallen_humanoid_gets_no_bonus():
    for name in ("SlimHumanoid", "SlimHumanoid-ET", "Humanoid-ET"):
        state, action, expected = point(name)
        state[0] = 0.99
        assert float(TASKS[name].native_reward(state, action)) == pytest.approx(expected - 5.0, abs=1e-9)


def test_the_cost_of_impacts_is_capped():
    state, action, _ = point("Humanoid-ET")
    state[300] = 1e6
    assert float(TASKS["Humanoid-ET"].native_reward(state, action)) == pytest.approx(9.575 - 10.0, abs=1e-9)


# --- the command ---


def test_the_command_prints_the_table(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["compare_random", "--steps", "400", "Pendulum", "MountainCar"])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| task | published |")
    assert lines[2].startswith("| Pendulum | -202.6 ± 249.3 |")
    assert lines[3].startswith("| MountainCar | -105.1 ± 1.8 |")
    assert len(lines) == 4


def test_the_command_knows_its_tasks(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["compare_random", "Hoper"])
    with pytest.raises(SystemExit):
        main()
    assert "unknown task 'Hoper'" in capsys.readouterr().err
