"""The 18 tasks of MBBL (Wang et al. 2019, arXiv 1907.02057): what each one is, in one table.

Light to import: neither gymnasium, nor MuJoCo, nor torch. `envs_mbbl.make(name)` makes the environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from envs_mbbl import formulas
from envs_mbbl.formulas import Array, Reward, Termination, components, library


@dataclass(frozen=True)
class Task:
    """What an agent or a planner must know about a task."""

    name: str  # MBBL's name
    paper_name: str | None  # the SPEDE paper's name; None if it has no figure for the task
    mbbl_id: str  # the name in MBBL's code
    observation_dim: int
    action_dim: int
    horizon: int  # steps until an episode is truncated
    simulator: str  # module:class of envs_mbbl
    reward_formula: Reward
    termination_formula: Termination | None = None
    action_bound: float = 1.0  # MBBL's box is [-bound, bound]; an agent's is always [-1, 1]

    @property
    def early_termination(self) -> bool:
        return self.termination_formula is not None

    def control(self, action: Array) -> Array:
        """MBBL's units for an agent's action, which is clipped to [-1, 1]."""
        return self.scaled(action.clip(-1.0, 1.0))

    def scaled(self, action: Array) -> Array:
        return action if self.action_bound == 1.0 else self.action_bound * action

    def reward(self, obs: Array, action: Array) -> Array:
        """r(s_t, a_t): on the START state; the action in [-1, 1], clipped to it as `step` does.

        Batched over any leading axes, for numpy and torch, differentiable in torch.
        """
        return self.native_reward(obs, self.control(action))

    def native_reward(self, obs: Array, control: Array) -> Array:
        """`reward` for an action in MBBL's units, which may lie outside the box."""
        self._check_width("observation", obs, self.observation_dim)
        self._check_width("action", control, self.action_dim)
        reward = self.reward_formula(components(obs), components(control))
        if obs.shape[:-1] == control.shape[:-1]:
            return reward
        # One state with many actions, say: a formula that ignores the action must not lose its axes.
        shape = np.broadcast_shapes(tuple(obs.shape[:-1]), tuple(control.shape[:-1]))
        return library(obs).broadcast_to(reward, shape)

    def terminated(self, obs: Array) -> Array:
        """Whether an episode ends, by a fall, in this END state. Batched over any leading axes."""
        self._check_width("observation", obs, self.observation_dim)
        if self.termination_formula is None:
            return library(obs).zeros_like(obs[..., 0], dtype=bool)
        return self.termination_formula(components(obs))

    def _check_width(self, what: str, x: Array, dim: int) -> None:
        if x.shape[-1:] != (dim,):
            raise ValueError(f"{self.name}: {what} of shape {tuple(x.shape)}, not (..., {dim})")


_ALL = (
    Task("Pendulum", "Pendulum", "gym_pendulum", 3, 1, 200, "classic:Pendulum", formulas.pendulum),
    Task("InvertedPendulum", "I-Pendulum", "gym_invertedPendulum", 4, 1, 100, "locomotion:InvertedPendulum",
         formulas.inverted_pendulum, action_bound=3.0),
    Task("Acrobot", "Acrobot", "gym_acrobot", 6, 1, 200, "classic:Acrobot", formulas.acrobot),
    Task("CartPole", "Cartpole", "gym_cartpole", 4, 1, 200, "classic:CartPole", formulas.cart_pole),
    Task("MountainCar", "MountainCar", "gym_mountain", 2, 1, 200, "classic:MountainCar",
         formulas.mountain_car),
    Task("Reacher", "Reacher", "gym_reacher", 11, 2, 50, "reacher:Reacher", formulas.reacher),
    Task("HalfCheetah", None, "gym_cheetah", 17, 6, 1000, "locomotion:HalfCheetah",
         partial(formulas.forward, velocity=8, control_cost=0.1)),
    Task("Swimmer-v0", "Swimmer", "gym_swimmer", 8, 2, 1000, "locomotion:Swimmer",
         partial(formulas.forward, velocity=3, control_cost=1e-4)),
    Task("Swimmer", None, "gym_fswimmer", 9, 2, 1000, "locomotion:NoseSwimmer",
         partial(formulas.forward, velocity=8, control_cost=1e-4)),
    Task("Ant", None, "gym_ant", 27, 8, 1000, "locomotion:Ant",
         partial(formulas.upright, velocity=13, height=0.57)),
    Task("Ant-ET", "Ant-ET", "gym_fant", 27, 8, 1000, "locomotion:Ant",
         partial(formulas.upright, velocity=13, height=0.57, fallen=formulas.ant_fallen), formulas.ant_fallen),
    Task("Walker2D", None, "gym_walker2d", 17, 6, 1000, "locomotion:Walker2D",
         partial(formulas.upright, velocity=8, height=1.3)),
    Task("Walker2D-ET", "Walker-ET", "gym_fwalker2d", 17, 6, 1000, "locomotion:Walker2D",
         partial(formulas.upright, velocity=8, height=1.3, fallen=formulas.walker_fallen), formulas.walker_fallen),
    Task("Hopper", None, "gym_hopper", 11, 3, 1000, "locomotion:Hopper",
         partial(formulas.upright, velocity=5, height=1.3)),
    Task("Hopper-ET", "Hopper-ET", "gym_fhopper", 11, 3, 1000, "locomotion:Hopper",
         partial(formulas.upright, velocity=5, height=1.3, fallen=formulas.hopper_fallen), formulas.hopper_fallen),
    Task("SlimHumanoid", None, "gym_nostopslimhumanoid", 45, 17, 1000, "humanoid:SlimHumanoid",
         formulas.slim_humanoid, action_bound=0.4),
    Task("SlimHumanoid-ET", "S-Humanoid-ET", "gym_slimhumanoid", 45, 17, 1000, "humanoid:SlimHumanoid",
         formulas.slim_humanoid, formulas.humanoid_fallen, action_bound=0.4),
    Task("Humanoid-ET", "Humanoid-ET", "gym_humanoid", 376, 17, 1000, "humanoid:Humanoid",
         formulas.humanoid, formulas.humanoid_fallen, action_bound=0.4),
)  # fmt: skip

TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _ALL})
