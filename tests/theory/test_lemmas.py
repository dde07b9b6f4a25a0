"""The lemmas hold as we read them, and the counter-examples to other readings are real."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from analysis.theory import bounds, complexity, confidence, lemmas
from analysis.theory.regulator import variants
from analysis.theory.simulation import both_sides
from analysis.theory.tables import Array

ROUNDING = 1e-12


def normal(z: float) -> float:
    return float(np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))


def extremal_ratio(shift: float) -> float:
    """(E_1 g - E_2 g) / sqrt(E_1 g^2) of g = (1 - rho)_+, by quadrature."""

    def g(z: float) -> float:
        return max(0.0, 1.0 - float(np.exp(shift * z - 0.5 * shift**2)))

    first, _ = quad(lambda z: g(z) * normal(z), -12.0, 0.5 * shift)
    second, _ = quad(lambda z: g(z) * normal(z - shift), -12.0, 0.5 * shift)
    square, _ = quad(lambda z: g(z) ** 2 * normal(z), -12.0, 0.5 * shift)
    return float((first - second) / np.sqrt(square))


@pytest.mark.parametrize("shift", [0.05, 0.3, 1.0, 2.5])
def test_best_expectation_factor_is_attained(shift: float) -> None:
    best = float(bounds.best_expectation_factor(np.array(shift)))
    assert best == pytest.approx(extremal_ratio(shift), rel=1e-6)
    assert best <= float(bounds.expectation_factor(np.array(shift)))


def test_last_line_of_the_expectation_lemma_has_a_counter_example() -> None:
    """At a distance of 0.1 sigma a positive g gains 0.068; sqrt(2) x allows 0.141, the last line's 2 x^2 only 0.02."""
    gained = extremal_ratio(0.1)
    assert gained > 3.0 * float(bounds.expectation_factor_last_line(np.array(0.1)))
    assert gained < float(bounds.expectation_factor(np.array(0.1)))


def test_expectation_lemma_holds_for_random_functions() -> None:
    table = lemmas.expectation_table()
    shift = table.shift_sigma.to_numpy()
    assert np.all(table.lhs <= bounds.best_expectation_factor(shift) + 1e-9)
    assert np.all(bounds.best_expectation_factor(shift) <= bounds.expectation_factor(shift))
    assert np.any(table.lhs > bounds.expectation_factor_last_line(shift))


@given(seed=st.integers(0, 10_000), horizon=st.integers(1, 8), variant=st.sampled_from("ABCD"))
@settings(max_examples=15, deadline=None)
def test_simulation_lemmas_hold(seed: int, horizon: int, variant: str) -> None:
    problem = variants()[variant]
    pair = lemmas.random_pairs(np.random.default_rng(seed), problem, horizon, 10)
    sides = both_sides(pair, int(problem.start_states[1]))
    assert np.all(sides.value_difference_I <= sides.optional_stopping_I + ROUNDING)
    assert np.all(sides.optional_stopping_I <= sides.simulation_I + ROUNDING)


def test_optional_stopping_with_the_models_swapped_has_counter_examples() -> None:
    problem = variants()["D"]
    sides = both_sides(lemmas.random_pairs(np.random.default_rng(0), problem, 5, 100), 20)
    optimistic = sides.value_difference_I > 1e-6
    assert optimistic.sum() > 10
    assert np.all(sides.value_difference_I[optimistic] > sides.optional_stopping_swapped_I[optimistic])


def test_simulation_lemma_cannot_be_tight_for_two_steps() -> None:
    """The best reward reaches a tenth of the bound while it is not clipped, and 8^-1/2 of it at any distance."""
    assert lemmas.two_step_worst_case(np.geomspace(1e-3, 0.7, 50)).max() == pytest.approx(0.1, abs=0.003)
    assert lemmas.two_step_worst_case(np.geomspace(0.7, 100.0, 50)).max() == pytest.approx(
        8.0**-0.5, abs=1e-9
    )


