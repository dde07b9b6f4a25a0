"""The planners on problems whose best answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from algorithms.core.imagination import returns_of_plans
from algorithms.core.planning import (
    CrossEntropy,
    PathIntegral,
    Planner,
    RandomShooting,
    TrainingAndEvaluation,
    rank,
    truncated_normal,
)
from tests.baselines.problems import DoubleIntegrator, toy_task

START = np.array([0.5, 0.0])  # near enough that the optimal actions stay inside the box


def cem(horizon: int) -> CrossEntropy:
    return CrossEntropy(1, horizon, 200, elites=20, iterations=6, momentum=0.1)


def mppi(horizon: int) -> PathIntegral:
    return PathIntegral(1, horizon, 300, iterations=4, noise=0.3, temperature=0.04, smoothing=0.0)


@pytest.mark.parametrize(
    ("planner", "tolerance"),
    [(cem(12), 1.03), (mppi(12), 1.06), (RandomShooting(1, 6, 3000), 1.35)],
    ids=["cross-entropy", "path-integral", "random-shooting"],
)
def test_linear_quadratic_cost_is_near_the_riccati_optimum(planner: Planner, tolerance: float) -> None:
    torch.manual_seed(0)
    problem = DoubleIntegrator()
    optimum = problem.optimal_cost(START)
    cost = problem.closed_loop_cost(planner, START, steps=40)
    assert optimum * 0.999 < cost < optimum * tolerance


@pytest.mark.parametrize(
    ("planner", "error"), [(cem(2), 0.01), (mppi(2), 0.03), (RandomShooting(1, 2, 4000), 0.05)]
)
def test_two_steps_have_the_analytic_first_action(planner: Planner, error: float) -> None:
    """s' = s + a, r = -(s - 0.3)^2 - a^2/2, from s = 0: the best first action is 0.2, the second 0."""
    torch.manual_seed(0)
    task = toy_task(1, 1, lambda s, a: -((s[0] - 0.3) ** 2) - 0.5 * a[0] ** 2)
    actions = []
    for _ in range(3):
        planner.begin_episode()
        action = planner.plan(lambda plans: returns_of_plans(task, lambda s, a: s + a, torch.zeros(1), plans))
        actions.append(float(action))
    assert np.mean(actions) == pytest.approx(0.2, abs=error)


def test_a_return_that_is_not_finite_never_wins() -> None:
    """All true returns are negative: mapped to zero, NaN would be the best of them."""
    plans = torch.linspace(-1.0, 1.0, 5).reshape(5, 1, 1)

    def judge(plans: Tensor) -> Tensor:
        return torch.tensor([-5.0, math.nan, -3.0, math.inf, -4.0])

    assert rank(judge, plans).tolist() == [-5.0, -math.inf, -3.0, -math.inf, -4.0]


@pytest.mark.parametrize("planner", [cem(2), mppi(2), RandomShooting(1, 2, 50)])
def test_planners_avoid_plans_that_diverge(planner: Planner) -> None:
    torch.manual_seed(0)

    def judge(plans: Tensor) -> Tensor:
        first = plans[:, 0, 0]
        return torch.where(first > 0.0, math.nan, -10.0 - first.abs())

    assert float(planner.plan(judge)) <= 0.05


@pytest.mark.parametrize("planner", [cem(3), mppi(3), RandomShooting(1, 3, 50)])
def test_an_action_is_given_even_if_nothing_can_be_judged(planner: Planner) -> None:
    action = planner.plan(lambda plans: torch.full((len(plans),), math.nan))
    assert torch.isfinite(action).all()
    assert action.abs().max() <= 1.0


def test_truncated_normal_has_the_right_moments() -> None:
    torch.manual_seed(0)
    x = truncated_normal((200_000,)).double()
    assert x.abs().max() <= 2.0 + 1e-5
    assert float(x.mean()) == pytest.approx(0.0, abs=0.01)
    assert float(x.var()) == pytest.approx(0.7737, abs=0.01)  # 1 - 2 b pdf(b) / (2 cdf(b) - 1), b = 2


@pytest.mark.parametrize("planner", [cem(4), mppi(4)])
def test_the_plan_is_shifted_and_saved(planner: CrossEntropy | PathIntegral) -> None:
    torch.manual_seed(0)
    planner.begin_episode()
    planner.plan(lambda plans: plans.sum((1, 2)))
    assert planner.mean[-1].item() == 0.0
    assert planner.mean[:-1].min() > 0.1
    saved = planner.state_dict()
    planner.begin_episode()
    assert not planner.mean.any()
    planner.load_state_dict(saved)
    assert planner.mean[0].item() > 0.1


def test_an_evaluation_leaves_the_training_plan_alone() -> None:
    torch.manual_seed(0)
    episode = [0]
    planners = TrainingAndEvaluation(lambda: cem(4), lambda: episode[0])
    planners.plan(lambda plans: plans.sum((1, 2)), explore=True)
    before = planners.training.state_dict()["mean"].clone()
    first = []
    for episode[0] in (1, 2):
        torch.manual_seed(1)
        first.append([float(planners.plan(lambda plans: plans.sum((1, 2)), explore=False)) for _ in range(3)])
    assert first[0] == first[1]  # the second episode remembers nothing of the first
    assert torch.equal(planners.training.state_dict()["mean"], before)


def test_elites_are_only_those_that_could_be_judged() -> None:
    torch.manual_seed(0)
    planner = CrossEntropy(1, 1, 100, elites=50, iterations=1, momentum=0.0)

    def judge(plans: Tensor) -> Tensor:
        first = plans[:, 0, 0]
        return torch.where(first > 0.5, -1.0, math.nan)  # fewer than there are places

    assert float(planner.plan(judge)) > 0.5


@pytest.mark.parametrize("disaster", [-1e30, -3e38, -math.inf, math.nan])
def test_one_runaway_candidate_does_not_blind_path_integrals(disaster: float) -> None:
    torch.manual_seed(0)
    planner = PathIntegral(1, 1, 300, iterations=6, noise=0.5, temperature=0.04, smoothing=0.0)

    def judge(plans: Tensor) -> Tensor:
        first = plans[:, 0, 0]
        return torch.where(first < -0.3, disaster, -((first - 0.4) ** 2))

    assert float(planner.plan(judge)) == pytest.approx(0.4, abs=0.05)
