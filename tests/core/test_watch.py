"""The live view of a study reads what the runs write, and survives whatever it finds."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from algorithms.core.progress import Progress
from algorithms.core.watch import main, read_study, study_eta

RUNS = [
    {"label": "sac", "task": "Ant", "seed": seed, "steps": 1000, "path": f"runs/sac/Ant/seed-{seed}"}
    for seed in range(5)
]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A run that is done, one that is running, one that failed, one that was killed long ago, one that waits."""
    (tmp_path / "study.json").write_text(json.dumps({"runs": RUNS}))
    folders = [tmp_path / run["path"] for run in RUNS[:4]]  # type: ignore[operator]
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "manifest.json").write_text("{}")
    (folders[0] / "episodes.csv").write_text("episode,step,return,length,terminated\n0,1000,-12.5,1000,0\n")
    running = Progress(folders[1], "x", 1000, 1)
    running.start(0)
    time.sleep(0.01)
    running.episode(7.0)
    running.report(400, "running")
    Progress(folders[2], "x", 1000, 1).start(0)
    Progress(folders[2], "x", 1000, 1).report(10, "failed")
    Progress(folders[3], "x", 1000, 1).start(0)
    stale = json.loads((folders[3] / "progress.json").read_text())
    (folders[3] / "progress.json").write_text(json.dumps({**stale, "updated": time.time() - 1000}))
    return tmp_path


def test_every_state_is_told_apart(study: Path) -> None:
    done, running, failed, killed, waiting = read_study(study, time.time())
    assert (done.state, done.step, done.last_return) == ("done", 1000, -12.5)
    assert (running.state, running.step, running.last_return) == ("running", 400, 7.0)
    assert running.steps_per_second is not None
    assert running.steps_per_second > 0
    assert (failed.state, killed.state, waiting.state) == ("failed", "stalled", "waiting")


def test_the_estimate_counts_all_that_remains(study: Path) -> None:
    statuses = read_study(study, time.time())
    speed = statuses[1].steps_per_second
    assert speed is not None
    assert study_eta(statuses) == pytest.approx((600 + 990 + 1000 + 1000) / speed)
    assert study_eta([statuses[0]]) is None


def test_the_view_once(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(study), "--once"]) == 0
    text = " ".join(capsys.readouterr().out.split())  # a narrow terminal wraps
    for word in ("1 running", "1 failed", "1 stalled", "1 waiting", "1 done", "400/1,000", "-12.5"):
        assert word in text


def test_a_study_that_has_not_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "start the study" in capsys.readouterr().out


def test_a_half_written_file_is_not_an_error(study: Path) -> None:
    (study / "runs/sac/Ant/seed-1/progress.json").write_text("{")
    assert read_study(study, time.time())[1].state == "waiting"
