"""One run that crashes does not take the others down, and the table says which cell is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.workflow import Project

CRASH = '''

_original = train


def train(run: Run) -> None:
    """Fails on seed 1 at step 40, but only while the file `broken` is there."""
    step = run.env.step

    def failing_step(action):  # type: ignore[no-untyped-def]
        from pathlib import Path

        if run.settings.seed == 1 and run.step == 40 and Path("broken").exists():
            raise RuntimeError("the crash that this test planted")
        return step(action)

    run.env.step = failing_step  # type: ignore[method-assign]
    _original(run)
'''


@pytest.fixture(scope="module")
def crashed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.copy(root, tmp_path_factory.mktemp("crashed") / "project")
    project.edit("algorithms/random/agent.py", CRASH)
    (project.path / "broken").touch()
    done = project.snakemake("--cores", "2", check=False)
    assert done.returncode != 0, "a study with a failed run is not a success"
    return project


def run_folder(project: Project, label: str, seed: int) -> Path:
    return project.path / f"results/tiny/runs/{label}/Pendulum/seed-{seed}"


def test_the_others_finish(crashed: Project) -> None:
    for label, seed in (("random", 0), ("ppo", 0), ("ppo", 1)):
        assert (run_folder(crashed, label, seed) / "manifest.json").exists()
    assert not (run_folder(crashed, "random", 1) / "manifest.json").exists()


def test_the_failure_is_recorded(crashed: Project) -> None:
    failure = json.loads((run_folder(crashed, "random", 1) / "failure.json").read_text())
    assert "planted" in failure["error"]
    assert failure["step"] == 40


def test_the_table_marks_the_missing_run(crashed: Project) -> None:
    table = (crashed.path / "results/tiny/tables/table1.md").read_text()
    row = next(line for line in table.splitlines() if "Random" in line)
    assert "1/2" in row or "1 of 2" in row, table
    page = (crashed.path / "results/tiny/report/index.html").read_text()
    assert "seed-1" in page or "seed 1" in page


def test_the_next_call_runs_it_again_and_completes_the_table(crashed: Project, tmp_path: Path) -> None:
    project = crashed.clone(tmp_path / "project")
    (project.path / "broken").unlink()
    assert project.planned() == {"random/Pendulum/1"}
    project.snakemake("--cores", "2")
    assert not (run_folder(project, "random", 1) / "failure.json").exists()
    table = (project.path / "results/tiny/tables/table1.md").read_text()
    row = next(line for line in table.splitlines() if "Random" in line)
    assert "1/2" not in row
    assert "1 of 2" not in row


def test_retries_resume(root: Path, tmp_path: Path) -> None:
    """The first attempt is interrupted as by a pre-emption; the retry goes on from its checkpoint."""
    project = Project.copy(root, tmp_path / "project")
    once = CRASH.replace(
        'raise RuntimeError("the crash that this test planted")',
        'Path("broken").unlink(); run.interrupted_by = "SIGTERM"',
    )
    project.edit("algorithms/random/agent.py", once)
    (project.path / "broken").touch()
    folder = "results/tiny/runs/random/Pendulum/seed-1"
    project.snakemake("--cores", "1", "--", f"{folder}/manifest.json")
    manifest = json.loads((project.path / folder / "manifest.json").read_text())
    assert manifest["time"]["attempts"] == 2
    log = (project.path / "results/tiny/logs/random/Pendulum/seed-1.log").read_text()
    assert "starting at step 41" in log
