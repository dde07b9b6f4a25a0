"""Verdicts: the rule on hand-made cells, its error rates, and the edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import reference, verdicts
from analysis.reference import Published
from analysis.student import two_sided_p, welch_freedom
from analysis.study import load_study
from tests.analysis.studies import study_json, write_study

PAPER = Published(100.0, 2.0)


@pytest.mark.parametrize(
    ("mean", "std", "n", "verdict"),
    [
        (100.5, 2.0, 4, "reproduced"),  # 0.5 ± 1.94 * 1.41 stays inside ± 10
        (104.0, 2.0, 4, "reproduced"),  # a difference that can be told apart, but is small
        (115.0, 2.0, 4, "better"),
        (85.0, 2.0, 4, "worse"),
        (100.0, 40.0, 4, "inconclusive"),  # no difference found is not closeness
        (115.0, 40.0, 4, "inconclusive"),
        (100.0, np.nan, 1, "inconclusive"),  # one seed has no spread
        (np.nan, np.nan, 0, "not run"),
        (100.0, 0.0, 4, "reproduced"),
    ],
)
def test_verdict(mean: float, std: float, n: int, verdict: str) -> None:
    assert verdicts.compare(mean, std, n, PAPER, 10.0).verdict == verdict


def test_welch_is_scipys() -> None:
    rng = np.random.default_rng(2)
    ours, theirs = rng.normal(0, 1, 4), rng.normal(1, 3, 4)
    expected = stats.ttest_ind(ours, theirs, equal_var=False)
    errors = ours.var(ddof=1) / 4, theirs.var(ddof=1) / 4
    freedom = welch_freedom(errors[0], 4, errors[1], 4)
    assert freedom == pytest.approx(expected.df)
    t = (ours.mean() - theirs.mean()) / np.sqrt(sum(errors))
    assert two_sided_p(t, freedom) == pytest.approx(expected.pvalue)


def test_intervals_by_hand() -> None:
    result = verdicts.compare(104.0, 2.0, 4, PAPER, 10.0)
    error = np.sqrt(1 + 1 + 0.01 / 12)  # 2² / 4 on both sides, and the rounding
    assert result.difference == 4.0
    assert result.high95 - result.difference == pytest.approx(
        2.4469 * error, abs=1e-3
    )  # t, 6 degrees of freedom
    assert result.high90 - result.difference == pytest.approx(1.9432 * error, abs=1e-3)


def test_cells_without_any_spread() -> None:
    """0.0 ± 0.0 on both sides: only the rounding is left, and nothing divides by zero."""
    exact = Published(0.0, 0.0)
    assert verdicts.compare(0.0, 0.0, 4, exact, 5.0).verdict == "reproduced"
    assert verdicts.compare(-8.0, 0.0, 4, exact, 5.0).verdict == "worse"
    result = verdicts.compare(0.0, 0.0, 4, exact, 0.01)  # closer than the printed figure can show
    assert result.verdict == "inconclusive"
    assert np.isfinite([result.p, result.low95, result.high95]).all()


def test_decidable_says_whether_reproduced_was_possible() -> None:
    assert verdicts.compare(100.0, 1.0, 4, PAPER, 10.0).decidable
    wide = verdicts.compare(100.0, 0.0, 4, Published(100.0, 50.0), 10.0)
    assert not wide.decidable
    assert wide.verdict == "inconclusive"


def test_the_margin_is_a_tenth_of_the_gain_but_not_nothing() -> None:
    scale = reference.Scale(low=0.0, high=1000.0, best="x")
    assert verdicts.margin(Published(800.0, 1.0), scale) == pytest.approx(80.0)
    assert verdicts.margin(Published(10.0, 1.0), scale) == pytest.approx(
        25.0
    )  # an agent that learned nothing
    assert verdicts.margin(Published(-500.0, 1.0), None) == pytest.approx(50.0)


def rate(verdict: tuple[str, ...], shift: float, margin: float, trials: int = 1500) -> float:
    """How often the rule says so when both sides draw four seeds with std 1 and means `shift` apart."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(trials):
        ours, theirs = rng.normal(shift, 1, 4), rng.normal(0, 1, 4)
        published = Published(float(theirs.mean()), float(theirs.std(ddof=1)))
        result = verdicts.compare(float(ours.mean()), float(ours.std(ddof=1)), 4, published, margin)
        hits += result.verdict in verdict
    return hits / trials


def test_a_true_difference_at_the_margin_is_rarely_called_reproduced() -> None:
    assert rate(("reproduced",), shift=3.0, margin=3.0) < 0.06


def test_equal_agents_are_rarely_called_different() -> None:
    assert rate(("better", "worse"), shift=0.0, margin=0.5) < 0.06


def test_the_rule_can_find_what_there_is_to_find() -> None:
    assert rate(("reproduced",), shift=0.0, margin=4.0) > 0.9
    assert rate(("better",), shift=6.0, margin=1.0) > 0.9


def test_holm_by_hand() -> None:
    p = np.array([0.001, 0.04, np.nan, 0.02, 0.9])
    # sorted .001 < .05/4, .02 > .05/3: only the first
    assert verdicts._holm(p).tolist() == [True, False, False, False, False]
    assert verdicts._holm(np.array([0.01, 0.02])).tolist() == [True, True]


def test_every_published_figure_once() -> None:
    cells = verdicts.published_cells()
    assert not cells.duplicated(["task", "agent", "mean", "std"]).any()
    paper = cells[cells["source"] == "paper"]
    assert len(paper) == 136
    spede = paper[(paper["agent"] == "SPEDE") & (paper["task"] == "Pendulum")]
    assert spede["tables"].tolist() == ["main_table1 appendix_full appendix_mlp"]
    # the LC3 table's "Hopper" is SPEDE's Hopper-ET
    assert not ((paper["agent"] == "SPEDE") & (paper["task"] == "Hopper")).any()


def test_one_row_per_cell_of_the_paper_and_not_run_is_said(tmp_path: Path) -> None:
    directory = write_study(tmp_path / "tiny", study_json(), only=[])
    study = load_study(directory)
    cells = pd.DataFrame(
        {
            "label": ["spede"],
            "task": ["Pendulum"],
            "metric": ["evaluation"],
            "mean": [169.0],
            "std": [1.0],
            "n": [4],
        }
    )
    frame = verdicts.verdict_frame(study, cells, "evaluation")
    counts = frame["verdict"].value_counts()
    assert counts.to_dict() == {"not run": 135, "reproduced": 1}
    table = verdicts.count_frame(study, cells)
    assert table.loc[0, ["reproduced", "not run", "tested"]].tolist() == [1, 135, 1]


def test_the_papers_misprints_are_what_differs_in_synthetic_data(synthetic_study: Path) -> None:
    """Data drawn around MBBL's own figures cannot reproduce a lost sign or another agent's figure."""
    frame = pd.read_csv(synthetic_study / "statistics" / "verdicts.csv")
    worse = frame[frame["survives_holm"] & (frame["verdict"] == "worse")]
    assert {("Acrobot", "ME-TRPO"), ("Humanoid-ET", "ME-TRPO")} <= set(
        zip(worse["task"], worse["agent"], strict=True)
    )


def test_another_protocol_is_said(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path / "tiny", study_json(scale="smoke"), only=[]))
    assert len(verdicts.protocol_differences(study)) == 4
    right = study_json(steps=200_000, window=10_000, seeds=[0, 1, 2, 3])
    assert verdicts.protocol_differences(load_study(write_study(tmp_path / "right", right, only=[]))) == []
