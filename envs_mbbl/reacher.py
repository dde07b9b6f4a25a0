"""The two-link arm that reaches for a target."""

from math import cos, sin

import numpy as np

from envs_mbbl.base import Floats
from envs_mbbl.simulation import MujocoEnv
from envs_mbbl.tasks import Task


class Reacher(MujocoEnv):
    model_file = "reacher.xml"
    frame_skip = 2
    camera = {"lookat": (0.0, 0.0, 0.0), "distance": 0.9, "elevation": -90.0, "azimuth": 90.0}  # noqa: RUF012
    observation_bounds = (1.0, 1.0, 1.0, 1.0, *(float("inf"),) * 7)

    def __init__(self, task: Task, render_mode: str | None = None, raw_actions: bool = False) -> None:
        super().__init__(task, render_mode, raw_actions)
        self._fingertip: Floats = self.data.body("fingertip").xpos
        self._target: Floats = self.data.body("target").xpos

    def _reset_noise(self) -> tuple[Floats, Floats]:
        joints = self.np_random.uniform(-0.1, 0.1, 2)
        goal = self.np_random.uniform(-0.2, 0.2, 2)  # on the whole square, as in gym 0.7.4
        velocities = self.np_random.uniform(-0.005, 0.005, 2)
        qpos = np.concatenate((joints, goal))
        # The goal is a place, not noise on the place that the model file gives the target.
        qpos[2:] -= self._start_qpos[2:]
        return qpos, np.concatenate((velocities, (0.0, 0.0)))

    def _observe(self) -> Floats:
        q0, q1, goal_x, goal_y = self._qpos.tolist()
        v0, v1, _, _ = self._qvel.tolist()
        dx, dy, dz = (self._fingertip - self._target).tolist()
        return np.array((cos(q0), cos(q1), sin(q0), sin(q1), goal_x, goal_y, v0, v1, dx, dy, dz))
