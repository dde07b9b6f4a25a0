"""A run: one algorithm on one task with one seed, and everything that must be the same for all of them.

Counting steps, logging returns, evaluating, checkpointing, stopping: all of it happens here, at the
boundary of the environment, so that no algorithm can get it wrong.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, SupportsFloat

import gymnasium
import numpy as np

import envs_mbbl
from algorithms.core.checkpoint import CheckpointStore, GrowingLog, global_rng_state, set_global_rng_state
from algorithms.core.files import TEMPORARY_SUFFIX, write_csv, write_json
from algorithms.core.manifest import FORMAT, environment, peak_memory_mb
from algorithms.core.progress import PROGRESS_FILE, Progress
from algorithms.core.seeds import Seeds
from algorithms.core.sources import fingerprint
from algorithms.core.tracking import Tracker

EPISODE_COLUMNS = ("episode", "step", "return", "length", "terminated")
EVALUATION_COLUMNS = ("step", "episode", "return", "length")
OUTPUTS = ("episodes.csv", "evaluations.csv", "manifest.json")
MINIMUM_CHECKPOINT_SECONDS = 60.0
CHECKPOINT_COST_LIMIT = 0.01  # at most this share of the time goes into checkpoints


class BudgetReached(Exception):
    """The run has taken all its environment steps: not an error, the normal end."""


class Interrupted(Exception):
    """A signal asked the run to stop; its checkpoint has been saved."""


class NotFiniteError(ArithmeticError):
    """A loss, an action or another quantity became NaN or infinite."""


class Agent(Protocol):
    """What the run needs to know of an algorithm: its policy and its state.

    An agent may also have `logs: Mapping[str, GrowingLog]`.
    """

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class RunSettings:
    """All that decides a run's results, but for the sources and the libraries."""

    algorithm: str
    variant: str | None
    task: str
    seed: int
    steps: int
    scale: str
    config: Mapping[str, Any]
    evaluate_every: int
    evaluation_episodes: int

    @property
    def label(self) -> str:
        return self.algorithm if self.variant is None else f"{self.algorithm}@{self.variant}"


