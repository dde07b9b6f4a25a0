"""Playing episodes in the true regulator, for many prior draws at once, with common random numbers.

All agents of an experiment meet the same true models, the same initial states and the same noise, so that
their difference is a paired difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.theory.dynamic_programming import Actions, evaluate, evaluate_stochastic, plan
from analysis.theory.regulator import Regulator

Array = NDArray[np.float64]
TIE_BREAK = 1e-9


@dataclass(frozen=True)
class World:
    """The true models of I prior draws and everything that chance decides outside the agent."""

    problem: Regulator
    theta_ID: Array
    f_ISA: Array
    T_ISAC: Array
    V_star_IS: Array
    start_KI: Actions
    noise_KHI: Array

    @property
    def draws(self) -> int:
        return int(self.theta_ID.shape[0])

    @property
    def episodes(self) -> int:
        return int(self.start_KI.shape[0])


@dataclass(frozen=True)
class Trajectories:
    """One episode of each draw."""

    cell_HI: Actions
    action_HI: Actions
    next_state_HI: Array


def make_world(problem: Regulator, theta_ID: Array, episodes: int, rng: np.random.Generator) -> World:
    f_ISA = problem.f(theta_ID)
    T_ISAC = problem.transition(f_ISA)
    draws = theta_ID.shape[0]
    return World(
        problem=problem,
        theta_ID=theta_ID,
        f_ISA=f_ISA,
        T_ISAC=T_ISAC,
        V_star_IS=plan(T_ISAC, problem.r_SA, problem.horizon).V_HIS[0],
        start_KI=rng.choice(problem.start_states, size=(episodes, draws)),
        noise_KHI=problem.sigma * rng.standard_normal((episodes, problem.horizon, draws)),
    )


def play(world: World, episode: int, pi_HIS: Actions) -> Trajectories:
    """s_{h+1} = f*(s_h, a_h) + epsilon_h with a_h = pi_h(s_h); the state is a real number throughout."""
    problem, draw_I = world.problem, np.arange(world.draws)
    cell_HI = np.zeros((problem.horizon, world.draws), dtype=np.int64)
    action_HI = np.zeros_like(cell_HI)
    next_state_HI = np.zeros((problem.horizon, world.draws))
    cell_I = world.start_KI[episode]
    for h in range(problem.horizon):
        cell_HI[h], action_HI[h] = cell_I, pi_HIS[h, draw_I, cell_I]
        next_state_HI[h] = world.f_ISA[draw_I, cell_I, action_HI[h]] + world.noise_KHI[episode, h]
        cell_I = problem.cell_of(next_state_HI[h])
    return Trajectories(cell_HI, action_HI, next_state_HI)


def regret_of(world: World, episode: int, pi_HIS: Actions) -> Array:
    """V*_0(s_0^k) - V^pi_0(s_0^k) under the true model, exactly (Eq. 8), not from the sampled return."""
    V_IS = evaluate(world.T_ISAC, world.problem.r_SA, pi_HIS)[0]
    draw_I = np.arange(world.draws)
    return (world.V_star_IS - V_IS)[draw_I, world.start_KI[episode]]


def random_play_regret(world: World) -> Array:
    """Regret of drawing every action uniformly; it learns nothing, so it needs no simulation."""
    problem = world.problem
    states, actions = problem.r_SA.shape
    uniform_HSA = np.full((problem.horizon, states, actions), 1.0 / actions)
    V_IS = evaluate_stochastic(world.T_ISAC, problem.r_SA, uniform_HSA)[0]
    return (world.V_star_IS - V_IS)[np.arange(world.draws), world.start_KI]


def optimal_policy(problem: Regulator, f_ISA: Array, rng: np.random.Generator) -> Actions:
    """Algorithm 2 on given models. Exact ties (all actions, at the prior mean) are broken at random."""
    r_ISA = problem.r_SA + TIE_BREAK * rng.random(f_ISA.shape)
    return plan(problem.transition(f_ISA), r_ISA, problem.horizon).pi_HIS
