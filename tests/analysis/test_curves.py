"""Figures: what they show, and that the same input gives the same bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from analysis import curves, figure_files, reliability_figures, verdict_figure
from analysis.aggregate import Frames, read_frames
from analysis.report.build import read_reliability
from analysis.study import Study, load_study
from analysis.styles import KNOWN, styles
from tests.analysis.studies import label, study_json, write_study


@pytest.fixture(scope="module")
def study(synthetic_study: Path) -> Study:
    figure_files.set_up()
    return load_study(synthetic_study)


@pytest.fixture(scope="module")
def frames(study: Study) -> Frames:
    return read_frames(study)


@pytest.fixture(autouse=True)
def closed_figures() -> object:
    yield
    plt.close("all")


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_the_same_input_gives_the_same_bytes(study: Study, frames: Frames, tmp_path: Path) -> None:
    spec = {**study.figures[0], "tasks": ["Reacher", "Ant-ET"]}
    for name in ("first", "second"):
        figure_files.save(curves.draw(study, frames, spec), tmp_path / name, "curves")
    assert digests(tmp_path / "first") == digests(tmp_path / "second")
    assert b"Date" not in (tmp_path / "first" / "curves.svg").read_bytes()


def test_every_figure_is_there_in_three_formats(synthetic_study: Path) -> None:
    for name in ("curves", "random-features", "aggregates", "profiles", "improvement", "verdicts"):
        for kind, magic in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
            assert (synthetic_study / "figures" / f"{name}.{kind}").read_bytes().startswith(magic)


def test_a_panel_per_task_one_legend_and_the_papers_lines(study: Study, frames: Frames) -> None:
    figure = curves.draw(study, frames, study.figures[0])
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown][:2] == ["Swimmer", "Reacher"]
    assert len(shown) == 12
    assert len(figure.legends) == 1
    assert all(axes.get_legend() is None for axes in shown)
    reacher = shown[1]
    gutter = [line for line in reacher.lines if np.min(line.get_xdata()) >= study.steps]
    heights = sorted(float(np.asarray(line.get_ydata())[0]) for line in gutter)
    assert len(heights) == 12  # every agent of the paper's tables but Random
    assert heights[0] == -40.1


def test_the_band_is_one_std_around_the_mean(study: Study, frames: Frames) -> None:
    means = curves.mean_curves(frames.curves)
    cells = frames.cells[(frames.cells["label"] == "sac") & (frames.cells["task"] == "Reacher")]
    last = means[(means["label"] == "sac") & (means["task"] == "Reacher") & (means["step"] == study.steps)]
    merged = last.merge(cells, on=["label", "task", "metric"], suffixes=("", "_cell"))
    np.testing.assert_allclose(merged["std"], merged["std_cell"])


def test_the_ablation_is_recognised(study: Study, frames: Frames) -> None:
    labels = [str(name) for name in study.figures[1]["labels"]]
    assert curves.ablated_setting(study, labels) == "features"
    assert curves.ablated_setting(study, ["sac", "td3", "ppo"]) is None
    assert curves.ablated_setting(study, labels[:2]) is None
    figure = curves.draw(study, frames, study.figures[1])
    right = figure.axes[1]
    assert [text.get_text() for text in right.get_xticklabels()] == ["128", "256", "512", "1024", "2048"]


def test_a_task_without_runs_says_so(study: Study, frames: Frames) -> None:
    figure = curves.draw(
        study, frames, {**study.figures[0], "tasks": ["Reacher"], "labels": ["spede@momentum-0.9"]}
    )
    assert "no finished run" in [text.get_text() for text in figure.axes[0].texts]


def test_no_two_agents_look_the_same(study: Study) -> None:
    looks = [(style.colour, style.dash) for style in styles(study).values()]
    assert len(set(looks)) == len(looks)
    assert len(set(KNOWN.values())) == len(KNOWN)


def test_more_agents_than_looks_still_get_one(tmp_path: Path) -> None:
    labels = {f"a{i}": label(f"a{i}", f"Agent {i}", "") for i in range(60)}
    study = load_study(write_study(tmp_path / "tiny", study_json(labels=labels, tables=[]), only=[]))
    assert len(styles(study)) == 60


def test_star_means_algorithms_without_their_variants(study: Study) -> None:
    labels = curves.figure_labels(study, {"labels": "*"})
    assert "spede" in labels
    assert not any("@" in name for name in labels)


def test_overall_figures_rank_by_iqm(study: Study, synthetic_study: Path) -> None:
    figure = reliability_figures.draw_aggregates(study, read_reliability(study))
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names[0] == "SPEDE-REG"
    assert names[-1] == "Random"


def test_the_verdict_chart_has_its_cells(frames: Frames, study: Study) -> None:
    from analysis.verdicts import verdict_frame

    rows = verdict_frame(study, frames.cells, "evaluation")
    points = verdict_figure.normalised(rows)
    exact = points[(points["task"] == "Pendulum") & (points["agent"] == "ME-TRPO")].iloc[0]
    assert exact["theirs_score"] == pytest.approx(1.0)  # ME-TRPO's 177.3 is the best published on Pendulum
    assert len(verdict_figure.draw(rows).axes) == 1