class Run:
    """Handed to `train(run)` of an algorithm; see docs/architecture.md for the contract."""

    def __init__(
        self,
        settings: RunSettings,
        directory: Path,
        *,
        attempt: int = 1,
        checkpoint_seconds: float | None = None,
        tracker: Tracker | None = None,
    ) -> None:
        self.settings = settings
        self.directory = directory
        self.config = settings.config
        self.task = envs_mbbl.TASKS[settings.task]
        self.steps = settings.steps
        self.seeds = Seeds(settings.seed)
        self.step = 0
        self.interrupted_by: str | None = None  # set by the signal handler, acted on at the next safe point
        self.env = BoundaryEnv(self)
        self.store = CheckpointStore(
            directory, fingerprint(settings.algorithm, settings.task, asdict(settings))
        )
        self.progress = Progress(
            directory, f"{settings.label} {settings.task} {settings.seed}", self.steps, attempt
        )
        self._tracker = tracker
        self._attempt = attempt
        self._agent: Agent | None = None
        self.evaluation_env: envs_mbbl.MbblEnv | None = None  # made when first needed
        self._episodes: list[tuple[int, int, float, int, int]] = []
        self._evaluations: list[tuple[int, int, float, int]] = []
        self._started = time.time()
        self._clock, self._cpu_clock = time.monotonic(), time.process_time()
        self._earlier_wall = self._earlier_cpu = self._earlier_peak = 0.0
        self._checkpoint_seconds = checkpoint_seconds
        first = MINIMUM_CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
        self._next_checkpoint = self._clock + first

    # --- for algorithms -----------------------------------------------------------------------------

    def attach(self, agent: Agent) -> None:
        """Say whose policy is evaluated and whose state is saved; continues from a checkpoint."""
        if self._agent is not None:
            raise RuntimeError("run.attach(agent) was called twice: a run has one agent")
        self._agent = agent
        if self.store.exists():
            self._restore(self.store.load_state(), agent)
        self.progress.start(self.step)

    def safe_point(self) -> None:
        """Here all state is consistent: save a checkpoint if one is due or a signal asks for it."""
        if self.interrupted_by is not None:
            self.save_checkpoint()
            raise Interrupted(self.interrupted_by)
        if self.step > 0 and time.monotonic() >= self._next_checkpoint:
            self.save_checkpoint()

    def check_finite(self, **quantities: SupportsFloat) -> None:
        for name, value in quantities.items():
            if not math.isfinite(value):
                raise NotFiniteError(
                    f"{name} is {float(value)} at step {self.step:,}. The run ends here; its last good "
                    f"checkpoint is kept. Try a smaller learning rate, or look at the settings of "
                    f"{self.settings.label} on {self.settings.task}."
                )

    def log(self, **metrics: SupportsFloat) -> None:
        """Scalars for TensorBoard, if it was asked for; they play no part in the results."""
        if self._tracker is not None:
            self._tracker.scalars(self.step, metrics)

    # --- for the environment's boundary --------------------------------------------------------------

    def count_step(self) -> None:
        self.step += 1
        self.progress.tick(self.step)

    def finish_episode(self, episode_return: float, length: int, terminated: bool) -> None:
        row = (len(self._episodes), self.step, episode_return, length, int(terminated))
        self._episodes.append(row)
        self.progress.episode(episode_return)
        self.log(episode_return=episode_return)

    @property
    def episodes_finished(self) -> int:
        return len(self._episodes)

    @property
    def evaluations_finished(self) -> int:
        """Evaluation episodes so far: a number that is another in each of them."""
        return len(self._evaluations)

    def evaluate_if_due(self) -> None:
        if self.step % self.settings.evaluate_every == 0 or self.step == self.steps:
            self._evaluate()

    def _evaluate(self) -> None:
        """Deterministic episodes in an environment of their own; training must not notice."""
        if self._agent is None:
            raise RuntimeError(
                "an evaluation is due but there is no policy: call run.attach(agent) before stepping"
            )
        saved = global_rng_state()
        if self.evaluation_env is None:
            self.evaluation_env = envs_mbbl.make(self.settings.task)
        env = self.evaluation_env
        returns = []
        for episode in range(self.settings.evaluation_episodes):
            observation, _ = env.reset(seed=self.seeds["evaluation", self.step, episode])
            total, length, over = 0.0, 0, False
            while not over:
                action = self._agent.act(observation, explore=False)
                self.env.check_action(action, "evaluation action")
                observation, reward, terminated, truncated, _ = env.step(action)
                total += float(reward)
                length += 1
                over = terminated or truncated
            self._evaluations.append((self.step, episode, total, length))
            returns.append(total)
        set_global_rng_state(saved)
        mean = sum(returns) / len(returns)
        self.progress.evaluation(self.step, mean)
        self.log(evaluation_return=mean)

    # --- checkpoints and results ---------------------------------------------------------------------

    def save_checkpoint(self) -> None:
        started = time.monotonic()
        agent = self._require_agent()
        self.store.save(self._state(agent), _logs(agent))
        cost = time.monotonic() - started
        # the more a checkpoint costs, the rarer it is: the loss to a kill grows, the overhead does not
        pause = max(MINIMUM_CHECKPOINT_SECONDS, cost / CHECKPOINT_COST_LIMIT)
        if self._checkpoint_seconds is not None:
            pause = self._checkpoint_seconds
        self._next_checkpoint = time.monotonic() + pause

    def _state(self, agent: Agent) -> dict[str, Any]:
        return {
            "step": self.step,
            "episodes": [list(row) for row in self._episodes],
            "evaluations": [list(row) for row in self._evaluations],
            "environment": self.env.get_state(),
            "generators": global_rng_state(),
            "agent": agent.state_dict(),
            "time": self._spent(),
        }

    def _restore(self, state: dict[str, Any], agent: Agent) -> None:
        self.step = state["step"]
        self._episodes = [tuple(row) for row in state["episodes"]]
        self._evaluations = [tuple(row) for row in state["evaluations"]]
        self.env.set_state(state["environment"])
        agent.load_state_dict(state["agent"])
        self.store.load_logs(_logs(agent))
        spent = state["time"]
        self._started = spent["started"]
        self._earlier_wall, self._earlier_cpu = spent["wall_seconds"], spent["cpu_seconds"]
        self._earlier_peak = spent["peak_memory_mb"]
        set_global_rng_state(state["generators"])  # last: building the agent may have drawn numbers

    def _spent(self) -> dict[str, float]:
        return {
            "started": self._started,
            "wall_seconds": self._earlier_wall + time.monotonic() - self._clock,
            "cpu_seconds": self._earlier_cpu + time.process_time() - self._cpu_clock,
            "peak_memory_mb": max(self._earlier_peak, peak_memory_mb()),
        }

    def finish(self) -> None:
        """Write the results, the manifest last: a directory with a manifest is a finished run."""
        write_csv(self.directory / "episodes.csv", EPISODE_COLUMNS, self._episodes)
        write_csv(self.directory / "evaluations.csv", EVALUATION_COLUMNS, self._evaluations)
        write_json(self.directory / "manifest.json", self._manifest())
        self.store.delete()
        for leftover in self.directory.glob(f".*{TEMPORARY_SUFFIX}"):
            leftover.unlink()  # of a process that was killed while it wrote
        (self.directory / PROGRESS_FILE).unlink(missing_ok=True)

    def _manifest(self) -> dict[str, Any]:
        spent = self._spent()
        settings = asdict(self.settings)
        return {
            "format": FORMAT,
            "label": self.settings.label,
            **settings,
            "fingerprint": self.store.fingerprint,
            **environment(),
            "time": {
                "started": _utc(spent["started"]),
                "finished": _utc(time.time()),
                "wall_seconds": round(spent["wall_seconds"], 3),
                "cpu_seconds": round(spent["cpu_seconds"], 3),
                "attempts": self._attempt,
            },
            "peak_memory_mb": round(spent["peak_memory_mb"], 1),
            "episodes": len(self._episodes),
        }

    def _require_agent(self) -> Agent:
        if self._agent is None:
            raise RuntimeError("nothing to save: call run.attach(agent) before run.safe_point()")
        return self._agent


class BoundaryEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """The run's environment: the task, with every step counted and every episode logged."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._env = envs_mbbl.make(run.settings.task)
        self.observation_space = self._env.observation_space
        self.action_space = self._env.action_space
        self.observation: np.ndarray | None = None  # of the running episode; None when a reset is due
        self._return = 0.0
        self._length = 0

    @property
    def needs_reset(self) -> bool:
        return self.observation is None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start the next episode. Its seed is the run's business: a `seed` given here is ignored."""
        if self._length:
            raise RuntimeError("reset in the middle of an episode would hide its return: play it to the end")
        run = self._run
        episode_seed = run.seeds["environment", run.episodes_finished]
        self.observation, info = self._env.reset(seed=episode_seed)
        return self.observation, info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        run = self._run
        if run.step >= run.steps:
            raise BudgetReached
        self.check_action(action, "action")
        observation, reward, terminated, truncated, info = self._env.step(action)
        reward = float(reward)
        self._return += reward
        self._length += 1
        run.count_step()
        if terminated or truncated:
            run.finish_episode(self._return, self._length, terminated)
            self._return, self._length, self.observation = 0.0, 0, None
        else:
            self.observation = observation
        run.evaluate_if_due()
        return observation, reward, terminated, truncated, info

    def check_action(self, action: np.ndarray, name: str) -> None:
        if not np.isfinite(action).all():
            self._run.check_finite(**{name: float("nan")})

    def get_state(self) -> dict[str, Any]:
        return {
            "task": self._env.get_state(),
            "observation": self.observation,
            "return": self._return,
            "length": self._length,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        if state["observation"] is not None:
            self._env.set_state(state["task"])
        self.observation, self._return, self._length = state["observation"], state["return"], state["length"]


def _logs(agent: Agent) -> Mapping[str, GrowingLog]:
    logs: Mapping[str, GrowingLog] = getattr(agent, "logs", {})
    return logs


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
