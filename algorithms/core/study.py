"""A study: from its config to the list of runs, with every mistake found before anything trains."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from algorithms.core.config import PROJECT_ROOT, ConfigError, Value, algorithm_ids, allowed, load_algorithm
from envs_mbbl.tasks import TASKS

FORMAT = 1
EVERY_OTHER = "*"
SCALES = ("paper", "desk", "smoke")


@dataclass(frozen=True)
class Label:
    """One row of a table: an algorithm, or a variant of one."""

    algorithm: str
    variant: str | None
    title: str
    overrides: Mapping[str, Value]

    @property
    def id(self) -> str:
        return self.algorithm if self.variant is None else f"{self.algorithm}@{self.variant}"


@dataclass(frozen=True)
class PlannedRun:
    """One run of the study."""

    label: str
    task: str
    seed: int
    steps: int

    @property
    def path(self) -> str:
        """Where its results go, below the study's folder."""
        return f"runs/{self.label}/{self.task}/seed-{self.seed}"


@dataclass(frozen=True)
class Study:
    """A validated study."""

    name: str
    scale: str
    steps: int
    seeds: tuple[int, ...]
    window: int
    metric: str
    straddle: str
    evaluation: Mapping[str, int]
    theory: bool
    labels: Mapping[str, Label]
    runs: tuple[PlannedRun, ...]
    tables: tuple[Mapping[str, Any], ...]
    figures: tuple[Mapping[str, Any], ...]

    @staticmethod
    def from_config(config: Mapping[str, Any], root: Path = PROJECT_ROOT) -> Study:
        """Validate and expand; raises ConfigError with all that is wrong."""
        _check_shape(config, root)
        return _Expansion(config, root).study()

    def to_json(self, root: Path = PROJECT_ROOT) -> dict[str, Any]:
        """The content of study.json: all that the analysis knows about the study."""
        used_tasks = dict.fromkeys(run.task for run in self.runs)
        return {
            "format": FORMAT,
            "study": self.name,
            "scale": self.scale,
            "steps": self.steps,
            "seeds": list(self.seeds),
            "window": self.window,
            "metric": self.metric,
            "straddle": self.straddle,
            "evaluation": dict(self.evaluation),
            "theory": self.theory,
            "tasks": {
                name: {"paper_name": TASKS[name].paper_name, "horizon": TASKS[name].horizon}
                for name in used_tasks
            },
            "labels": {name: self._label_json(label, root) for name, label in self.labels.items()},
            "runs": [
                {"label": run.label, "task": run.task, "seed": run.seed, "steps": run.steps, "path": run.path}
                for run in self.runs
            ],
            "tables": [dict(table) for table in self.tables],
            "figures": [dict(figure) for figure in self.figures],
        }

    def _label_json(self, label: Label, root: Path) -> dict[str, Any]:
        algorithm = load_algorithm(label.algorithm, root)
        return {
            "algorithm": label.algorithm,
            "variant": label.variant,
            "title": label.title,
            "kind": algorithm.kind,
            "summary": algorithm.summary,
            "overrides": dict(label.overrides),
            "config": algorithm.resolve(self.scale, overrides=label.overrides),
        }


def load_study(*paths: Path, root: Path = PROJECT_ROOT) -> Study:
    """The study of the default config with overlays, merged as Snakemake's --configfile does."""
    config: dict[str, Any] = {}
    for path in (root / "config" / "paper.yaml", *paths):
        merge_into(config, yaml.safe_load(path.read_text()))
    return Study.from_config(config, root)


