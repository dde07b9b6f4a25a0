"""The humanoids: observed by their joints alone (slim), or also by inertias, velocities and forces."""

import math

import mujoco

from envs_mbbl.base import Floats
from envs_mbbl.locomotion import JointEnv
from envs_mbbl.simulation import load_model
from envs_mbbl.tasks import Task


class SlimHumanoid(JointEnv):
    model_file = "humanoid.xml"
    frame_skip = 5
    hidden = 2

    def _load(self) -> mujoco.MjModel:
        model = load_model(self.model_file)
        model.joint("left_hip_y").range[0] = math.radians(-120)  # as in gym 0.7.4; gymnasium's has -110
        return model

    def _reset_noise(self) -> tuple[Floats, Floats]:
        return self._uniform_noise(0.01)


class Humanoid(SlimHumanoid):
    """Observes the world body too, as gym 0.7.4 did: 22 + 23 + 140 + 84 + 23 + 84 = 376 numbers."""

    def __init__(self, task: Task, render_mode: str | None = None, raw_actions: bool = False) -> None:
        super().__init__(task, render_mode, raw_actions)
        data = self.data
        self._observed += (
            data.cinert.reshape(-1),
            data.cvel.reshape(-1),
            data.qfrc_actuator,
            data.cfrc_ext.reshape(-1),
        )

    def _observe(self) -> Floats:
        mujoco.mj_rnePostConstraint(self.model, self.data)  # mj_step leaves the contact forces at zero
        return super()._observe()
