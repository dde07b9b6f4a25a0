"""The command line of each step, what the workflow is told, and the made-up study."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import synthetic, workflow
from analysis.study import load_study
from analysis.verdicts import verdict_frame
from tests.analysis.studies import study_json, write_study
from tests.analysis.test_load import analysed

ROOT = Path(__file__).resolve().parents[2]


def test_the_steps_one_by_one_write_all_that_the_workflow_expects(tmp_path: Path) -> None:
    study = study_json()
    directory = write_study(tmp_path / "tiny", study)
    for name in ("aggregate", "tables", "curves", "reliability", "verdicts", "audit", "report.__main__"):
        assert importlib.import_module(f"analysis.{name}").main([str(directory)]) == 0
    expected = workflow.target_files(str(directory), ["table1", "hyperparameters"], ["curves"])
    expected += workflow.statistics_files(str(directory), workflow.FRAMES)
    expected += workflow.statistics_files(
        str(directory), [f"{name}.csv" for name in workflow.OVERALL_STATISTICS]
    )
    assert [path for path in expected if not Path(path).is_file()] == []
    assert list(directory.rglob(".*")) == []  # nothing half-written is left


def test_a_step_is_started_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "analysis.aggregate", str(tmp_path / "nowhere")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_the_workflow_module_is_light() -> None:
    """The Snakefile imports it on every start."""
    code = "import sys, analysis.workflow; print([m for m in ('pandas', 'numpy', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sources_leave_out_theory_and_the_made_up_study() -> None:
    sources = workflow.source_files(ROOT)
    assert {"analysis/window.py", "analysis/report/page.js", "analysis/reference/claims.json"} <= set(sources)
    assert not any(path.startswith("analysis/theory/") for path in sources)
    assert "analysis/synthetic.py" not in sources


def test_analysis_imports_neither_algorithms_nor_environments() -> None:
    code = (
        "import sys, analysis.__main__, analysis.synthetic; "
        "print([m for m in sys.modules if m.split('.')[0] in ('algorithms', 'envs_mbbl', 'torch')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_study_can_be_made_up_from_any_plan(tmp_path: Path) -> None:
    plan = tmp_path / "study.json"
    plan.write_text(json.dumps(study_json(steps=1000, window=500, evaluation={"every": 100, "episodes": 2})))
    directory = tmp_path / "made-up"
    assert synthetic.main([str(directory), "--like", str(plan)]) == 0
    frames = analysed(directory)
    assert frames.problems.empty
    assert load_study(directory).scale == "synthetic"
    assert (frames.finals["status"] == "ok").all()


def test_the_made_up_study_is_always_the_same(tmp_path: Path) -> None:
    study = synthetic.study_json(steps=400, seeds=1)
    for name in ("first", "second"):
        synthetic.write_run(tmp_path / name, study, study["runs"][0])
    files = [sorted((tmp_path / name).rglob("*.*")) for name in ("first", "second")]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


@pytest.mark.parametrize(("steps", "words"), [(60, "ours after 60 steps"), (100, "")])
def test_a_verdict_on_another_budget_says_so(tmp_path: Path, steps: int, words: str) -> None:
    study = study_json()
    for run in study["runs"]:
        run["steps"] = steps
    directory = write_study(tmp_path / "tiny", study)
    frame = verdict_frame(load_study(directory), analysed(directory).cells, "evaluation")
    row = frame[(frame["agent"] == "SPEDE") & (frame["task"] == "Pendulum")].iloc[0]
    assert row["note"] == words
