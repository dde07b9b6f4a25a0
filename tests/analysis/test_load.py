"""Bad input: each kind gives a usable page or one clear error that names the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from analysis import __main__ as everything
from analysis import reliability, tables, verdicts
from analysis.aggregate import Frames, aggregate
from analysis.load import load_runs
from analysis.report.build import render
from analysis.study import StudyError, load_study
from tests.analysis.studies import planned, study_json, write_run, write_study


def analysed(directory: Path) -> Frames:
    study = load_study(directory)
    return aggregate(study, load_runs(study))


def problem(frames: Frames, kind: str) -> tuple[str, str]:
    rows = frames.problems[frames.problems["kind"] == kind]
    assert len(rows) == 1, frames.problems.to_string()
    return rows.iloc[0]["path"], rows.iloc[0]["message"]


def cell(frames: Frames, label: str, task: str, metric: str = "evaluation") -> tuple[float, int, int]:
    cells = frames.cells
    row = cells[(cells["label"] == label) & (cells["task"] == task) & (cells["metric"] == metric)].iloc[0]
    return float(row["mean"]), int(row["n"]), int(row["asked"])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_study(tmp_path / "tiny", study_json())


def page(directory: Path) -> str:
    """The page and the tables, without the figures, which take most of the time."""
    study = load_study(directory)
    frames = aggregate(study, load_runs(study))
    tables.run_step(study, frames)
    return render(
        study,
        frames,
        reliability.analyse(study, frames),
        verdicts.verdict_frame(study, frames.cells, study.metric),
    )


RUN = "runs/spede/Pendulum/seed-0"


def test_a_complete_study_has_no_problems(directory: Path) -> None:
    frames = analysed(directory)
    assert frames.problems.empty
    assert cell(frames, "spede", "Pendulum") == (100.5, 2, 2)
    assert cell(frames, "sac", "Pendulum", "training") == (190.5, 2, 2)


def test_runs_missing(directory: Path) -> None:
    (directory / RUN / "manifest.json").unlink()
    frames = analysed(directory)
    assert problem(frames, "missing") == (f"{RUN}/manifest.json", "not run")
    assert cell(frames, "spede", "Pendulum") == (101.0, 1, 2)
    text = page(directory)
    assert "missing: seed 0" in text
    assert "†1/2" in text


def test_all_runs_missing(tmp_path: Path) -> None:
    directory = write_study(tmp_path / "tiny", study_json(), only=[])
    assert everything.main([str(directory)]) == 0
    text = (directory / "report" / "index.html").read_text()
    assert "0 of 8 runs" in text
    assert "there is nothing to aggregate" in text


def test_a_crashed_run_says_where_it_crashed(directory: Path) -> None:
    (directory / RUN / "manifest.json").unlink()
    (directory / RUN / "failure.json").write_text(
        json.dumps({"step": 42, "error": "ValueError: NaN in critic"})
    )
    path, message = problem(analysed(directory), "crashed")
    assert path == f"{RUN}/failure.json"
    assert message == "crashed at step 42: ValueError: NaN in critic"


def test_a_running_run_is_not_a_missing_one(directory: Path) -> None:
    (directory / RUN / "manifest.json").unlink()
    (directory / RUN / "progress.json").write_text("{}")
    assert problem(analysed(directory), "running")[1] == "not finished"


@pytest.mark.parametrize("name", ["episodes.csv", "evaluations.csv"])
def test_a_truncated_csv(directory: Path, name: str) -> None:
    path = directory / RUN / name
    path.write_bytes(path.read_bytes()[:-4])
    frames = analysed(directory)
    assert problem(frames, "truncated") == (f"{RUN}/{name}", "the last line is cut off")
    assert cell(frames, "spede", "Pendulum")[1:] == (1, 2)


def test_a_csv_cut_at_a_line_is_found_by_the_manifest(directory: Path) -> None:
    path = directory / RUN / "episodes.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert problem(analysed(directory), "truncated")[1] == "4 episodes, but the manifest says 5"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("7,boom,1.0,20,0", "line 7: step is 'boom'"),
        ("7,120", "line 7 has 2 of 5 cells"),
        ("7,3,1.0,20,0", "the steps decrease"),
    ],
)
def test_a_garbled_line_is_named(directory: Path, line: str, message: str) -> None:
    path = directory / RUN / "episodes.csv"
    path.write_text(path.read_text() + line + "\n")
    assert problem(analysed(directory), "unreadable") == (f"{RUN}/episodes.csv", message)


def test_a_missing_column_is_named(directory: Path) -> None:
    (directory / RUN / "episodes.csv").write_text("episode,step\n0,1\n")
    assert problem(analysed(directory), "unreadable")[1] == "column 'return' is missing"


def test_a_broken_manifest(directory: Path) -> None:
    (directory / RUN / "manifest.json").write_text('{"label": ')
    path, message = problem(analysed(directory), "unreadable")
    assert path == f"{RUN}/manifest.json"
    assert message.startswith("not valid JSON")


def test_a_seed_copied_into_another_folder_is_left_out(directory: Path) -> None:
    """Otherwise one seed would count twice and the spread would be too small."""
    manifest = directory / RUN / "manifest.json"
    manifest.write_text((directory / "runs/spede/Pendulum/seed-1/manifest.json").read_text())
    frames = analysed(directory)
    path, message = problem(frames, "mismatch")
    assert path == f"{RUN}/manifest.json"
    assert "says seed 1" in message
    assert cell(frames, "spede", "Pendulum")[1] == 1


def test_a_duplicate_seed_in_the_study_is_an_error(tmp_path: Path) -> None:
    study = study_json()
    study["runs"].append(study["runs"][0])
    directory = write_study(tmp_path / "tiny", study, only=[])
    with pytest.raises(StudyError, match=r"study\.json: seed 0 of spede on Pendulum is listed 2 times"):
        load_study(directory)


def test_an_unknown_folder_is_shown_and_left_out(directory: Path) -> None:
    (directory / "runs" / "mystery" / "Pendulum" / "seed-0").mkdir(parents=True)
    (directory / "runs" / "sac" / "Pendulum" / "seed-9").mkdir(parents=True)
    problems = analysed(directory).problems
    assert list(problems["path"]) == ["runs/mystery", "runs/sac/Pendulum/seed-9"]


def test_nan_returns_count_as_a_diverged_run(tmp_path: Path) -> None:
    study = study_json()
    directory = write_study(tmp_path / "tiny", study, only=study["runs"][1:])
    steps = [20, 40, 60, 80, 100]
    write_run(
        directory,
        study["runs"][0],
        [(step, 1.0, 20) for step in steps],
        [(step, float("nan") if step >= 80 else 1.0) for step in steps],
    )
    frames = analysed(directory)
    path, message = problem(frames, "not finite")
    assert path == f"{RUN}/evaluations.csv"
    assert message == "2 returns are not finite, the first at step 80"
    assert cell(frames, "spede", "Pendulum")[1:] == (1, 2)
    finals = frames.finals.set_index(["label", "task", "seed", "metric"])
    assert finals.loc[("spede", "Pendulum", 0, "evaluation"), "status"] == "diverged"
    assert finals.loc[("spede", "Pendulum", 0, "training"), "status"] == "ok"
    assert "diverged: seed 0" in page(directory)


def test_runs_of_unequal_length(tmp_path: Path) -> None:
    study = study_json()
    directory = write_study(tmp_path / "tiny", study, only=study["runs"][1:])
    short = [(20, 1.0, 20), (40, 1.0, 20)]
    write_run(directory, study["runs"][0], short, [(20, 1.0), (40, 1.0)], steps=40)
    frames = analysed(directory)
    assert problem(frames, "unequal length")[1] == "ran 40 steps, the study asks for 100"
    finals = frames.finals.set_index(["label", "task", "seed", "metric"])
    assert finals.loc[("spede", "Pendulum", 0, "evaluation"), "status"] == "no episode in the window"
    assert "no episode in the window: seed 0" in page(directory)


def test_a_run_planned_with_fewer_steps_has_its_own_window(tmp_path: Path) -> None:
    study = study_json()
    for run in study["runs"]:
        if run["label"] == "sac":
            run["steps"] = 60
    directory = write_study(tmp_path / "tiny", study)
    frames = analysed(directory)
    assert frames.problems.empty
    assert cell(frames, "sac", "Pendulum") == (200.5, 2, 2)
    page(directory)
    assert "‡0.06K" in (directory / "tables" / "table1.md").read_text()


def test_one_task_and_one_seed(tmp_path: Path) -> None:
    study = study_json(seeds=[0], tasks={"Pendulum": {"paper_name": "Pendulum", "horizon": 20}})
    study["runs"] = planned(study)
    directory = write_study(tmp_path / "tiny", study)
    assert everything.main([str(directory)]) == 0
    assert "| SPEDE | 100.0<br>" in (directory / "tables" / "table1.md").read_text()


def test_an_episode_log_without_rows(tmp_path: Path) -> None:
    """A run shorter than its first episode: no training return, but evaluations."""
    study = study_json()
    directory = write_study(tmp_path / "tiny", study, only=study["runs"][1:])
    write_run(directory, study["runs"][0], [], [(100, 5.0)])
    frames = analysed(directory)
    assert cell(frames, "spede", "Pendulum", "training")[1] == 1
    assert cell(frames, "spede", "Pendulum", "evaluation")[1] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("{", "not valid JSON"),
        ("[]", "format 1 expected"),
        ('{"format": 1}', "KeyError: 'study'"),
        (json.dumps(study_json(metric="best")), "metric 'best' is none of evaluation, training"),
        (json.dumps(study_json(window=0)), "must be positive"),
        (json.dumps(study_json(tables=[{"id": "../x", "panels": []}])), "names a file"),
    ],
)
def test_an_unusable_study_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "study.json").write_text(content)
    assert everything.main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path}/study.json: ")
    assert message in error
    assert error.count("\n") == 1


def test_infinite_returns_are_not_finite(tmp_path: Path) -> None:
    study = study_json()
    directory = write_study(tmp_path / "tiny", study, only=study["runs"][1:])
    write_run(directory, study["runs"][0], [(100, float("-inf"), 20)], [(100, 5.0)])
    frames = analysed(directory)
    value, n, _ = cell(frames, "spede", "Pendulum", "training")
    assert (n, bool(np.isfinite(value))) == (1, True)
