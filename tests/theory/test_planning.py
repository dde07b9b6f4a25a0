"""Algorithm 2: tables against brute force, features against tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

from analysis.theory.dynamic_programming import evaluate, evaluate_stochastic, plan
from analysis.theory.feature_planning import plan_in_feature_space, summed_transition
from analysis.theory.regulator import cell_probabilities, variants
from analysis.theory.spectral import draw_basis, gaussian
from analysis.theory.tables import Array, log_slope


def random_tables(rng: np.random.Generator, models: int, states: int, actions: int) -> tuple[Array, Array]:
    return rng.dirichlet(np.ones(states), (models, states, actions)), rng.random((states, actions))


def test_plan_is_the_best_of_all_policies() -> None:
    T_1SAC, r_SA = random_tables(np.random.default_rng(0), 1, 3, 2)
    horizon = 3
    policies = np.array(list(product(range(2), repeat=3 * horizon))).reshape(-1, horizon, 3)
    pi_HIS = policies.swapaxes(0, 1)
    values_IS = evaluate(np.broadcast_to(T_1SAC, (len(policies), 3, 2, 3)), r_SA, pi_HIS)[0]
    optimal = plan(T_1SAC, r_SA, horizon)
    assert optimal.V_HIS[0, 0] == pytest.approx(values_IS.max(axis=0), abs=1e-12)
    assert evaluate(T_1SAC, r_SA, optimal.pi_HIS)[0, 0] == pytest.approx(optimal.V_HIS[0, 0], abs=1e-12)


def test_evaluation_is_the_sum_over_all_paths() -> None:
    rng = np.random.default_rng(1)
    T_1SAC, r_SA = random_tables(rng, 1, 3, 2)
    pi_HIS = rng.integers(2, size=(3, 1, 3))
    expected = 0.0
    for path in product(range(3), repeat=3):
        chance = float(path[0] == 0)
        for h in range(2):
            chance *= T_1SAC[0, path[h], pi_HIS[h, 0, path[h]], path[h + 1]]
        expected += chance * sum(r_SA[s, pi_HIS[h, 0, s]] for h, s in enumerate(path))
    assert evaluate(T_1SAC, r_SA, pi_HIS)[0, 0, 0] == pytest.approx(expected, abs=1e-12)


def test_a_stochastic_policy_that_never_mixes_is_a_deterministic_one() -> None:
    rng = np.random.default_rng(2)
    T_ISAC, r_SA = random_tables(rng, 4, 5, 3)
    actions_HS = rng.integers(3, size=(6, 5))
    deterministic = evaluate(T_ISAC, r_SA, np.repeat(actions_HS[:, None, :], 4, axis=1))
    assert evaluate_stochastic(T_ISAC, r_SA, np.eye(3)[actions_HS]) == pytest.approx(deterministic, abs=1e-12)


def test_cells_share_out_the_whole_gaussian() -> None:
    edges = np.array([-1.0, 0.0, 0.5])
    found = cell_probabilities(np.array([0.3]), edges, 0.5)[0]
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    middle, _ = quad(lambda s: np.exp(-0.5 * ((s - 0.3) / 0.5) ** 2) / (0.5 * np.sqrt(2.0 * np.pi)), 0.0, 0.5)
    assert found[2] == pytest.approx(middle, abs=1e-10)


def test_planning_on_summed_features_is_planning_in_feature_space() -> None:
    rng = np.random.default_rng(3)
    problem = variants()["D"]
    f_SA = problem.f(rng.standard_normal((1, problem.feature_count)))[0]
    basis = draw_basis(rng, gaussian(problem.sigma), 500, 1)
    to_the_letter = plan_in_feature_space(problem, f_SA, basis)
    T_1SAC = summed_transition(problem, f_SA, basis)[None] / basis.size
    found = plan(T_1SAC, problem.r_SA, problem.horizon).Q_HISA
    assert found == pytest.approx(to_the_letter.Q_HISA, abs=1e-9)


def test_q_from_features_tends_to_dynamic_programming() -> None:
    problem = replace(variants()["B"], horizon=3)
    rng = np.random.default_rng(4)
    f_1SA = problem.f(problem.prior_scale * rng.standard_normal((1, problem.feature_count)))
    exact = plan(problem.transition(f_1SA), problem.r_SA, problem.horizon).Q_HISA
    counts = np.array([500, 4_000, 32_000])
    errors = [
        np.mean(
            [
                np.abs(plan_in_feature_space(problem, f_1SA[0], basis).Q_HISA - exact).max()
                for basis in (draw_basis(rng, gaussian(problem.sigma), int(m), 1) for _ in range(6))
            ]
        )
        for m in counts
    ]
    assert errors[-1] < 0.05
    assert log_slope(counts.astype(float), np.array(errors)) == pytest.approx(-0.5, abs=0.15)
