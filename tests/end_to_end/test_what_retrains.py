"""An edit retrains exactly what it concerns: read off the planned jobs of a dry run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.end_to_end.workflow import TINY_STUDY, Project

EVERYTHING = {f"{label}/Pendulum/{seed}" for label in ("random", "ppo") for seed in (0, 1)}


@pytest.fixture(scope="module")
def trained(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.copy(root, tmp_path_factory.mktemp("trained") / "project")
    assert project.planned() == EVERYTHING
    project.train()
    return project


@pytest.fixture
def project(trained: Project, tmp_path: Path) -> Project:
    return trained.clone(tmp_path / "project")


def only(label: str) -> set[str]:
    return {run for run in EVERYTHING if run.startswith(f"{label}/")}


def test_nothing_changed(project: Project) -> None:
    assert project.planned() == set()


def test_a_new_folder_trains_only_its_own_runs(project: Project) -> None:
    shutil.copytree(project.path / "algorithms/random", project.path / "algorithms/newcomer")
    agent = project.path / "algorithms/newcomer/config.yaml"
    agent.write_text(agent.read_text().replace("title: Random", "title: Newcomer"))
    project.write_study({**TINY_STUDY, "runs": [{"algorithm": "ppo", "tasks": ["Pendulum"]},
                                                {"algorithm": "random", "tasks": ["Pendulum"]},
                                                {"algorithm": "newcomer", "tasks": ["Pendulum"]}]})  # fmt: skip
    assert project.planned() == {"newcomer/Pendulum/0", "newcomer/Pendulum/1"}


@pytest.mark.parametrize("name", ["agent.py", "config.yaml"])
def test_editing_an_algorithm_retrains_only_that_algorithm(project: Project, name: str) -> None:
    project.edit(f"algorithms/ppo/{name}")
    assert project.planned() == only("ppo")


def test_editing_a_shared_file_retrains_who_imports_it(project: Project) -> None:
    project.edit("algorithms/core/sb3.py")
    assert project.planned() == only("ppo")
    project.edit("algorithms/core/run.py")
    assert project.planned() == EVERYTHING


def test_editing_a_reward_retrains_everything(project: Project) -> None:
    project.edit("envs_mbbl/tasks.py")
    assert project.planned() == EVERYTHING


def test_a_new_seed_trains_only_that_seed(project: Project) -> None:
    project.write_study({**TINY_STUDY, "seeds": [0, 1, 7]})
    assert project.planned() == {"random/Pendulum/7", "ppo/Pendulum/7"}


def test_more_steps_retrain(project: Project) -> None:
    project.write_study({**TINY_STUDY, "steps": 90})
    assert project.planned() == EVERYTHING


def test_words_and_analysis_retrain_nothing(project: Project) -> None:
    project.edit("README.md")
    project.edit("algorithms/ppo/README.md")
    project.edit("docs/architecture.md")
    (project.path / "tests").mkdir()
    (project.path / "tests/test_new.py").write_text("def test(): pass\n")
    for path in (project.path / "analysis").rglob("*.py"):
        project.edit(str(path.relative_to(project.path)))
    project.edit("algorithms/core/watch.py")
    project.edit("algorithms/core/study.py")
    project.write_study({**TINY_STUDY, "window": 60, "metric": "training"})
    assert project.planned() == set()
