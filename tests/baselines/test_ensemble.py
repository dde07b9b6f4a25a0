"""The ensemble: its variance is the truth's, particles stay with their member, the bootstrap is one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from algorithms.core.ensemble import Ensemble, EnsembleTrainer, Transitions, inputs_and_targets


def noise_level(s: np.ndarray) -> np.ndarray:
    return 0.02 + 0.15 * (s > 0.0)


def heteroscedastic(count: int, seed: int) -> Transitions:
    """s' = s + 0.5 sin(2 s) a + noise, the noise large for s > 0 and small elsewhere."""
    generator = np.random.default_rng(seed)
    data = Transitions(1, 1, members=5, capacity=count, seed=seed)
    for _ in range(count):
        s, a = generator.uniform(-2, 2, 1), generator.uniform(-1, 1, 1)
        data.add(s, a, s + 0.5 * np.sin(2 * s) * a + noise_level(s) * generator.standard_normal(1))
    return data


@pytest.fixture(scope="module")
def fitted() -> Ensemble:
    torch.manual_seed(0)
    data = heteroscedastic(2000, seed=1)
    ensemble = Ensemble(1, 1, [48, 48], members=5)
    trainer = EnsembleTrainer(
        ensemble, learning_rate=2e-3, weight_decay=0.0, batch_size=128, updates_at_most=1000
    )
    ensemble.standardise(data.arrays())
    for _ in range(120):
        trainer.epoch(data.arrays())
    return ensemble


