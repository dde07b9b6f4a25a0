"""The key observation: kernels, frequencies, features, and their closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad

from analysis.theory import dimension, kernel, tables
from analysis.theory.spectral import (
    Noise,
    cauchy,
    draw_basis,
    gaussian,
    inner_product,
    integral_of_phi,
    laplace,
)

NOISES = [gaussian(0.3), laplace(0.5), cauchy(0.4)]
by_name = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)


@by_name
@pytest.mark.parametrize("d", [1, 3])
def test_features_have_the_kernel_as_their_mean(noise: Noise, d: int) -> None:
    rng = np.random.default_rng(0)
    x, y = kernel.random_pairs(rng, noise, d, 20)
    m = 200_000
    basis = draw_basis(rng, noise, m, d)
    found = inner_product(basis.phi(x), basis.phi(y))
    standard_error = np.sqrt(kernel.feature_variance(noise, x - y) / m)
    assert np.all(np.abs(found - noise.kernel(x - y)) < 4.5 * standard_error)


@by_name
@pytest.mark.parametrize("delta", [0.1, 0.5, 1.5])
def test_spectral_density_transforms_to_the_kernel(noise: Noise, delta: float) -> None:
    def density(omega: float) -> float:
        return float(noise.spectral_density(np.array(omega)))

    half, _ = quad(density, 0.0, np.inf, weight="cos", wvar=delta)
    assert 2.0 * half == pytest.approx(float(noise.kernel(np.array([delta]))), abs=1e-6)
    total, _ = quad(density, -np.inf, np.inf)
    assert total == pytest.approx(1.0, abs=1e-6)


@by_name
def test_normaliser_makes_the_kernel_a_density(noise: Noise) -> None:
    mass, _ = quad(lambda x: float(noise.kernel(np.array([x]))) * noise.density_at_zero(1), -np.inf, np.inf)
    assert mass == pytest.approx(1.0, abs=1e-6)


def test_gaussian_normaliser_is_that_of_equation_7() -> None:
    assert gaussian(0.3).density_at_zero(5) == pytest.approx((2.0 * np.pi * 0.09) ** -2.5)


@given(
    omega=st.floats(-50.0, 50.0),
    b=st.floats(0.0, 6.3),
    lower=st.floats(-2.0, 2.0),
    width=st.floats(0.01, 1.0),
)
@settings(max_examples=40, deadline=None)
def test_integral_of_a_feature(omega: float, b: float, lower: float, width: float) -> None:
    ends = np.array([lower]), np.array([lower + width])
    found = integral_of_phi(np.array([omega]), np.array([b]), *ends)[0, 0]
    exact, _ = quad(lambda s: np.sqrt(2.0) * np.cos(omega * s + b), lower, lower + width, limit=200)
    assert found == pytest.approx(exact, abs=1e-9)


@by_name
def test_kernel_error_falls_with_the_root_of_m(noise: Noise) -> None:
    error, variance = kernel.squared_errors(np.random.default_rng(1), noise, 3)
    rmse = np.sqrt(error.mean(axis=0))
    assert tables.log_slope(kernel.FEATURE_COUNTS.astype(float), rmse) == pytest.approx(-0.5, abs=0.04)
    assert rmse == pytest.approx(np.sqrt(variance / kernel.FEATURE_COUNTS), rel=0.25)


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_growth_of_the_weight_is_the_double_integral(sigma: float) -> None:
    double, _ = dblquad(lambda s, t: np.exp(-0.5 * ((s - t) / sigma) ** 2), -1.0, 1.0, -1.0, 1.0)
    assert dimension.weight_growth(sigma) == pytest.approx(double / (2.0 * np.pi * sigma**2), rel=1e-6)


@pytest.mark.parametrize("d", [1, 6])
def test_value_error_has_its_closed_form_and_grows_with_the_dimension(d: int) -> None:
    value, _ = dimension.measured_errors(np.random.default_rng(2), 0.3, d)
    exact = dimension.value_rmse(0.3, np.array(float(d)), dimension.FEATURES)
    assert np.sqrt(np.mean(value**2)) == pytest.approx(float(exact), rel=0.2)
    assert dimension.value_rmse(0.3, np.array(12.0), 1024) > 100.0 * dimension.value_rmse(
        0.3, np.array(1.0), 1024
    )


def test_weight_at_the_origin_matches_the_known_sizes() -> None:
    found = dimension.largest_weight(0.3, np.array([1.0, 3.0, 5.0, 11.0]))
    assert found == pytest.approx([2.66, 18.8, 133.1, 47098.0], rel=2e-3)
