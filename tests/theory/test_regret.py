"""Algorithm 1, the UCB algorithm, greedy and random play."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.theory import finite_class, linear_class
from analysis.theory.dynamic_programming import evaluate, plan
from analysis.theory.episodes import make_world, play
from analysis.theory.finite_class import FiniteClass, History
from analysis.theory.regulator import variants
from analysis.theory.tables import Array

DRAWS, EPISODES = 8, 40
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def models() -> tuple[FiniteClass, Array]:
    problem = variants()["B"]
    theta = problem.prior_scale * np.random.default_rng(0).standard_normal((12, problem.feature_count))
    return finite_class.tabulate(problem, theta), theta


@pytest.mark.parametrize("variant", ["A", "B", "C", "D"])
@pytest.mark.parametrize("agent", ["thompson", "greedy"])
def test_regret_is_never_negative_and_repeats_exactly(variant: str, agent: linear_class.Agent) -> None:
    runs = [
        linear_class.learn(linear_class.draw_world(variants()[variant], DRAWS, EPISODES, 5), agent, 5)
        for _ in range(2)
    ]
    assert runs[0].regret_KI.min() > -ROUNDING
    assert np.array_equal(runs[0].regret_KI, runs[1].regret_KI)


def test_thompson_sampling_learns_and_random_play_does_not() -> None:
    world = linear_class.draw_world(variants()["A"], 16, 60, 6)
    learned = linear_class.learn(world, "thompson", 6).regret_KI.mean(axis=1)
    assert learned[-10:].mean() < 0.15 * learned[:3].mean()
    never = linear_class.play_randomly(world).regret_KI.mean(axis=1)
    assert never[-10:].mean() == pytest.approx(never[:10].mean(), rel=0.2)


def test_greedy_locks_itself_in_on_the_traps_and_nowhere_else() -> None:
    shares = {
        name: np.mean(
            linear_class.learn(linear_class.draw_world(problem, DRAWS, 20, 7), "greedy", 7).policies_I == 1
        )
        for name, problem in variants().items()
    }
    assert shares == {"A": 1.0, "B": 0.0, "C": 0.0, "D": 1.0}


def test_exact_values_are_the_mean_of_played_returns() -> None:
    problem = variants()["D"]
    draws, episodes = 400, 50
    theta = problem.prior_scale * np.random.default_rng(8).standard_normal((1, problem.feature_count))
    world = make_world(problem, np.repeat(theta, draws, axis=0), episodes, np.random.default_rng(9))
    pi_H1S = plan(problem.transition(problem.f(theta)), problem.r_SA, problem.horizon).pi_HIS
    pi_HIS = np.repeat(pi_H1S, draws, axis=1)
    played = [play(world, k, pi_HIS) for k in range(episodes)]
    returns = np.stack([problem.r_SA[steps.cell_HI, steps.action_HI].sum(axis=0) for steps in played])
    values = evaluate(world.T_ISAC[:1], problem.r_SA, pi_H1S)[0, 0, world.start_KI]
    assert returns.mean() == pytest.approx(values.mean(), abs=4.0 * returns.std() / np.sqrt(returns.size))


def test_played_noise_is_that_of_the_model() -> None:
    problem = variants()["C"]
    world = linear_class.draw_world(problem, 500, 1, 10)
    steps = play(world, 0, np.zeros((problem.horizon, 500, len(problem.middle_S)), dtype=np.int64))
    residual = steps.next_state_HI - world.f_ISA[np.arange(500), steps.cell_HI, steps.action_HI]
    assert residual.std() == pytest.approx(problem.sigma, rel=0.05)


def test_table_of_policy_values(models: tuple[FiniteClass, Array]) -> None:
    known, theta = models
    problem = known.problem
    own = known.value_of_policy_under_NNS[np.arange(12), np.arange(12)]
    assert own == pytest.approx(known.V_star_NS, abs=ROUNDING)
    other = evaluate(problem.transition(problem.f(theta[4:5])), problem.r_SA, known.pi_HNS[:, 7:8])[0, 0]
    assert known.value_of_policy_under_NNS[7, 4] == pytest.approx(other, abs=ROUNDING)
    assert np.all(known.value_of_policy_under_NNS <= known.V_star_NS[None] + ROUNDING)


def random_history(known: FiniteClass, seed: int) -> tuple[History, Array]:
    """The statistics of 30 transitions of three histories, and the transitions' residuals of each model."""
    rng = np.random.default_rng(seed)
    states, actions = known.problem.r_SA.shape
    cell, action = rng.integers(states, size=(3, 30)), rng.integers(actions, size=(3, 30))
    next_state = known.f_NSA[2, cell, action] + known.problem.sigma * rng.standard_normal((3, 30))
    residual_NIT = known.f_NSA[:, cell, action] - next_state
    visits = np.zeros((3, states, actions))
    np.add.at(visits, (np.arange(3)[:, None], cell, action), 1.0)
    return History((residual_NIT**2).sum(axis=2).T, visits), residual_NIT


@pytest.mark.parametrize("beta", [0.0, 0.5, 5.0, 1e9])
def test_ucb_picks_the_best_model_of_the_confidence_set(
    models: tuple[FiniteClass, Array], beta: float
) -> None:
    known, _ = models
    history, residual_NIT = random_history(known, 11)
    start_I = np.array([10, 20, 30])
    chosen = finite_class.optimistic_models(known, history, start_I, beta)
    for i, start in enumerate(start_I):
        best = int(np.argmin((residual_NIT[:, i] ** 2).sum(axis=1)))
        distance = ((residual_NIT[:, i] - residual_NIT[best, i]) ** 2).sum(axis=1)
        inside = [n for n in range(known.size) if distance[n] <= beta + 1e-9]
        assert chosen[i] == max(inside, key=lambda n: known.V_star_NS[n, start])


def test_finite_posterior_is_bayes_rule(models: tuple[FiniteClass, Array]) -> None:
    known, _ = models
    history, residual_NIT = random_history(known, 12)
    likelihood_NI = np.exp(-0.5 * (residual_NIT / known.problem.sigma) ** 2).prod(axis=2)
    expected = (likelihood_NI / likelihood_NI.sum(axis=0)).T
    assert finite_class.posterior_weights(known, history) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("agent", ["thompson", "ucb", "greedy"])
def test_finite_class_agents_find_the_truth(
    models: tuple[FiniteClass, Array], agent: finite_class.Agent
) -> None:
    known, theta = models
    world = finite_class.draw_world(known.problem, theta, 2, EPISODES, 13)
    runs = [finite_class.learn(known, world, 2, agent, 8.0, 13) for _ in range(2)]
    assert runs[0].min() > -ROUNDING
    assert np.array_equal(runs[0], runs[1])
    assert runs[0][-5:].mean() < 0.02
