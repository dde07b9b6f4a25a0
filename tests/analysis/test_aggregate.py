"""From runs to frames, on numbers that can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.aggregate import aggregate, cell_frame, read_frames, write_frames
from analysis.costs import cost_summary, minutes_matrix
from analysis.curves import mean_curves
from analysis.load import load_runs
from analysis.study import load_study
from tests.analysis.studies import study_json, write_run, write_study


def test_final_performance_by_hand(tmp_path: Path) -> None:
    """The window is (60, 100]: evaluations at 80 and 100; training episodes that end at 70 and 95."""
    study = study_json()
    directory = write_study(tmp_path / "tiny", study, only=[])
    training = [(30, 1.0, 30), (60, 2.0, 30), (70, 10.0, 10), (95, 20.0, 25)]
    write_run(directory, study["runs"][0], training, [(60, 5.0), (80, 7.0), (100, 9.0)])
    loaded = load_study(directory)
    finals = aggregate(loaded, load_runs(loaded)).finals.set_index(["label", "task", "seed", "metric"])
    assert finals.loc[("spede", "Pendulum", 0, "evaluation"), "return"] == 8.0
    assert finals.loc[("spede", "Pendulum", 0, "training"), "return"] == 15.0
    assert finals.loc[("spede", "Pendulum", 0, "training"), "episodes"] == 2


def test_mean_and_std_over_seeds_by_hand() -> None:
    finals = pd.DataFrame(
        {
            "study": "s",
            "algorithm": "a",
            "variant": "",
            "label": "a",
            "task": "t",
            "seed": [0, 1, 2, 3],
            "metric": "evaluation",
            "step": 100,
            "return": [1.0, 2.0, 4.0, np.nan],
            "status": ["ok", "ok", "ok", "missing"],
        }
    )
    cell = cell_frame(finals).iloc[0]
    assert cell["mean"] == pytest.approx(7 / 3)
    assert cell["std"] == pytest.approx(np.sqrt(7 / 3))  # squares 16/9, 1/9, 25/9, divided by n - 1 = 2
    assert (cell["n"], cell["asked"]) == (3, 4)


def test_the_straddle_rule_of_the_study_is_used(tmp_path: Path) -> None:
    study = study_json(straddle="inside")
    directory = write_study(tmp_path / "tiny", study, only=[])
    write_run(directory, study["runs"][0], [(70, 10.0, 20), (95, 20.0, 25)], [(100, 1.0)])
    loaded = load_study(directory)
    finals = aggregate(loaded, load_runs(loaded)).finals.set_index(["label", "task", "seed", "metric"])
    assert finals.loc[("spede", "Pendulum", 0, "training"), "return"] == 20.0


def test_a_curve_ends_in_the_tables_value(synthetic_study: Path) -> None:
    frames = read_frames(load_study(synthetic_study))
    last = frames.curves[frames.curves["step"] == frames.curves["step"].max()]
    keys = ["label", "task", "seed", "metric"]
    merged = last.merge(frames.finals, on=keys, suffixes=("_curve", "_final"))
    assert len(merged) == len(last) > 1000
    np.testing.assert_allclose(merged["return_curve"], merged["return_final"], rtol=1e-12)


def test_mean_curves_by_hand() -> None:
    curves = pd.DataFrame(
        {
            "metric": "training",
            "task": "t",
            "label": "a",
            "seed": [0, 1, 0],
            "step": [10, 10, 20],
            "return": [1.0, 3.0, 5.0],
        }
    )
    means = mean_curves(curves)
    assert means["mean"].tolist() == [2.0, 5.0]
    assert means["std"].iloc[0] == pytest.approx(np.sqrt(2))
    assert means["n"].tolist() == [2, 1]


def test_frames_survive_writing_and_reading(tmp_path: Path) -> None:
    study = study_json()
    study["labels"]["sac"]["title"] = "NA"  # pandas would take it for a missing value
    directory = write_study(tmp_path / "tiny", study, only=study["runs"][:-1])
    loaded = load_study(directory)
    frames = aggregate(loaded, load_runs(loaded))
    write_frames(loaded, frames)
    again = read_frames(loaded)
    for name in ("finals", "cells", "curves", "costs", "problems"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(frames, name), check_dtype=False)
    assert again.provenance == frames.provenance


def test_costs_by_hand(tmp_path: Path) -> None:
    directory = write_study(tmp_path / "tiny", study_json())
    tsv = directory / "benchmarks" / "spede" / "Pendulum" / "seed-0.tsv"
    tsv.parent.mkdir(parents=True)
    tsv.write_text("s\th:m:s\tmax_rss\n12.5\t0:00:12\t321.0\n")
    study = load_study(directory)
    costs = aggregate(study, load_runs(study)).costs
    first = costs.iloc[0]
    assert (first["wall_seconds"], first["steps_per_second"], first["peak_memory_mb"]) == (50.0, 2.0, 123.0)
    assert (first["benchmark_seconds"], first["benchmark_max_rss_mb"]) == (12.5, 321.0)
    assert np.isnan(costs.iloc[1]["benchmark_seconds"])
    summary = cost_summary(costs, "label").set_index("label")
    assert summary.loc["spede", "runs"] == 4
    assert summary.loc["spede", "hours"] == pytest.approx(200 / 3600)
    assert summary.loc["spede", "benchmark_mb"] == 321.0
    assert minutes_matrix(costs).loc["sac", "Hopper-ET"] == pytest.approx(50 / 60)
    assert cost_summary(costs.iloc[:0], "label").empty
    assert minutes_matrix(costs.iloc[:0]).empty


def test_provenance_lists_every_version_and_commit(tmp_path: Path) -> None:
    study = study_json()
    directory = write_study(tmp_path / "tiny", study, only=study["runs"][1:])
    other = {"versions": {"mujoco": "3.0.0"}, "git": {"commit": "abc", "dirty": True}}
    write_run(directory, study["runs"][0], [(100, 1.0, 20)], [(100, 1.0)], **other)
    loaded = load_study(directory)
    found = aggregate(loaded, load_runs(loaded)).provenance
    assert found["versions"]["mujoco"] == ["3.0.0", "4.0.0"]
    assert found["commits"] == ["abc+dirty", "c0ffee000000"]
