"""The rewards and terminations of the 18 tasks, each written once.

A formula sees a state and an action by their components: `s[i]` is a number for one state and an array for
a batch of states, of numpy or of torch. So the same line serves `step`, a planner with a batch of imagined
states, and a gradient. Actions are in MBBL's own units (`Task.control` makes them from those of the agent).
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any  # a numpy array or a torch tensor
Reward = Callable[[Array, Array], Array]
Termination = Callable[[Array], Array]


def library(x: Array) -> Any:
    """torch for a tensor, else numpy. (torch is not imported for this: a tensor cannot exist without it.)"""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else np


def components(x: Array) -> Array:
    """The last axis first."""
    return x if x.ndim == 1 else library(x).moveaxis(x, -1, 0)


def number(condition: Array, s: Array) -> Array:
    """1 or 0, of the type of the state's components."""
    return condition.astype(s.dtype) if library(s) is np else condition.to(s.dtype)


def sum_of_squares(x: Array) -> Array:
    return x.dot(x) if x.ndim == 1 else (x * x).sum(0)


def length(x: Array) -> Array:
    """Of a vector. torch's own function has gradient 0, not NaN, at the zero vector."""
    return np.sqrt(sum_of_squares(x)) if library(x) is np else library(x).linalg.vector_norm(x, dim=0)


# --- the small tasks ---


def pendulum(s: Array, a: Array) -> Array:
    """Rewarded for hanging down and keeping still: s[0] is the cosine of an angle that is 0 upright."""
    torque = 2.0 * a[0]
    return -(s[0] + 0.1 * abs(s[1]) + 0.1 * s[2] * s[2] + 0.001 * torque * torque)


def inverted_pendulum(s: Array, a: Array) -> Array:
    return -s[1] * s[1]


def acrobot(s: Array, a: Array) -> Array:
    """The height of the tip, -cos(q0) - cos(q0 + q1)."""
    return -(s[0] + s[0] * s[2] - s[1] * s[3])


def cart_pole(s: Array, a: Array) -> Array:
    return library(s[2]).cos(s[2]) - 0.01 * s[0] * s[0]


def mountain_car(s: Array, a: Array) -> Array:
    """The position itself: MBBL has neither the goal's bonus nor a cost of the action."""
    return 1.0 * s[0]


def reacher(s: Array, a: Array) -> Array:
    """s[8:11] is the way from the target to the fingertip."""
    return -length(s[8:11]) - sum_of_squares(a)


# --- locomotion ---


def forward(s: Array, a: Array, *, velocity: int, control_cost: float) -> Array:
    """The velocity in s[velocity], less a cost of the action."""
    return s[velocity] - control_cost * sum_of_squares(a)


def upright(s: Array, a: Array, *, velocity: int, height: float, fallen: Termination | None = None) -> Array:
    """Also for a torso near a height, and 1 for being alive: always, or unless the start state is fallen."""
    low = s[0] - height
    alive = 1.0 if fallen is None else number(~fallen(s), s)
    return s[velocity] - 3.0 * low * low - 0.1 * sum_of_squares(a) + alive


def slim_humanoid(s: Array, a: Array) -> Array:
    """5 is paid while the start state stands, in the task without early termination too."""
    standing = (s[0] >= 1.0) & (s[0] <= 2.0)
    return (0.25 / 0.015) * s[22] - 0.1 * sum_of_squares(a) + 5.0 * number(standing, s)


def humanoid(s: Array, a: Array) -> Array:
    """The last 84 components are the contact forces on the 14 bodies."""
    return slim_humanoid(s, a) - (5e-7 * sum_of_squares(s[-84:])).clip(max=10.0)


# --- early termination, on the end state ---


def ant_fallen(s: Array) -> Array:
    return (s[0] > 1.0) | (s[0] < 0.2)


def walker_fallen(s: Array) -> Array:
    return (s[0] >= 2.0) | (s[0] <= 0.8) | (abs(s[1]) >= 1.0)


def hopper_fallen(s: Array) -> Array:
    return (s[0] <= 0.7) | (abs(s[1]) >= 0.2)


def humanoid_fallen(s: Array) -> Array:
    return (s[0] < 1.0) | (s[0] > 2.0)
