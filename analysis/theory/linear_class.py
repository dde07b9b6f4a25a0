"""Algorithm 1 (Thompson sampling) and its greedy twin on the linear class, with the exact posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.theory.episodes import World, make_world, optimal_policy, play, random_play_regret, regret_of
from analysis.theory.posterior import prior
from analysis.theory.regulator import Regulator

Array = NDArray[np.float64]
Agent = Literal["thompson", "greedy"]


@dataclass(frozen=True)
class Played:
    """Regret of each episode, and how many different policies each draw's agent used."""

    regret_KI: Array
    policies_I: NDArray[np.int64]


def draw_world(problem: Regulator, draws: int, episodes: int, seed: int) -> World:
    """True models drawn from the prior that the agents know."""
    rng = np.random.default_rng([seed, 0])
    theta_ID = problem.prior_scale * rng.standard_normal((draws, problem.feature_count))
    return make_world(problem, theta_ID, episodes, rng)


def learn(world: World, agent: Agent, seed: int) -> Played:
    """Algorithm 1. The greedy agent plans on the posterior mean where Thompson sampling plans on a sample.

    The listing samples f_k from P(f | H_k) before H_k exists; it is read as P(f | H_{k-1}).
    """
    problem, draw_I = world.problem, np.arange(world.draws)
    rng = np.random.default_rng([seed, 1])
    posterior = prior(world.draws, problem.feature_count, 1, problem.prior_scale, problem.sigma)
    regret_KI = np.zeros((world.episodes, world.draws))
    seen: list[set[bytes]] = [set() for _ in draw_I]
    for k in range(world.episodes):
        theta_ID1 = posterior.sample(rng) if agent == "thompson" else posterior.mean()
        pi_HIS = optimal_policy(problem, problem.f(theta_ID1[:, :, 0]), rng)
        regret_KI[k] = regret_of(world, k, pi_HIS)
        steps = play(world, k, pi_HIS)
        varphi_HID = problem.varphi_SAD[steps.cell_HI, steps.action_HI]
        posterior = posterior.updated(varphi_HID.swapaxes(0, 1), steps.next_state_HI.T[:, :, None])
        for i in draw_I:
            seen[i].add(pi_HIS[:, i].tobytes())
    return Played(regret_KI, np.array([len(policies) for policies in seen]))


def play_randomly(world: World) -> Played:
    return Played(random_play_regret(world), np.zeros(world.draws, dtype=np.int64))
