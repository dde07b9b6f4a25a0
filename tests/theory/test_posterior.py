"""The conjugate posterior is the closed form, in any order and in any batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.theory.posterior import prior

SIGMA, PRIOR_SCALE = 0.4, 0.8


def data(seed: int, count: int = 12, features: int = 3, outputs: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((1, count, features)), rng.standard_normal((1, count, outputs))


def test_posterior_is_gaussian_conditioning() -> None:
    """Condition the joint Gaussian of (theta, s') on s': another formula for the same thing."""
    varphi, target = data(0)
    X, Y = varphi[0], target[0]
    cross = PRIOR_SCALE**2 * X.T
    evidence = PRIOR_SCALE**2 * X @ X.T + SIGMA**2 * np.eye(len(X))
    mean = cross @ np.linalg.solve(evidence, Y)
    covariance = PRIOR_SCALE**2 * np.eye(3) - cross @ np.linalg.solve(evidence, cross.T)
    posterior = prior(1, 3, 2, PRIOR_SCALE, SIGMA).updated(varphi, target)
    assert posterior.mean()[0] == pytest.approx(mean, abs=1e-10)
    assert np.linalg.inv(posterior.precision_IDD[0]) == pytest.approx(covariance, abs=1e-10)


@given(seed=st.integers(0, 1000), cuts=st.sets(st.integers(1, 11), max_size=11))
@settings(max_examples=30, deadline=None)
def test_one_at_a_time_is_all_at_once(seed: int, cuts: set[int]) -> None:
    varphi, target = data(seed)
    start = prior(1, 3, 2, PRIOR_SCALE, SIGMA)
    batch, sequential = start.updated(varphi, target), start
    for piece, answer in zip(
        np.split(varphi, sorted(cuts), 1), np.split(target, sorted(cuts), 1), strict=True
    ):
        sequential = sequential.updated(piece, answer)
    assert sequential.mean() == pytest.approx(batch.mean(), abs=1e-9)
    assert sequential.precision_IDD == pytest.approx(batch.precision_IDD, rel=1e-10)


def test_rank_one_updates_of_the_covariance_agree() -> None:
    """Sherman and Morrison, one transition after another."""
    varphi, target = data(1)
    covariance = PRIOR_SCALE**2 * np.eye(3)
    for x in varphi[0]:
        moved = covariance @ x
        covariance = covariance - np.outer(moved, moved) / (SIGMA**2 + x @ moved)
    precision = prior(1, 3, 2, PRIOR_SCALE, SIGMA).updated(varphi, target).precision_IDD[0]
    assert np.linalg.inv(precision) == pytest.approx(covariance, abs=1e-10)


def test_samples_have_the_posterior_mean_and_covariance() -> None:
    varphi, target = data(2)
    many = 40_000
    posterior = prior(many, 3, 2, PRIOR_SCALE, SIGMA).updated(
        np.repeat(varphi, many, axis=0), np.repeat(target, many, axis=0)
    )
    theta = posterior.sample(np.random.default_rng(3))
    covariance = np.linalg.inv(posterior.precision_IDD[0])
    assert theta.mean(axis=0) == pytest.approx(
        posterior.mean()[0], abs=5.0 * np.sqrt(covariance.max() / many)
    )
    assert np.cov(theta[:, :, 0].T) == pytest.approx(covariance, abs=0.03 * covariance.max())
