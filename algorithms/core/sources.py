"""Which files a run depends on, found by following the imports, and a fingerprint of them.

The same list is the `input:` of the training rule (so an edit retrains exactly what it concerns) and
part of the fingerprint of a checkpoint (so a checkpoint is never continued by other code).
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from algorithms.core.config import PROJECT_ROOT, load_algorithm
from envs_mbbl.tasks import TASKS

PACKAGES = ("algorithms", "envs_mbbl")
NUMERICAL_LIBRARIES = ("torch", "numpy", "gymnasium", "mujoco", "scipy", "stable-baselines3", "sb3-contrib")


@cache
def source_files(algorithm: str, task: str, root: Path = PROJECT_ROOT) -> tuple[Path, ...]:
    """Every file of the project, relative to its root, that can change what a run does."""
    family = (algorithm, *load_algorithm(algorithm, root).ancestors)
    configs = {Path("algorithms") / folder / "config.yaml" for folder in family}
    simulator = TASKS[task].simulator.partition(":")[0]  # the one module that is loaded by its name
    modules = _closure(
        ("algorithms.core.train", f"algorithms.{algorithm}.agent", f"envs_mbbl.{simulator}"), root
    )
    return tuple(sorted(configs | modules))


def _closure(start: Iterable[str], root: Path) -> set[Path]:
    """Files of the modules in `start` and of all that they import, directly or not."""
    found: set[Path] = set()
    waiting = list(start)
    while waiting:
        for path in _files_of_module(waiting.pop(), root):
            if path not in found:
                found.add(path)
                waiting.extend(_imports_of(path, root))
    return found


@cache
def _files_of_module(module: str, root: Path) -> tuple[Path, ...]:
    """The module's file and the `__init__.py` of every package on the way to it."""
    parts = module.split(".")
    if parts[0] not in PACKAGES:
        return ()
    packages = [Path(*parts[:depth]) / "__init__.py" for depth in range(1, len(parts) + 1)]
    candidates = [*packages, Path(*parts[:-1], parts[-1] + ".py")]
    return tuple(path for path in candidates if (root / path).is_file())


@cache
def _imports_of(path: Path, root: Path) -> tuple[str, ...]:
    """Modules that the file imports, anywhere in it (a lazy import inside a function counts too)."""
    names: list[str] = []
    for node in ast.walk(ast.parse((root / path).read_text(), filename=str(path))):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = path.parent.parts[: len(path.parent.parts) - node.level + 1]
                base = ".".join([*package, *([base] if base else [])])
            names.append(base)
            names.extend(f"{base}.{alias.name}" for alias in node.names)
    return tuple(names)


def library_versions(names: Iterable[str] = NUMERICAL_LIBRARIES) -> dict[str, str]:
    return {name: version(name) for name in names}


def fingerprint(algorithm: str, task: str, settings: Mapping[str, Any], root: Path = PROJECT_ROOT) -> str:
    """A hash of all that decides the bytes of a run's results: settings, sources, library versions."""
    content = {
        "settings": settings,
        "sources": {
            path.as_posix(): hashlib.sha256((root / path).read_bytes()).hexdigest()
            for path in source_files(algorithm, task, root)
        },
        "versions": library_versions(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
