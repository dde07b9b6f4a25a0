"""What all environments share: the order of calls, bad input, the episode's end, saving and restoring."""

import math
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envs_mbbl.drawing import Picture
from envs_mbbl.tasks import Task

Floats = NDArray[np.float64]
Components = Floats | tuple[float, ...]

NEW, RUNNING, ENDED = "new", "running", "ended"


class MbblEnv(gymnasium.Env[Floats, Any]):
    """One task of MBBL. A simulator class says what the physics are; the task says everything else.

    A simulator implements `_reset_physics`, `_advance`, `_get_physics`, `_set_physics` and `_draw`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (gymnasium's own convention)
    observation_bounds: ClassVar[tuple[float, ...] | None] = None  # of |obs|, where the physics have bounds

    def __init__(self, task: Task, render_mode: str | None = None, raw_actions: bool = False) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode={render_mode!r}: envs_mbbl renders 'rgb_array' only")
        self.task = task
        self.render_mode = render_mode
        self.raw_actions = raw_actions
        self.observation_space = gymnasium.spaces.Box(*self._observation_limits(), dtype=np.float64)
        bound = task.action_bound if raw_actions else 1.0
        self.action_space = gymnasium.spaces.Box(-bound, bound, (task.action_dim,), np.float32)
        self._reward = task.reward_formula
        self._fallen = task.termination_formula
        self._action_shape = (task.action_dim,)
        self._phase = NEW
        self._elapsed = 0
        self._observation: Components = np.zeros(task.observation_dim)

    # --- gymnasium's interface ---

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        super().reset(seed=seed)
        self._observation = self._reset_physics()
        self._phase = RUNNING
        self._elapsed = 0
        return np.array(self._observation), {}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        if self._phase != RUNNING:
            raise RuntimeError(f"{self.task.name}: {self._what_to_do()}")
        control = self._control(action)
        reward = float(self._reward(self._observation, control))  # on the start state
        observation = self._advance(control)
        self._observation = observation
        self._elapsed += 1
        terminated = self._fallen is not None and bool(self._fallen(observation))
        truncated = not terminated and self._elapsed >= self.task.horizon
        if terminated or truncated:
            self._phase = ENDED
        return np.array(observation), reward, terminated, truncated, {}  # a copy: callers may change theirs

    def render(self) -> Picture:
        if self.render_mode is None:
            raise RuntimeError(f"{self.task.name}: make it with render_mode='rgb_array' to render")
        if self._phase == NEW:
            raise RuntimeError(f"{self.task.name}: {self._what_to_do()}")
        return self._draw()

    # --- saving and restoring ---

    def get_state(self) -> dict[str, Any]:
        """All that the future depends on: after `set_state`, in any process, every bit is the same."""
        return {
            "task": self.task.name,
            "phase": self._phase,
            "elapsed": self._elapsed,
            "observation": np.array(self._observation),
            "physics": self._get_physics(),
            "np_random": dict(self.np_random.bit_generator.state),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        if state["task"] != self.task.name:
            raise ValueError(f"{self.task.name}: this is a state of {state['task']}")
        self._phase = str(state["phase"])
        self._elapsed = int(state["elapsed"])
        self._observation = np.array(state["observation"], dtype=np.float64)
        self._set_physics(np.array(state["physics"], dtype=np.float64))
        self.np_random.bit_generator.state = state["np_random"]

    # --- bad input: the same in all tasks ---

    def _control(self, action: Any) -> Any:
        """The action in MBBL's units. `ValueError` unless it has the right shape and finite real numbers."""
        array = self._checked(action)
        values = array.tolist()  # on so few numbers Python's own functions are faster than numpy's
        if not math.isfinite(sum(values)) and not all(map(math.isfinite, values)):
            raise self._not_finite(action)
        array = array.astype(np.float64)
        if self.raw_actions:
            return array
        inside = min(values) >= -1.0 and max(values) <= 1.0
        return self.task.scaled(array) if inside else self.task.control(array)

    def _checked(self, action: Any) -> NDArray[Any]:
        try:
            array = action if type(action) is np.ndarray else np.asarray(action)
        except ValueError as error:
            raise ValueError(f"{self.task.name}: action {action!r} is not an array") from error
        if array.shape != self._action_shape:
            raise ValueError(f"{self.task.name}: action of shape {array.shape}, not {self._action_shape}")
        if array.dtype.kind not in "fiu":
            raise ValueError(f"{self.task.name}: action of dtype {array.dtype}, not of real numbers")
        return array

    def _not_finite(self, action: Any) -> ValueError:
        return ValueError(f"{self.task.name}: action {action} at step {self._elapsed} is not finite")

    def _what_to_do(self) -> str:
        return "the episode has ended: call reset()" if self._phase == ENDED else "call reset() first"

    # --- what a simulator says ---

    def _observation_limits(self) -> tuple[Floats, Floats]:
        bounds = self.observation_bounds or (math.inf,) * self.task.observation_dim
        high = np.array(bounds, dtype=np.float64)
        return -high, high

    def _reset_physics(self) -> Components:
        """Draw a start state with `self.np_random`; return its observation."""
        raise NotImplementedError

    def _advance(self, control: Any) -> Components:
        """One step of the physics; return the observation, as a new array or as a tuple."""
        raise NotImplementedError

    def _get_physics(self) -> Floats:
        raise NotImplementedError

    def _set_physics(self, physics: Floats) -> None:
        raise NotImplementedError

    def _draw(self) -> Picture:
        raise NotImplementedError
