"""The four tasks with equations of motion of their own. Angles are in radians.

States are tuples of floats and functions are those of `math`: for single numbers numpy is slow.
"""

import math
from math import cos, pi, sin
from typing import Any, ClassVar

import numpy as np

from envs_mbbl.base import Floats, MbblEnv
from envs_mbbl.drawing import BLACK, BLUE, GREY, RED, TAN, Canvas, Picture
from envs_mbbl.tasks import Task

State = tuple[float, ...]


class ClassicEnv(MbblEnv):
    """A task whose whole physical state is a tuple of floats, and whose action is one number."""

    DT: ClassVar[float]  # seconds per step

    def __init__(self, task: Task, render_mode: str | None = None, raw_actions: bool = False) -> None:
        super().__init__(task, render_mode, raw_actions)
        self._state: State = ()
        self.metadata = self.metadata | {"render_fps": round(1 / self.DT)}

    def _control(self, action: Any) -> tuple[float]:
        a: float = self._checked(action).item()
        if not math.isfinite(a):
            raise self._not_finite(action)
        # MBBL's box is [-1, 1] in all of these tasks: this is Task.control for one number.
        return (a if self.raw_actions else _clipped(a, 1.0),)

    def _get_physics(self) -> Floats:
        return np.array(self._state, dtype=np.float64)

    def _set_physics(self, physics: Floats) -> None:
        self._state = tuple(physics.tolist())


def _clipped(x: float, bound: float) -> float:
    return -bound if x < -bound else bound if x > bound else x


class Pendulum(ClassicEnv):
    """State: the angle (0 is upright) and its velocity."""

    observation_bounds = (1.0, 1.0, 8.0)
    DT = 0.05

    def _reset_physics(self) -> State:
        self._state = tuple(self.np_random.uniform([-pi, -1.0], [pi, 1.0]).tolist())
        return self._observe()

    def _advance(self, control: tuple[float]) -> State:
        angle, velocity = self._state
        torque = _clipped(2.0 * control[0], 2.0)
        velocity += (15.0 * sin(angle) + 3.0 * torque) * self.DT
        angle += velocity * self.DT  # as in gym 0.7.4: before the velocity is clipped
        self._state = angle, _clipped(velocity, 8.0)
        return self._observe()

    def _observe(self) -> State:
        angle, velocity = self._state
        return cos(angle), sin(angle), velocity

    def _draw(self) -> Picture:
        canvas = Canvas(height=2.6)
        angle = self._state[0]
        canvas.line((0.0, 0.0), (-sin(angle), cos(angle)), 0.2, RED)
        canvas.dot((0.0, 0.0), 0.07, BLACK)
        return canvas.picture()


class Acrobot(ClassicEnv):
    """State: the angle of the first link (0 hangs down), of the second to the first, and their velocities."""

    observation_bounds = (1.0, 1.0, 1.0, 1.0, 4 * pi, 9 * pi)
    DT = 0.2

    def _reset_physics(self) -> State:
        self._state = tuple(self.np_random.uniform(-0.1, 0.1, 4).tolist())
        return self._observe()

    def _advance(self, control: tuple[float]) -> State:
        torque = -1.0 if control[0] < -0.33 else 0.0 if control[0] < 0.33 else 1.0
        q0, q1, v0, v1 = self._runge_kutta(self._state, torque)
        self._state = _wrapped(q0), _wrapped(q1), _clipped(v0, 4 * pi), _clipped(v1, 9 * pi)
        return self._observe()

    def _runge_kutta(self, y: State, torque: float) -> State:
        """One classical step of order four."""
        h = self.DT
        k1 = _acrobot_derivative(y, torque)
        k2 = _acrobot_derivative(tuple(a + h / 2 * b for a, b in zip(y, k1, strict=True)), torque)
        k3 = _acrobot_derivative(tuple(a + h / 2 * b for a, b in zip(y, k2, strict=True)), torque)
        k4 = _acrobot_derivative(tuple(a + h * b for a, b in zip(y, k3, strict=True)), torque)
        slopes = zip(y, k1, k2, k3, k4, strict=True)
        return tuple(a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in slopes)

    def _observe(self) -> State:
        q0, q1, v0, v1 = self._state
        return cos(q0), sin(q0), cos(q1), sin(q1), v0, v1

    def _draw(self) -> Picture:
        canvas = Canvas(height=4.6)
        q0, q1, _, _ = self._state
        elbow = sin(q0), -cos(q0)
        tip = elbow[0] + sin(q0 + q1), elbow[1] - cos(q0 + q1)
        canvas.lines([(0.0, 0.0), elbow, tip], 0.2, BLUE)
        for joint in ((0.0, 0.0), elbow):
            canvas.dot(joint, 0.14, TAN)
        return canvas.picture()


