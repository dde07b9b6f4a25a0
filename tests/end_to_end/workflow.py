"""A copy of the project for tests of the workflow: edit it, plan it, run it, and never touch the original."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

COPIED = ("Snakefile", "rules", "config", "profiles", "envs_mbbl", "algorithms", "analysis", "environment.yml",
          "pyproject.toml", "README.md", "docs")  # fmt: skip
TINY_STUDY = {
    "study": "tiny",
    "scale": "smoke",
    "steps": 60,
    "seeds": [0, 1],
    "window": 30,
    "evaluation": {"every": 30, "episodes": 1},
    "theory": False,
    "runs": [{"algorithm": "random", "tasks": ["Pendulum"]}, {"algorithm": "ppo", "tasks": ["Pendulum"]}],
    "tables": [
        {"id": "table1", "caption": "A tiny study", "panels": [["Pendulum"]], "groups": [], "others": True}
    ],
    "figures": [{"id": "curves", "caption": "A tiny study", "tasks": ["Pendulum"], "labels": "*"}],
}


@dataclass(frozen=True)
class Project:
    """A copy of the project, in a folder of its own."""

    path: Path

    @staticmethod
    def copy(source: Path, target: Path) -> Project:
        """The files of the project, without its results."""
        target.mkdir(parents=True)
        for name in COPIED:
            if (source / name).is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source / name, target / name, ignore=ignore)
            elif (source / name).exists():
                shutil.copy2(source / name, target / name)
        project = Project(target)
        project.write_study(TINY_STUDY)
        return project

    def clone(self, target: Path) -> Project:
        """This copy with its results and Snakemake's memory of them, time stamps included."""
        shutil.copytree(self.path, target)
        return Project(target)

    def write_study(self, study: dict[str, object]) -> None:
        (self.path / "config" / "tiny.yaml").write_text(yaml.safe_dump(study))

    def edit(self, name: str, text: str = "\n# an edit\n") -> None:
        with (self.path / name).open("a") as file:
            file.write(text)

    def snakemake(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snakemake", "--configfile", "config/tiny.yaml", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(self.path)}
        done = subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, text=True, check=False
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
        return done

    def planned(self) -> set[str]:
        """The training runs that `snakemake -n` would do, as label/task/seed."""
        done = self.snakemake("--dry-run", "--cores", "1")
        text = done.stdout + done.stderr
        pattern = r"rule train:.*?wildcards: label=(\S+), task=(\S+), seed=(\d+)"
        return {"/".join(found) for found in re.findall(pattern, text, flags=re.DOTALL)}

    def train(self, *extra: str) -> None:
        """All runs of the tiny study, but no analysis."""
        targets = [
            f"results/tiny/runs/{label}/Pendulum/seed-{seed}/manifest.json"
            for label in ("random", "ppo")
            for seed in TINY_STUDY["seeds"]  # type: ignore[attr-defined]
        ]
        self.snakemake("--cores", "2", *extra, "--", *targets)
