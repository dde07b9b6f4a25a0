"""The files a run depends on are found by following the imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from algorithms.core.config import algorithm_ids, load_algorithm
from algorithms.core.sources import fingerprint, source_files


def names(algorithm: str, root: Path) -> set[str]:
    return {path.as_posix() for path in source_files(algorithm, "Pendulum", root)}


def test_own_files_core_and_environments_but_no_other_algorithm(root: Path) -> None:
    files = names("random", root)
    assert {"algorithms/random/agent.py", "algorithms/random/config.yaml"} <= files
    assert {"algorithms/core/run.py", "algorithms/core/loop.py", "envs_mbbl/tasks.py"} <= files
    assert "algorithms/core/sb3.py" not in files, (
        "a file that the algorithm does not import must not retrain it"
    )
    assert not any(file.startswith(f"algorithms/{other}/") for other in ("ppo", "sac") for file in files)
    assert not any(file.endswith(".md") for file in files)
    assert not {"algorithms/core/study.py", "algorithms/core/watch.py"} & files


@pytest.mark.parametrize("algorithm", algorithm_ids())
def test_a_folder_imports_another_only_if_it_extends_it(root: Path, algorithm: str) -> None:
    permitted = {"core", algorithm, *load_algorithm(algorithm).ancestors}
    folders = {
        path.parts[1]
        for path in source_files(algorithm, "Pendulum", root)
        if path.parts[0] == "algorithms" and len(path.parts) > 2
    }
    assert folders <= permitted


def test_the_simulator_of_the_task_and_no_other(root: Path) -> None:
    pendulum, hopper = (
        {path.name for path in source_files("random", task, root)} for task in ("Pendulum", "Hopper-ET")
    )
    assert "classic.py" in pendulum - hopper
    assert "locomotion.py" in hopper - pendulum


def make_tree(root: Path) -> None:
    files = {
        "algorithms/__init__.py": "",
        "algorithms/core/__init__.py": "",
        "algorithms/core/train.py": "import os\nfrom algorithms.core.run import Run\n",
        "algorithms/core/run.py": "def late():\n    from envs_mbbl import walker\n",
        "algorithms/core/other.py": "",
        "algorithms/a/__init__.py": "",
        "algorithms/a/agent.py": "from . import parts\nfrom ..core import sac as s\n",
        "algorithms/a/parts.py": "",
        "algorithms/a/README.md": "",
        "algorithms/a/config.yaml": "{title: A, summary: s, kind: reference}",
        "algorithms/core/sac.py": "",
        "envs_mbbl/__init__.py": "",
        "envs_mbbl/walker.py": "",
        "envs_mbbl/classic.py": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_relative_lazy_and_package_imports(tmp_path: Path) -> None:
    make_tree(tmp_path)
    assert names("a", tmp_path) == {
        *("algorithms/__init__.py", "algorithms/core/__init__.py", "algorithms/core/train.py"),
        *("algorithms/core/run.py", "algorithms/core/sac.py", "algorithms/a/__init__.py"),
        *("algorithms/a/agent.py", "algorithms/a/parts.py", "algorithms/a/config.yaml"),
        *("envs_mbbl/__init__.py", "envs_mbbl/walker.py", "envs_mbbl/classic.py"),
    }


def test_the_fingerprint_follows_settings_and_sources(tmp_path: Path) -> None:
    make_tree(tmp_path)
    first = fingerprint("a", "Pendulum", {"seed": 1}, tmp_path)
    assert fingerprint("a", "Pendulum", {"seed": 1}, tmp_path) == first
    assert fingerprint("a", "Pendulum", {"seed": 2}, tmp_path) != first
    (tmp_path / "algorithms/a/README.md").write_text("words")
    (tmp_path / "algorithms/core/other.py").write_text("x = 1")
    assert fingerprint("a", "Pendulum", {"seed": 1}, tmp_path) == first
    (tmp_path / "algorithms/a/parts.py").write_text("x = 1")
    assert fingerprint("a", "Pendulum", {"seed": 1}, tmp_path) != first
