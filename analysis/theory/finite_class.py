"""A finite class of models, small enough to maximise over: the UCB algorithm of the appendix, exactly.

Every model's optimal policy, and its value under every other model, is computed once; an episode then only
plays. The prior is uniform over the class, so Thompson sampling is exact as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.theory.dynamic_programming import Actions, evaluate, plan
from analysis.theory.episodes import World, make_world, optimal_policy, play, regret_of
from analysis.theory.regulator import Regulator

Array = NDArray[np.float64]
Agent = Literal["thompson", "ucb", "greedy"]


@dataclass(frozen=True)
class FiniteClass:
    """N models with their optimal values and policies, and the value of policy i under model j."""

    problem: Regulator
    f_NSA: Array
    V_star_NS: Array
    pi_HNS: Actions
    value_of_policy_under_NNS: Array

    @property
    def size(self) -> int:
        return int(self.f_NSA.shape[0])


@dataclass(frozen=True)
class History:
    """Sufficient statistics of all transitions so far: squared loss of each model, visits of each (s, a)."""

    loss_IN: Array
    visits_ISA: Array


def tabulate(problem: Regulator, theta_ND: Array) -> FiniteClass:
    f_NSA = problem.f(theta_ND)
    T_NSAC = problem.transition(f_NSA)
    optimal = plan(T_NSAC, problem.r_SA, problem.horizon)
    size = len(theta_ND)
    values = [
        evaluate(np.broadcast_to(T_SAC, (size, *T_SAC.shape)), problem.r_SA, optimal.pi_HIS)[0]
        for T_SAC in T_NSAC
    ]
    return FiniteClass(problem, f_NSA, optimal.V_HIS[0], optimal.pi_HIS, np.stack(values, axis=1))


def squared_distances(models: FiniteClass, visits_ISA: Array, centre_I: Actions) -> Array:
    """||f_n - f_centre||^2_{2,E_K} for every model n: a sum over the visited state-action pairs."""
    draws = len(visits_ISA)
    f_NX = models.f_NSA.reshape(models.size, -1)
    visits_IX = visits_ISA.reshape(draws, -1)
    centre_IX = f_NX[centre_I]
    squares_IN = visits_IX @ (f_NX**2).T - 2.0 * (visits_IX * centre_IX) @ f_NX.T
    squares_IN += np.sum(visits_IX * centre_IX**2, axis=1, keepdims=True)
    return np.maximum(squares_IN, 0.0)


def optimistic_models(models: FiniteClass, history: History, start_I: Actions, beta: float) -> Actions:
    """Line "Optimistic Planning" of the UCB algorithm: argmax of V*_f(s_0) over the confidence set F_k."""
    least_squares_I = history.loss_IN.argmin(axis=1)
    inside_IN = squared_distances(models, history.visits_ISA, least_squares_I) <= beta
    inside_IN[np.arange(len(least_squares_I)), least_squares_I] = (
        True  # its own distance is 0, up to rounding
    )
    value_IN = models.V_star_NS[:, start_I].T
    return np.where(inside_IN, value_IN, -np.inf).argmax(axis=1)


def posterior_weights(models: FiniteClass, history: History) -> Array:
    """P(f | H) from the uniform prior: proportional to exp(-loss / 2 sigma^2)."""
    log_IN = -history.loss_IN / (2.0 * models.problem.sigma**2)
    weight_IN = np.exp(log_IN - log_IN.max(axis=1, keepdims=True))
    return weight_IN / weight_IN.sum(axis=1, keepdims=True)


def draw_world(problem: Regulator, theta_ND: Array, repeats: int, episodes: int, seed: int) -> World:
    """Every model of the class is the truth equally often: the uniform prior, stratified."""
    return make_world(
        problem, np.repeat(theta_ND, repeats, axis=0), episodes, np.random.default_rng([seed, 0])
    )


def learn(models: FiniteClass, world: World, repeats: int, agent: Agent, beta: float, seed: int) -> Array:
    """The regret of each episode and draw, regret_KI; `beta` is used by UCB only."""
    draw_I, truth_I = np.arange(world.draws), np.arange(world.draws) // repeats
    rng = np.random.default_rng([seed, 1])
    history = History(
        np.zeros((world.draws, models.size)), np.zeros((world.draws, *models.problem.r_SA.shape))
    )
    regret_KI = np.zeros((world.episodes, world.draws))
    for k in range(world.episodes):
        start_I = world.start_KI[k]
        if agent == "greedy":
            mean_ISA = np.tensordot(posterior_weights(models, history), models.f_NSA, axes=1)
            pi_HIS = optimal_policy(models.problem, mean_ISA, rng)
            regret_KI[k] = regret_of(world, k, pi_HIS)
        else:
            if agent == "ucb":
                chosen_I = optimistic_models(models, history, start_I, beta)
            else:
                cumulative_IN = posterior_weights(models, history).cumsum(axis=1)
                chosen_I = (
                    (cumulative_IN < rng.random((world.draws, 1))).sum(axis=1).clip(max=models.size - 1)
                )
            pi_HIS = models.pi_HNS[:, chosen_I]
            played_I = models.value_of_policy_under_NNS[chosen_I, truth_I, start_I]
            regret_KI[k] = world.V_star_IS[draw_I, start_I] - played_I
        history = _extended(history, models, world, k, pi_HIS)
    return regret_KI


def _extended(history: History, models: FiniteClass, world: World, episode: int, pi_HIS: Actions) -> History:
    steps = play(world, episode, pi_HIS)
    predicted_NHI = models.f_NSA[:, steps.cell_HI, steps.action_HI]
    loss_IN = history.loss_IN + np.sum((predicted_NHI - steps.next_state_HI) ** 2, axis=1).T
    visits_ISA = history.visits_ISA.copy()
    draw_HI = np.broadcast_to(np.arange(world.draws), steps.cell_HI.shape)
    np.add.at(visits_ISA, (draw_HI, steps.cell_HI, steps.action_HI), 1.0)
    return History(loss_IN, visits_ISA)
