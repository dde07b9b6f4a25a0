"""Aggregates and intervals: against rliable itself, and against a bootstrap written from scratch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rliable import library, metrics

from analysis import reliability
from analysis.aggregate import aggregate, read_frames
from analysis.load import load_runs
from analysis.study import load_study
from tests.analysis.studies import label, planned, study_json, write_study


def scores(*labels: str, runs: int = 4, tasks: int = 6) -> reliability.Scores:
    rng = np.random.default_rng(7)
    arrays = {label: rng.normal(0.2 * i, 0.4, (runs, tasks)) for i, label in enumerate(labels)}
    return reliability.Scores(tuple(f"t{i}" for i in range(tasks)), arrays, {})


@pytest.mark.parametrize("shape", [(4, 12), (4, 7), (1, 1), (2, 3), (5, 10)])
def test_aggregates_are_rliables(shape: tuple[int, int]) -> None:
    scores_RT = np.random.default_rng(1).normal(0.6, 0.5, shape)
    expected = [
        metrics.aggregate_iqm(scores_RT),
        metrics.aggregate_median(scores_RT),
        metrics.aggregate_mean(scores_RT),
        metrics.aggregate_optimality_gap(scores_RT),
    ]
    np.testing.assert_allclose(reliability.aggregates(scores_RT), expected, rtol=1e-12)


def test_aggregates_by_hand() -> None:
    scores_RT = np.array([[0.0, 1.0], [0.5, 2.0]])
    # sorted 0, .5, 1, 2: the middle half is .5 and 1; task means are .25 and 1.5; the gap caps 2 at 1
    np.testing.assert_allclose(reliability.aggregates(scores_RT), [0.75, 0.875, 0.875, 0.375])


def test_probability_of_improvement_is_rliables() -> None:
    rng = np.random.default_rng(3)
    x_RT, y_RT = (
        rng.integers(0, 4, (4, 5)).astype(float),
        rng.integers(0, 4, (3, 5)).astype(float),
    )  # with ties
    mine = reliability.probability_of_improvement(x_RT, y_RT)
    assert mine == pytest.approx(metrics.probability_of_improvement(x_RT, y_RT))


def stratified_bootstrap(scores_RT: np.ndarray, repetitions: int, seed: int) -> np.ndarray:
    """Resample the runs of each task on their own; the interval is that of the percentiles."""
    rng = np.random.default_rng(seed)
    runs, tasks = scores_RT.shape
    drawn = [
        reliability.aggregates(scores_RT[rng.integers(0, runs, (runs, tasks)), np.arange(tasks)])
        for _ in range(repetitions)
    ]
    return np.percentile(drawn, [2.5, 97.5], axis=0)


def test_intervals_agree_with_an_independent_bootstrap() -> None:
    scores_RT = scores("a").scores_RT["a"]
    _, low, high = reliability.interval(scores_RT, reliability.aggregates, reliability.REPETITIONS)
    expected = stratified_bootstrap(scores_RT, 4000, seed=11)
    np.testing.assert_allclose([low, high], expected, atol=0.025)  # the width is about 0.3


def test_an_interval_depends_neither_on_the_order_nor_on_the_others() -> None:
    both = reliability.agent_frames(scores("a", "b"))[0].set_index(["label", "aggregate"])
    turned = scores("a", "b")
    turned = reliability.Scores(turned.tasks, dict(reversed(turned.scores_RT.items())), {})
    again = reliability.agent_frames(turned)[0].set_index(["label", "aggregate"]).reindex(both.index)
    pd.testing.assert_frame_equal(both, again)


def test_the_global_generator_is_left_as_it_was() -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    reliability.agent_frames(scores("a"))
    assert np.random.random() == expected  # noqa: NPY002


def test_profiles_are_rliables() -> None:
    scores_RT = np.round(
        np.random.default_rng(4).normal(0.5, 0.5, (4, 9)), 2
    )  # some scores equal a threshold
    expected = [library.run_score_deviation(scores_RT, tau) for tau in reliability.THRESHOLDS]
    np.testing.assert_allclose(reliability.profile(scores_RT), expected)


def test_profiles_fall_from_one_to_zero() -> None:
    frame = reliability.agent_frames(scores("a"))[1]
    assert (np.diff(frame["share"]) <= 0).all()
    assert ((frame["low"] <= frame["share"]) & (frame["share"] <= frame["high"])).all()


def test_improvement_has_both_directions_of_each_pair() -> None:
    frame = reliability.improvement_frame(scores("a", "b", "c"))
    assert len(frame) == 6
    value = frame.set_index(["x", "y"])["probability"]
    assert value["a", "b"] + value["b", "a"] == pytest.approx(1)


def test_normalised_scores_by_hand(synthetic_study: Path) -> None:
    """Pendulum: Random -202.6 is 0, ME-TRPO 177.3 is 1."""
    study = load_study(synthetic_study)
    scale = reliability.normalisation(study, read_frames(study).cells)
    finals = pd.DataFrame({"task": ["Pendulum"] * 3, "return": [-202.6, 177.3, -12.65]})
    np.testing.assert_allclose(reliability.normalise(finals, scale)["score"], [0, 1, 0.5], atol=1e-12)


def test_an_unpublished_task_is_scaled_by_our_own_random(tmp_path: Path) -> None:
    study = study_json(tasks={"Mystery": {"horizon": 20}})
    study["labels"] = {
        "random": label("random", "Random", "reference"),
        **study["labels"],
    }  # the lowest level
    study["runs"] = planned(study)
    loaded = load_study(write_study(tmp_path / "tiny", study))
    frames = aggregate(loaded, load_runs(loaded))
    row = reliability.normalisation(loaded, frames.cells).iloc[0]
    assert (row["low"], row["high"]) == (100.5, 300.5)
    assert (row["low_source"], row["high_source"]) == ("our Random", "our sac")


def test_which_agents_and_tasks_are_compared(synthetic_study: Path) -> None:
    """SPEDE-REG has 10 of the 12 tasks: all are compared on those 10; ablations stay out."""
    study = load_study(synthetic_study)
    frames = read_frames(study)
    chosen = reliability.score_arrays(
        study, frames.finals, reliability.normalisation(study, frames.cells), "evaluation"
    )
    assert len(chosen.tasks) == 10
    assert "spede_reg" in chosen.scores_RT
    assert chosen.scores_RT["spede_reg"].shape == (4, 10)
    assert "spede@momentum-0.9" in chosen.left_out
    assert "does not ask for it on" in chosen.left_out["lc3"]


def test_missing_runs_leave_an_agent_out_or_cost_it_a_seed(synthetic_study: Path) -> None:
    study = load_study(synthetic_study)
    frames = read_frames(study)
    scale = reliability.normalisation(study, frames.cells)
    finals = frames.finals.copy()
    sac = (finals["label"] == "sac") & (finals["task"] == "Reacher")
    td3 = (finals["label"] == "td3") & (finals["task"] == "Reacher") & (finals["seed"] == 2)
    finals.loc[sac | td3, "return"] = np.nan
    chosen = reliability.score_arrays(study, finals, scale, "evaluation")
    assert chosen.left_out["sac"] == "fewer than two finished runs on Reacher"
    assert chosen.scores_RT["td3"].shape == (3, 10)


def test_a_task_that_most_agents_lack_is_left_out(synthetic_study: Path) -> None:
    study = load_study(synthetic_study)
    frames = read_frames(study)
    finals = frames.finals.copy()
    finals.loc[(finals["task"] == "Ant-ET") & (finals["label"] != "sac"), "return"] = np.nan
    scale = reliability.normalisation(study, frames.cells)
    chosen = reliability.score_arrays(study, finals, scale, "evaluation")
    assert "Ant-ET" not in chosen.tasks
    assert "more than half" in chosen.left_out["Ant-ET"]
    assert "sac" in chosen.scores_RT


def test_cell_intervals_by_hand() -> None:
    cells = pd.DataFrame(
        {
            "label": "a",
            "task": "t",
            "metric": "training",
            "n": [4, 1],
            "mean": [10.0, 1.0],
            "std": [2.0, np.nan],
        }
    )
    rows = reliability.interval_frame(cells)
    assert len(rows) == 1  # one seed has no interval
    # t quantile 0.975 with 3 degrees of freedom is 3.182; 3.182 * 2 / sqrt(4)
    assert rows.iloc[0]["low"] == pytest.approx(10 - 3.182, abs=1e-3)
