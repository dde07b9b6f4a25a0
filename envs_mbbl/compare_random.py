"""Random returns beside the Random row that MBBL published: does this port give the same figures?

    python -m envs_mbbl.compare_random [--steps 50000] [--seed 0] [task ...]

As in MBBL's sampler, actions are uniform in [-1, 1] in MBBL's own units, whatever the task's box is.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from envs_mbbl.base import Floats
from envs_mbbl.factory import make
from envs_mbbl.tasks import TASKS

# What counts as agreement. MBBL's ± is the spread over single episodes (ours is much the same), of an unknown
# number of them: the published means scatter as if there were 30 to 50. Our own sampling error comes on top.
MEAN_TOLERANCE = 0.6  # in published standard deviations
SPREAD_TOLERANCE = 1.75  # the ratio of the standard deviations, either way


@dataclass(frozen=True)
class Episode:
    observations: Floats  # the start state of every step
    actions: Floats  # in MBBL's units
    rewards: Floats
    terminated: bool


@dataclass(frozen=True)
class Comparison:
    """The returns of some episodes against the published mean and standard deviation."""

    published_mean: float
    published_std: float
    mean: float
    std: float
    episodes: int

    @property
    def standard_error(self) -> float:
        return self.std / self.episodes**0.5

    @property
    def z(self) -> float:
        return (self.mean - self.published_mean) / self.published_std

    @property
    def spread(self) -> float:
        return self.std / self.published_std

    @property
    def mean_agrees(self) -> bool:
        difference = abs(self.mean - self.published_mean)
        return difference <= MEAN_TOLERANCE * self.published_std + 2 * self.standard_error

    @property
    def spread_agrees(self) -> bool:
        tolerance = SPREAD_TOLERANCE * (1 + 2 / (2 * self.episodes) ** 0.5)
        return 1 / tolerance <= self.spread <= tolerance


def published() -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of MBBL's Random row, by task."""
    with (files("envs_mbbl") / "published_random.csv").open() as file:
        return {row["task"]: (float(row["mean"]), float(row["std"])) for row in csv.DictReader(file)}


# Here MBBL's episodes were more alike than ours are: see docs/environments.md.
SPREAD_DIFFERS = ("Hopper-ET", "SlimHumanoid-ET")


def random_episodes(name: str, seed: int = 0) -> Iterator[Episode]:
    """Episodes of MBBL's random policy, without end."""
    env = make(name, raw_actions=True)
    rng = np.random.default_rng([seed, 1])  # not the generator of the start states
    env.reset(seed=seed)
    while True:
        observation, _ = env.reset()
        observations, actions, rewards = [], [], []
        terminated = truncated = False
        while not (terminated or truncated):
            observations.append(observation)
            actions.append(rng.uniform(-1.0, 1.0, env.task.action_dim))
            observation, reward, terminated, truncated, _ = env.step(actions[-1])
            rewards.append(reward)
        yield Episode(np.array(observations), np.array(actions), np.array(rewards), terminated)


def compare(name: str, returns: Floats) -> Comparison:
    return Comparison(*published()[name], float(returns.mean()), float(returns.std(ddof=1)), len(returns))


HEADER = (
    "| task | published | ours ± standard error | our std | episodes | mean length | z | spread | agrees |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table_row(name: str, result: Comparison, length: float) -> str:
    missed = [
        what
        for what, agrees in (("mean", result.mean_agrees), ("spread", result.spread_agrees))
        if not agrees
    ]
    return (
        f"| {name} | {result.published_mean:.1f} ± {result.published_std:.1f} "
        f"| {result.mean:.1f} ± {result.standard_error:.1f} | {result.std:.1f} | {result.episodes} "
        f"| {length:.0f} | {result.z:+.2f} | ×{result.spread:.2f} "
        f"| {'not the ' + ' and the '.join(missed) if missed else 'yes'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Random returns beside MBBL's Random row.",
        epilog="z: difference of the means in published standard deviations; spread: ratio of the standard "
        f"deviations. They agree if |z| <= {MEAN_TOLERANCE} and the ratio is within a factor of "
        f"{SPREAD_TOLERANCE}, each with two standard errors of our own on top.",
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="task")
    parser.add_argument(
        "--steps", type=int, default=50_000, help="environment steps per task (default: 50000)"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for name in args.tasks:
        if name not in TASKS:
            parser.error(f"unknown task {name!r}; there are {', '.join(TASKS)}")
    print(HEADER, flush=True)
    for name in args.tasks:
        returns: list[float] = []
        steps = 0
        for episode in random_episodes(name, args.seed):
            returns.append(float(episode.rewards.sum()))
            steps += len(episode.rewards)
            if sys.stderr.isatty():
                print(f"\r{name}: {steps:,} of {args.steps:,} steps ", end="", file=sys.stderr, flush=True)
            if steps >= args.steps and len(returns) > 1:
                break
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        print(table_row(name, compare(name, np.array(returns)), steps / len(returns)), flush=True)


if __name__ == "__main__":
    main()