def use_this_python() -> None:
    """Jobs use the Python that runs Snakemake, also when its environment was not activated."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def merge_into(config: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    """Dictionaries are merged key by key, everything else is replaced."""
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(config.get(key), dict):
            merge_into(config[key], value)
        else:
            config[key] = value


def _check_shape(config: Mapping[str, Any], root: Path) -> None:
    schema = yaml.safe_load((root / "config" / "schema.yaml").read_text())
    errors = sorted(
        jsonschema.Draft202012Validator(schema).iter_errors(config), key=lambda error: error.json_path
    )
    if errors:
        raise ConfigError("the study's config is wrong:\n" + "\n".join(f"  - {_explain(e)}" for e in errors))


def _explain(error: jsonschema.ValidationError) -> str:
    """Key, value and what is allowed, in plain words."""
    key = error.json_path.removeprefix("$.") if error.json_path != "$" else "the config"
    value: Any = error.instance
    limit: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            schema: Any = error.schema
            known = schema.get("properties", {})
            unknown = sorted(set(value) - set(known))
            return f"{key}: unknown key {', '.join(map(repr, unknown))}; {allowed(known)}"
        case "required":
            return f"{key}: {error.message}"
        case "enum":
            return f"{key} = {value!r}; {allowed(limit)}"
        case "uniqueItems":
            twice = sorted({str(item) for item in value if value.count(item) > 1})
            return f"{key} = {value!r} has {', '.join(twice)} more than once; allowed: each item once"
        case "minimum":
            return f"{key} = {value!r}; allowed: whole numbers from {limit}"
        case "pattern":
            return f"{key} = {value!r}; allowed: small letters, digits and hyphens ({limit})"
        case "type":
            return f"{key} = {value!r} is of the wrong type; allowed: {limit}"
    return f"{key} = {value!r}: {error.message}"


class _Expansion:
    """Turns a config of the right shape into a Study, collecting what is wrong on the way."""

    def __init__(self, config: Mapping[str, Any], root: Path) -> None:
        self.config = config
        self.root = root
        self.problems: list[str] = []
        self.labels: dict[str, Label] = {}
        self.runs: dict[PlannedRun, None] = {}  # ordered, each once, however many entries name it
        self.known = algorithm_ids(root)

    def study(self) -> Study:
        config = self.config
        if config["scale"] not in SCALES:
            self.problems.append(f"scale = {config['scale']!r}; {allowed(SCALES)}")
        if config["window"] > config["steps"]:
            self.problems.append(f"window = {config['window']} is longer than steps = {config['steps']}")
        for name, tasks in config["task_sets"].items():
            self._tasks(tasks, f"task_sets.{name}")
        for index, entry in enumerate(config["runs"]):
            self._add_entry(entry, f"runs[{index}]")
        tables = [self._table(table, f"tables[{i}]") for i, table in enumerate(config["tables"])]
        figures = [self._figure(figure, f"figures[{i}]") for i, figure in enumerate(config["figures"])]
        for kind in ("tables", "figures"):
            self._check_ids_unique(kind)
        if self.problems:
            lines = "\n".join(f"  - {problem}" for problem in self.problems)
            raise ConfigError(f"the study's config is wrong:\n{lines}")
        return Study(
            name=config["study"],
            scale=config["scale"],
            steps=config["steps"],
            seeds=tuple(config["seeds"]),
            window=config["window"],
            metric=config["metric"],
            straddle=config["straddle"],
            evaluation=config["evaluation"],
            theory=config["theory"],
            labels=self.labels,
            runs=tuple(self.runs),
            tables=tuple(tables),
            figures=tuple(figures),
        )

    def _add_entry(self, entry: Mapping[str, Any], where: str) -> None:
        tasks = self._tasks(entry["tasks"], f"{where}.tasks")
        for algorithm in self._algorithms(entry["algorithm"], f"{where}.algorithm"):
            for label in self._labels(algorithm, entry.get("variants"), where):
                if self.labels.setdefault(label.id, label) != label:
                    self.problems.append(f"{where}.variants: {label.id!r} is defined twice, differently")
                for task in tasks:
                    for seed in entry.get("seeds", self.config["seeds"]):
                        run = PlannedRun(label.id, task, seed, entry.get("steps", self.config["steps"]))
                        self.runs[run] = None

    def _algorithms(self, name: str, where: str) -> list[str]:
        if name == EVERY_OTHER:
            named = {entry["algorithm"] for entry in self.config["runs"]}
            return [algorithm for algorithm in self.known if algorithm not in named]
        if name not in self.known:
            self.problems.append(f"{where} = {name!r} is unknown; {allowed([*self.known, EVERY_OTHER])}")
            return []
        return [name]

    def _labels(self, algorithm: str, variants: Mapping[str, Any] | None, where: str) -> Iterator[Label]:
        try:
            loaded = load_algorithm(algorithm, self.root)
            if variants is None:
                yield Label(algorithm, None, loaded.title, {})
            for name, variant in (variants or {}).items():
                loaded.resolve(self.config["scale"], overrides=variant["overrides"])
                yield Label(algorithm, name, variant["title"], variant["overrides"])
        except ConfigError as error:
            self.problems.append(f"{where}: {error}")

    def _tasks(self, tasks: str | Sequence[str], where: str) -> list[str]:
        """A list of tasks, or the name of a set of them."""
        sets = self.config["task_sets"]
        if isinstance(tasks, str):
            if tasks not in sets:
                self.problems.append(f"{where} = {tasks!r} is not one of task_sets; {allowed(sets)}")
                return []
            return list(sets[tasks])
        for task in tasks:
            if task not in TASKS:
                self.problems.append(f"{where}: unknown task {task!r}; {allowed(TASKS)}")
        return [task for task in tasks if task in TASKS]

    def _table(self, table: Mapping[str, Any], where: str) -> dict[str, Any]:
        panels = [self._tasks(panel, f"{where}.panels") for panel in table["panels"]]
        for group in table["groups"]:
            names = [row if isinstance(row, str) else row["label"] for row in group["labels"]]
            self._check_planned(
                names, [task for panel in panels for task in panel], f"{where} ({table['id']})"
            )
        return {"paper_table": None, "others": False, **table, "panels": panels}

    def _figure(self, figure: Mapping[str, Any], where: str) -> dict[str, Any]:
        tasks = self._tasks(figure["tasks"], f"{where}.tasks")
        if figure["labels"] != EVERY_OTHER:
            self._check_planned(figure["labels"], tasks, f"{where} ({figure['id']})")
        return {**figure, "tasks": tasks}

    def _check_planned(self, labels: Iterable[str], tasks: Sequence[str], where: str) -> None:
        """A table or figure may show only what the study runs; else it could never be complete."""
        planned = {(run.label, run.task) for run in self.runs}
        for label in labels:
            if label not in self.labels:
                self.problems.append(f"{where}: {label!r} is not a run of this study; {allowed(self.labels)}")
                continue
            missing = [task for task in tasks if (label, task) not in planned]
            if missing:
                has = allowed(task for name, task in planned if name == label)
                self.problems.append(f"{where}: {label!r} has no runs on {', '.join(missing)}; {has}")

    def _check_ids_unique(self, kind: str) -> None:
        ids = [item["id"] for item in self.config[kind]]
        for name in sorted({name for name in ids if ids.count(name) > 1}):
            self.problems.append(f"{kind}: id {name!r} is used more than once; allowed: each id once")
