"""What the tasks on MuJoCo share: the model of the gymnasium package, stepping, state, pictures."""

import math
from importlib.resources import as_file, files
from typing import Any, ClassVar

import mujoco
import numpy as np

from envs_mbbl.base import ENDED, Floats, MbblEnv
from envs_mbbl.drawing import MujocoCamera, Picture
from envs_mbbl.tasks import Task

INTEGRATION_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)


def load_model(file_name: str) -> mujoco.MjModel:
    """A model file that gymnasium ships, compiled."""
    with as_file(files("gymnasium.envs.mujoco") / "assets" / file_name) as path:
        spec = mujoco.MjSpec.from_file(str(path))
    # The cheetah's file has an attribute whose use makes this MuJoCo write a warning to stderr and to a log
    # file in the working directory. What it asks for instead gives the same model, bit by bit.
    total_mass = spec.compiler.settotalmass
    spec.compiler.settotalmass = -1
    # MuJoCo's answer to a diverging simulation is to start again from the initial state, silently. Not here:
    # the numbers that are not finite come out, and `step` raises an error.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    model = spec.compile()
    if total_mass > 0:
        mujoco.mj_setTotalmass(model, total_mass)
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


class MujocoEnv(MbblEnv):
    """A task on a MuJoCo model.

    `_reset_noise` draws the start state; `_observe` says what is seen.
    """

    model_file: ClassVar[str]
    frame_skip: ClassVar[int]
    camera: ClassVar[dict[str, Any] | None] = None  # settings of a free camera; None: that of the model

    def __init__(self, task: Task, render_mode: str | None = None, raw_actions: bool = False) -> None:
        super().__init__(task, render_mode, raw_actions)
        self.model = self._load()
        self.data = mujoco.MjData(self.model)
        # Views of MuJoCo's own memory: to fetch them in every step would cost more than the formulas.
        self._ctrl: Floats = self.data.ctrl
        self._qpos: Floats = self.data.qpos
        self._qvel: Floats = self.data.qvel
        self._start_qpos = self.data.qpos.copy()
        self.metadata = self.metadata | {"render_fps": round(1 / (self.model.opt.timestep * self.frame_skip))}
        self._eye: MujocoCamera | None = None

    def _load(self) -> mujoco.MjModel:
        return load_model(self.model_file)

    def _reset_physics(self) -> Floats:
        mujoco.mj_resetData(self.model, self.data)
        qpos_noise, qvel_noise = self._reset_noise()
        self._qpos[:] = self._start_qpos + qpos_noise
        self._qvel[:] = qvel_noise
        # MuJoCo 1.31 normalised quaternions in its forward pass, this one does so only when it integrates.
        mujoco.mj_normalizeQuat(self.model, self._qpos)
        mujoco.mj_forward(self.model, self.data)
        return self._observe()

    def _advance(self, control: Floats) -> Floats:
        self._ctrl[:] = control
        mujoco.mj_step(self.model, self.data, self.frame_skip)
        observation = self._observe()
        if not math.isfinite(observation.dot(observation)):
            self._phase = ENDED
            raise FloatingPointError(f"{self.task.name}: the simulation diverged at step {self._elapsed}")
        return observation

    def _get_physics(self) -> Floats:
        physics = np.empty(mujoco.mj_stateSize(self.model, INTEGRATION_STATE))
        mujoco.mj_getState(self.model, self.data, physics, INTEGRATION_STATE)
        return physics

    def _set_physics(self, physics: Floats) -> None:
        mujoco.mj_setState(self.model, self.data, physics, INTEGRATION_STATE)
        # For pictures: positions of bodies and so on. It changes the solver's warm start, hence once more.
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, physics, INTEGRATION_STATE)

    def _reset_noise(self) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _uniform_noise(self, size: float) -> tuple[Floats, Floats]:
        draw = self.np_random.uniform
        return draw(-size, size, self.model.nq), draw(-size, size, self.model.nv)

    def _observe(self) -> Floats:
        raise NotImplementedError

    def _draw(self) -> Picture:
        if self._eye is None:
            self._eye = MujocoCamera(self.model, self.camera)
        return self._eye.picture(self.data)

    def close(self) -> None:
        if self._eye is not None:
            self._eye.close()
            self._eye = None
