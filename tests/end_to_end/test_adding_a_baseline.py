"""docs/adding-a-baseline.md, followed to the letter; also the smoke study over every discovered algorithm."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from algorithms.core.config import algorithm_ids, load_algorithm
from tests.end_to_end.workflow import Project

NEW = "persistent"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def files(page: str) -> dict[str, str]:
    """Code blocks that follow a line with a file's name."""
    return dict(
        re.findall(r"^`(algorithms/[^`]+)`:\n\n```\w+\n(.*?)```", page, flags=re.DOTALL | re.MULTILINE)
    )


@pytest.fixture(scope="module")
def followed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.copy(root, tmp_path_factory.mktemp("adding") / "project")
    page = (root / "docs/adding-a-baseline.md").read_text()
    copy, *commands = blocks(page, "bash")
    execute(project, copy)
    for name, content in files(page).items():
        (project.path / name).write_text(content)
    for command in commands:
        execute(project, command)
    return project


def execute(project: Project, command: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(project.path)}
    done = subprocess.run(
        command, shell=True, cwd=project.path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.slow
def test_the_new_row_is_in_the_table(followed: Project) -> None:
    assert "| Persistent" in (followed.path / "results/smoke/tables/table1.md").read_text()


@pytest.mark.slow
def test_the_new_line_is_in_the_curve(followed: Project) -> None:
    assert "Persistent" in (followed.path / "results/smoke/figures/curves.svg").read_text()
    assert (followed.path / "results/smoke/figures/curves.pdf").stat().st_size > 1000


@pytest.mark.slow
def test_the_page_has_all_its_sections(followed: Project) -> None:
    page = (followed.path / "results/smoke/report/index.html").read_text()
    for section in ("what", "results", "curves", "overall", "verdicts", "audit", "theory", "cost", "missing"):
        assert f'<section id="{section}">' in page
    assert "Persistent" in page


@pytest.mark.slow
def test_every_algorithm_is_in_the_smoke_study(followed: Project) -> None:
    table = (followed.path / "results/smoke/tables/table1.md").read_text()
    for algorithm in algorithm_ids():
        assert f"| {load_algorithm(algorithm).title}" in table
        for task in ("Pendulum", "Hopper-ET"):
            for seed in (0, 1):
                folder = followed.path / f"results/smoke/runs/{algorithm}/{task}/seed-{seed}"
                manifest = json.loads((folder / "manifest.json").read_text())
                evaluations = pd.read_csv(folder / "evaluations.csv")
                assert manifest["episodes"] == len(pd.read_csv(folder / "episodes.csv")) > 0
                assert evaluations["step"].max() == manifest["steps"]
                assert evaluations["return"].notna().all()


def test_the_example_is_short(root: Path) -> None:
    example = files((root / "docs/adding-a-baseline.md").read_text())
    code = [line for line in "\n".join(example.values()).splitlines() if line.strip()]
    assert set(example) == {f"algorithms/{NEW}/config.yaml", f"algorithms/{NEW}/agent.py"}
    assert len(code) < 40