def predictions(ensemble: Ensemble, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
    members = ensemble.members
    s, a = (torch.from_numpy(rows[name].copy()).float() for name in ("observation", "action"))
    with torch.no_grad():
        mean, deviation = ensemble.predict(s.expand(members, -1, -1), a.expand(members, -1, -1))
    return s, mean, deviation


def test_held_out_errors_are_as_large_as_predicted(fitted: Ensemble) -> None:
    rows = heteroscedastic(2000, seed=2).arrays()
    s, mean, deviation = predictions(fitted, rows)
    z = (torch.from_numpy(rows["next_observation"].copy()).float() - mean) / deviation
    for side in (s[:, 0] > 0.1, s[:, 0] < -0.1):
        covered = (z[:, side].abs() < 1.0).float().mean((1, 2))
        assert ((covered > 0.60) & (covered < 0.76)).all(), covered  # 0.683 for a perfect Gaussian
        assert z[:, side].square().mean().item() == pytest.approx(1.0, abs=0.25)


def test_predicted_deviation_is_that_of_the_noise(fitted: Ensemble) -> None:
    rows = heteroscedastic(500, seed=4).arrays()
    s, _, deviation = predictions(fitted, rows)
    for side, truth in ((s[:, 0] > 0.3, 0.17), (s[:, 0] < -0.3, 0.02)):
        assert deviation[:, side].median().item() == pytest.approx(truth, rel=0.25)


def test_members_disagree_where_there_is_no_data(fitted: Ensemble) -> None:
    inside, outside = torch.zeros(5, 1, 1), torch.full((5, 1, 1), 8.0)
    action = torch.full((5, 1, 1), 0.5)
    with torch.no_grad():
        spread = [fitted.predict(s, action)[0].std(0).item() for s in (inside, outside)]
    assert spread[1] > 5.0 * spread[0]


def test_each_particle_stays_with_one_member_and_noise_is_the_members() -> None:
    ensemble = Ensemble(1, 1, [4], members=3)
    with torch.no_grad():
        for parameter in ensemble.parameters():
            parameter.zero_()
        ensemble.biases[-1][:, 0, 0] = torch.tensor([1.0, 2.0, 3.0])  # member m moves by m + 1
        ensemble.min_log_variance.fill_(-40.0)
        ensemble.max_log_variance.fill_(-39.0)
        moved = torch.zeros(6, 2, 1)
        for _ in range(2):
            moved = ensemble.trajectory_sampling(moved, torch.zeros(6, 2, 1))
    expected = torch.tensor([2.0, 2.0, 4.0, 4.0, 6.0, 6.0])[:, None].expand(6, 2)
    torch.testing.assert_close(moved[..., 0], expected, atol=1e-4, rtol=0.0)


def test_a_random_member_is_drawn_at_each_step() -> None:
    torch.manual_seed(0)
    ensemble = Ensemble(1, 1, [4], members=3)
    with torch.no_grad():
        for parameter in ensemble.parameters():
            parameter.zero_()
        ensemble.biases[-1][:, 0, 0] = torch.tensor([1.0, 10.0, 100.0])
        ensemble.min_log_variance.fill_(-40.0)
        ensemble.max_log_variance.fill_(-39.0)
        start = torch.arange(30.0)[:, None] * 1000.0
        moves = torch.stack([ensemble.random_member(start, torch.zeros(30, 1)) - start for _ in range(200)])
    shares = [(moves.round() == move).float().mean().item() for move in (1.0, 10.0, 100.0)]
    assert shares == pytest.approx([1 / 3] * 3)
    first = (moves[:, 0, 0].round() == 1.0).float().mean().item()
    assert first == pytest.approx(1 / 3, abs=0.12)


def test_standardisation_and_constant_coordinates() -> None:
    data = Transitions(2, 1, members=1, capacity=50, seed=0)
    generator = np.random.default_rng(0)
    for _ in range(50):
        s = np.array([generator.normal(5.0, 1e-3), 0.7])  # the second coordinate never changes
        data.add(s, generator.uniform(-1, 1, 1), s + np.array([1e-4 * generator.normal(), 0.0]))
    torch.manual_seed(0)
    ensemble = Ensemble(2, 1, [8], members=1)
    ensemble.standardise(data.arrays())
    inputs, targets = inputs_and_targets(data.arrays())
    whitened = (inputs - ensemble.input_mean) / ensemble.input_scale
    assert whitened[:, 0].std(unbiased=False).item() == pytest.approx(1.0, rel=1e-3)
    assert whitened[:, 1].abs().max().item() < 1e-5
    assert targets[:, 0].std().item() == pytest.approx(1e-4, rel=0.4)
    with torch.no_grad():
        s = torch.tensor([[[5.0, 0.7]]])
        moved = ensemble.sample(s, torch.zeros(1, 1, 1)) - s
    assert moved[0, 0, 1].abs().item() < 1e-4


def test_bootstrap_is_kept_by_the_log() -> None:
    data = heteroscedastic(400, seed=9)
    multiplicity = data.arrays()["multiplicity"]
    assert multiplicity.mean(0) == pytest.approx(np.ones(5), abs=0.15)
    assert len(np.unique(multiplicity, axis=1).T) == 5  # no two members have the same sample
    copy = Transitions(1, 1, members=5, capacity=400, seed=9)
    copy.extend(np.frombuffer(data.rows(0, 400).tobytes(), dtype=data.row_dtype))
    assert copy.rows(0, 400).tobytes() == data.rows(0, 400).tobytes()


def test_weighting_by_the_variance_changes_the_weights_only() -> None:
    """At one sample and one coordinate the weighted gradient is the plain one times var^weighting."""
    torch.manual_seed(0)
    ensemble = Ensemble(1, 1, [4], members=1)
    inputs, targets = torch.tensor([[[0.3, 0.1]]]), torch.tensor([[[2.0]]])
    gradients = []
    for weighting in (0.0, 0.5):
        ensemble.zero_grad()
        ensemble.negative_log_likelihood(inputs, targets, weighting).sum().backward()
        gradients.append(ensemble.weights[0].grad.clone())
    _, log_variance = ensemble(inputs)
    torch.testing.assert_close(gradients[1], gradients[0] * torch.exp(0.5 * log_variance).item())