def _acrobot_derivative(y: State, torque: float) -> State:
    """Sutton and Barto's ("book") equations for two links of length, mass and moment of inertia 1."""
    q0, q1, v0, v1 = y
    g, com = 9.8, 0.5
    d1 = com**2 + (1 + com**2 + 2 * com * cos(q1)) + 2
    d2 = com**2 + com * cos(q1) + 1
    phi2 = com * g * cos(q0 + q1 - pi / 2)
    phi1 = -com * v1**2 * sin(q1) - 2 * com * v1 * v0 * sin(q1) + (com + 1) * g * cos(q0 - pi / 2) + phi2
    acceleration1 = (torque + d2 / d1 * phi1 - com * v0**2 * sin(q1) - phi2) / (com**2 + 1 - d2**2 / d1)
    acceleration0 = -(d2 * acceleration1 + phi1) / d1
    return v0, v1, acceleration0, acceleration1


def _wrapped(angle: float) -> float:
    while angle > pi:
        angle -= 2 * pi
    while angle < -pi:
        angle += 2 * pi
    return angle


class CartPole(ClassicEnv):
    """State and observation: position, velocity, angle (0 is upright, never wrapped), angular velocity."""

    DT = 0.02
    GRAVITY = 9.8
    POLE_MASS, TOTAL_MASS, HALF_LENGTH = 0.1, 1.1, 0.5

    def _reset_physics(self) -> State:
        self._state = tuple(self.np_random.uniform(-0.05, 0.05, 4).tolist())
        return self._state

    def _advance(self, control: tuple[float]) -> State:
        x, velocity, angle, spin = self._state
        force = 10.0 if control[0] > 0 else -10.0
        c, s = cos(angle), sin(angle)
        pole = self.POLE_MASS * self.HALF_LENGTH
        push = (force + pole * spin * spin * s) / self.TOTAL_MASS
        inertia = self.HALF_LENGTH * (4.0 / 3.0 - self.POLE_MASS * c * c / self.TOTAL_MASS)
        spin_rate = (self.GRAVITY * s - c * push) / inertia
        acceleration = push - pole * spin_rate * c / self.TOTAL_MASS
        self._state = (
            x + self.DT * velocity,
            velocity + self.DT * acceleration,
            angle + self.DT * spin,
            spin + self.DT * spin_rate,
        )
        return self._state

    def _draw(self) -> Picture:
        x, _, angle, _ = self._state
        canvas = Canvas(height=3.2, centre=(x, 0.0))  # follows the cart: the track has no end
        canvas.line((x - 9.0, -0.1), (x + 9.0, -0.1), 0.02, GREY)
        for mark in range(math.floor(x) - 3, math.ceil(x) + 4):
            canvas.line((float(mark), -0.1), (float(mark), -0.2), 0.02, GREY)
        canvas.line((x - 0.2, 0.0), (x + 0.2, 0.0), 0.2, BLACK)
        canvas.line((x, 0.0), (x + sin(angle), cos(angle)), 0.08, TAN)
        return canvas.picture()


class MountainCar(ClassicEnv):
    """State and observation: position and velocity."""

    DT = 1 / 30  # only for the speed of films: the equations have no unit of time

    def _observation_limits(self) -> tuple[Floats, Floats]:
        return np.array((-1.2, -0.07)), np.array((0.6, 0.07))

    def _reset_physics(self) -> State:
        self._state = float(self.np_random.uniform(-0.6, -0.4)), 0.0
        return self._state

    def _advance(self, control: tuple[float]) -> State:
        position, velocity = self._state
        velocity += 0.0015 * _clipped(control[0], 1.0) - 0.0025 * cos(3.0 * position)
        velocity = _clipped(velocity, 0.07)
        position = min(max(position + velocity, -1.2), 0.6)
        if position == -1.2 and velocity < 0.0:
            velocity = 0.0  # only at the left wall
        self._state = position, velocity
        return self._state

    def _draw(self) -> Picture:
        canvas = Canvas(height=1.7, centre=(-0.3, 0.55))
        ground = [(x, _hill(x)) for x in np.linspace(-1.2, 0.6, 60).tolist()]
        canvas.lines(ground, 0.015, BLACK)
        canvas.line((0.45, _hill(0.45)), (0.45, _hill(0.45) + 0.2), 0.015, RED)  # gym's goal: a mark, no more
        position = self._state[0]
        canvas.dot((position, _hill(position) + 0.05), 0.1, BLUE)
        return canvas.picture()


def _hill(x: float) -> float:
    return 0.55 + 0.45 * sin(3.0 * x)