@pytest.mark.parametrize(("ratio", "features"), [(1.5, 1), (9.0, 1), (9.0, 3), (200.0, 2)])
def test_doubling_sequence_is_independent_and_within_the_bound(ratio: float, features: int) -> None:
    length = len(bounds.doubling_sequence(ratio, features))
    assert complexity.independent_count(ratio, features) == length
    assert length <= bounds.eluder_bound(np.array(ratio), features)
    assert length == features * (1 + int(np.ceil(np.log2(4.0 * ratio**2))))


def test_one_feature_admits_no_longer_sequence() -> None:
    """Greedy choice of the shortest admissible length is optimal on a line: it gives the same count."""
    ratio, total, count = 9.0, 0.0, 0
    square = np.nextafter(1.0 / (4.0 * ratio**2), 1.0)
    while square <= 1.0:
        total, count = total + square, count + 1
        square = np.nextafter(total, 2.0)
    assert count == len(bounds.doubling_sequence(ratio, 1))


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_width_bounds_every_admissible_direction_and_is_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data, varphi = rng.standard_normal((2, 3)), rng.standard_normal(3)
    Phi, eps, W = data.T @ data, 0.5, 1.0
    u = rng.standard_normal((20_000, 3))
    scale = np.minimum(
        eps / np.sqrt(np.einsum("ni,ij,nj->n", u, Phi, u)), 2.0 * W / np.linalg.norm(u, axis=1)
    )
    reached = np.abs((u * scale[:, None]) @ varphi).max()
    exact = bounds.width(Phi, varphi, eps, W)
    assert reached <= exact + 1e-9
    assert reached > 0.9 * exact


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_packing_is_a_certificate_between_the_bounds(outputs: int) -> None:
    ratio = 6.0
    count = bounds.lattice_packing(ratio, outputs)
    _, corrected = bounds.log_covering_bound(np.array(ratio), 1, outputs)
    assert 1 < count <= np.exp(corrected)


def test_covering_exponent_without_the_outputs_has_a_counter_example() -> None:
    stated, corrected = bounds.log_covering_bound(np.array(8.0), 1, 2)
    packed = bounds.lattice_packing(8.0, 2)
    assert np.exp(stated) == pytest.approx(17.0)
    assert packed == 45  # points of a square lattice, no two within one eps-ball
    assert packed > np.exp(stated)
    assert packed < np.exp(corrected)


def rich_class_distance(seed: int) -> float:
    states = confidence.SIGMA * np.random.default_rng(seed).standard_normal(confidence.EPISODES * 10 + 1)
    return confidence.least_squares_distance(states[:-1], states[1:])


def radii(episodes: float) -> tuple[Array, Array]:
    return bounds.confidence_radius(
        0.0,
        confidence.DELTA,
        confidence.ALPHA,
        10,
        np.array(episodes),
        C=confidence.ALPHA,
        sigma=confidence.SIGMA,
    )


def test_displayed_confidence_radius_loses_the_truth_and_the_corrected_one_does_not() -> None:
    displayed, corrected = radii(confidence.EPISODES)
    distances = [rich_class_distance(seed) for seed in range(5)]
    assert min(distances) > 3.0 * displayed
    assert max(distances) < corrected


def test_both_radii_agree_for_one_episode() -> None:
    displayed, corrected = radii(1.0)
    assert displayed == corrected


def test_concentration_lemma_holds() -> None:
    walks = confidence.concentration()
    assert np.all(walks.chance <= walks.delta + 4.0 * walks.chance_se)


def test_chances_of_leaving_the_set_need_not_sum_to_a_half() -> None:
    """P(all E_k) >= 1 - 2 delta allows sum_k P(not E_k) = 2 delta K: let one event decide all k."""
    delta, episodes = 0.25, 100
    chance_all_hold, chance_each_fails = 1.0 - 2.0 * delta, 2.0 * delta
    assert chance_all_hold >= 1.0 - 2.0 * delta
    assert episodes * chance_each_fails == 50.0
    repaired = 1.0 / (4.0 * episodes)
    assert episodes * 2.0 * repaired == pytest.approx(0.5)
