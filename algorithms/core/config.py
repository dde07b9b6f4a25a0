"""Discovery of the algorithm folders and resolution of their hyper-parameters.

A folder of `algorithms/` with a `config.yaml` is an algorithm; nothing else has to be registered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PROJECT_ROOT = Path(__file__).resolve().parents[2]
KINDS = ("representation", "model-free", "model-based", "reference")
CONFIG_KEYS = (
    "title",
    "summary",
    "kind",
    "extends",
    "cost",
    "evaluation_episodes",
    "defaults",
    "scales",
    "tasks",
)
DEFAULT_COST = {"mem_mb": 2000, "ms_per_step": 20.0}

Value = bool | int | float | str | list[Any] | None


class ConfigError(ValueError):
    """A setting is wrong. The message names the key, the value and what is allowed."""


@dataclass(frozen=True)
class Algorithm:
    """One folder of `algorithms/`, with its parents' settings already merged in."""

    id: str
    title: str
    summary: str
    kind: str
    ancestors: tuple[str, ...]  # the folders it extends, nearest first
    cost: Mapping[str, float]
    evaluation_episodes: (
        int | None
    )  # at most so many: for planners, to which an evaluation costs as much as training
    defaults: Mapping[str, Value]
    scales: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def resolve(
        self, scale: str = "paper", task: str | None = None, overrides: Mapping[str, Value] | None = None
    ) -> dict[str, Value]:
        """Hyper-parameters of one run: defaults < scale < task < overrides."""
        layers: list[tuple[str, Mapping[str, Value]]] = [
            (f"scale {scale}", self.scales.get(scale, {})),
            (f"task {task}", self.tasks.get(task, {}) if task else {}),
            ("overrides", overrides or {}),
        ]
        resolved = dict(self.defaults)
        for layer, values in layers:
            for key, value in values.items():
                resolved[key] = self._checked(key, value, layer)
        return resolved

    def _checked(self, key: str, value: Value, layer: str) -> Value:
        """The value, if the key exists and its type fits the default's."""
        if key not in self.defaults:
            raise ConfigError(
                f"{self.id}: unknown setting {key!r} (value {value!r}) in {layer}; {allowed(self.defaults)}"
            )
        return checked_type(f"{self.id}: {layer}: {key}", value, self.defaults[key])


def allowed(names: Iterable[object]) -> str:
    return "allowed: " + ", ".join(sorted(str(name) for name in names))


def checked_type(where: str, value: Value, default: Value) -> Value:
    """YAML reads `3e-4` as a string: say so here rather than deep inside an optimiser."""
    if default is None or value is None or isinstance(value, type(default)):
        # bool is an int for isinstance, but `steps: true` is a mistake
        if isinstance(value, bool) and isinstance(default, int) and not isinstance(default, bool):
            raise ConfigError(f"{where} = {value!r} must be a whole number")
        return value
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    hint = " (YAML needs a dot in a number with an exponent: write 3.0e-4)" if isinstance(value, str) else ""
    raise ConfigError(f"{where} = {value!r} must be of type {type(default).__name__}, like {default!r}{hint}")


def algorithm_ids(root: Path = PROJECT_ROOT) -> list[str]:
    """The discovered folders, in alphabetical order."""
    return sorted(path.parent.name for path in (root / "algorithms").glob("*/config.yaml"))


@cache
def load_algorithm(identifier: str, root: Path = PROJECT_ROOT, children: tuple[str, ...] = ()) -> Algorithm:
    """Read `algorithms/<identifier>/config.yaml` and, if it extends another folder, that one's too."""
    known = algorithm_ids(root)
    if identifier not in known:
        raise ConfigError(f"unknown algorithm {identifier!r}; {allowed(known)}")
    if identifier in children:
        raise ConfigError("extends goes round in a circle: " + " -> ".join([*children, identifier]))
    path = root / "algorithms" / identifier / "config.yaml"
    raw = _read(path)
    parent = load_algorithm(raw["extends"], root, (*children, identifier)) if "extends" in raw else None
    scales = {name: dict(values) for name, values in (parent.scales if parent else {}).items()}
    for name, values in (raw.get("scales") or {}).items():
        scales[name] = {**scales.get(name, {}), **(values or {})}
    tasks = {name: dict(values) for name, values in (parent.tasks if parent else {}).items()}
    for name, values in (raw.get("tasks") or {}).items():
        tasks[name] = {**tasks.get(name, {}), **(values or {})}
    algorithm = Algorithm(
        id=identifier,
        title=raw["title"],
        summary=raw["summary"],
        kind=raw["kind"],
        ancestors=(parent.id, *parent.ancestors) if parent else (),
        cost={**(parent.cost if parent else DEFAULT_COST), **(raw.get("cost") or {})},
        evaluation_episodes=raw.get("evaluation_episodes", parent.evaluation_episodes if parent else None),
        defaults={**(parent.defaults if parent else {}), **(raw.get("defaults") or {})},
        scales=scales,
        tasks=tasks,
    )
    for scale in scales:  # a misspelt key in a scale or a task is found at once, not when it is first used
        algorithm.resolve(scale)
    for task in tasks:
        algorithm.resolve(task=task)
    return algorithm


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: must be a mapping; {allowed(CONFIG_KEYS)}")
    for key in raw:
        if key not in CONFIG_KEYS:
            raise ConfigError(f"{path}: unknown key {key!r} (value {raw[key]!r}); {allowed(CONFIG_KEYS)}")
    for key in ("title", "summary", "kind"):
        if not isinstance(raw.get(key), str):
            raise ConfigError(f"{path}: {key} must be given, as a string")
    episodes = raw.get("evaluation_episodes", 1)
    if not isinstance(episodes, int) or episodes < 1:
        raise ConfigError(f"{path}: evaluation_episodes = {episodes!r}; allowed: whole numbers from 1")
    if raw["kind"] not in KINDS:
        raise ConfigError(f"{path}: kind = {raw['kind']!r}; {allowed(KINDS)}")
    return raw


def parse_setting(text: str) -> tuple[str, Value]:
    """`key=value` of the command line; the value is YAML, so `hidden=[64,64]` and `momentum=0.9` work."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ConfigError(f"--set {text!r} must have the form key=value")
    return key, yaml.safe_load(value)
