"""The project stands on its own: one set of pins, packages that install, dependencies that point one way."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

PACKAGES = ("envs_mbbl", "algorithms", "analysis")


@pytest.fixture(scope="module")
def pins(root: Path) -> list[str]:
    dependencies: list[str] = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    return dependencies


def test_conda_and_pip_have_the_same_pins(root: Path, pins: list[str]) -> None:
    environment = yaml.safe_load((root / "environment.yml").read_text())
    (pip,) = [item["pip"] for item in environment["dependencies"] if isinstance(item, dict)]
    assert sorted(pip) == sorted(pins)
    assert "python=3.11" in environment["dependencies"]


def test_every_dependency_is_pinned_and_installed_so(pins: list[str]) -> None:
    for pin in pins:
        name, separator, wanted = pin.partition("==")
        assert separator, f"{pin} is not pinned"
        installed = version(re.sub(r"\[.*\]", "", name))
        assert installed.partition("+")[0] == wanted


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("envs_mbbl", {"algorithms", "analysis"}),
        ("algorithms", {"analysis"}),
        ("analysis", {"algorithms", "envs_mbbl"}),
    ],
)
def test_dependencies_point_one_way(root: Path, package: str, forbidden: set[str]) -> None:
    for path in (root / package).rglob("*.py"):
        assert not imports(path) & forbidden, path


def test_the_wheel_carries_code_types_and_data(root: Path, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", *PACKAGES):
        (tmp_path / name).symlink_to(root / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        "out",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "out").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        path.relative_to(root).as_posix() for package in PACKAGES for path in (root / package).rglob("*.py")
    }
    expected |= {f"{package}/py.typed" for package in PACKAGES}
    expected |= {path.relative_to(root).as_posix() for path in root.glob("algorithms/*/config.yaml")}
    for data in (
        "analysis/reference/*.[cj]*",
        "analysis/report/page.*",
        "analysis/**/*.rst",
        "envs_mbbl/*.csv",
    ):
        expected |= {path.relative_to(root).as_posix() for path in root.glob(data)}
    assert expected <= names, sorted(expected - names)


def test_nothing_outside_the_tree_is_named(root: Path) -> None:
    done = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    outside = re.compile(r"/work/|\.\./shared|shared/facts")
    for name in done.stdout.splitlines():
        path = root / name
        if path.suffix in (".py", ".md", ".yaml", ".yml", ".toml", ".smk", ".csv", "") and path.is_file():
            if path == Path(__file__):
                continue
            assert not outside.search(path.read_text(errors="ignore")), name


def test_every_algorithm_folder_is_complete(root: Path) -> None:
    for config in root.glob("algorithms/*/config.yaml"):
        for name in ("__init__.py", "agent.py", "README.md"):
            assert (config.parent / name).exists(), f"{config.parent.name} has no {name}"
