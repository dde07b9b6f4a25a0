"""The inverted pendulum, the walkers and the swimmers: observed by their joints, not by where they are."""

from math import cos
from typing import ClassVar

import numpy as np

from envs_mbbl.base import Floats
from envs_mbbl.simulation import MujocoEnv
from envs_mbbl.tasks import Task


class JointEnv(MujocoEnv):
    """Observes qpos without its first entries (the place), then qvel. Nothing is clipped."""

    hidden: ClassVar[int]  # how many entries of qpos are the place

    def __init__(self, task: Task, render_mode: str | None = None, raw_actions: bool = False) -> None:
        super().__init__(task, render_mode, raw_actions)
        self._observed: tuple[Floats, ...] = (self._qpos[self.hidden :], self._qvel)  # views

    def _observe(self) -> Floats:
        return np.concatenate(self._observed)


class InvertedPendulum(JointEnv):
    model_file = "inverted_pendulum.xml"
    frame_skip = 2
    hidden = 0
    camera = {"lookat": (0.0, 0.0, 0.1), "distance": 2.2, "elevation": -10.0, "azimuth": 90.0}  # noqa: RUF012

    def _reset_noise(self) -> tuple[Floats, Floats]:
        return self._uniform_noise(0.01)


class HalfCheetah(JointEnv):
    model_file = "half_cheetah.xml"
    frame_skip = 5
    hidden = 1

    def _reset_noise(self) -> tuple[Floats, Floats]:
        positions = self.np_random.uniform(-0.1, 0.1, self.model.nq)
        return positions, 0.1 * self.np_random.standard_normal(self.model.nv)


class Swimmer(JointEnv):
    model_file = "swimmer.xml"
    frame_skip = 4
    hidden = 2

    def _reset_noise(self) -> tuple[Floats, Floats]:
        return self._uniform_noise(0.1)


class NoseSwimmer(Swimmer):
    """MBBL's own swimmer: the same body, with a sensor of its nose's forward velocity over the last step.

    Before the first step that is 0. (In MBBL it is what the previous episode left.)
    """

    NOSE = 1.5  # from the joint of the head to its tip
    DT = 0.04

    def _reset_physics(self) -> Floats:
        return np.append(super()._reset_physics(), 0.0)

    def _advance(self, control: Floats) -> Floats:
        before = self._nose()
        joints = super()._advance(control)
        return np.append(joints, (self._nose() - before) / self.DT)

    def _nose(self) -> float:
        return float(self._qpos[0]) + self.NOSE * cos(self._qpos[2])


class Ant(JointEnv):
    model_file = "ant.xml"
    frame_skip = 5
    hidden = 2

    def _reset_noise(self) -> tuple[Floats, Floats]:
        positions = self.np_random.uniform(-0.1, 0.1, self.model.nq)
        return positions, 0.1 * self.np_random.standard_normal(self.model.nv)


class Walker2D(JointEnv):
    model_file = "walker2d.xml"  # not walker2d_v5.xml, whose right foot has another friction
    frame_skip = 4
    hidden = 1

    def _reset_noise(self) -> tuple[Floats, Floats]:
        return self._uniform_noise(0.005)


class Hopper(JointEnv):
    model_file = "hopper.xml"
    frame_skip = 4
    hidden = 1

    def _reset_noise(self) -> tuple[Floats, Floats]:
        return self._uniform_noise(0.005)
