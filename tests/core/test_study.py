"""A wrong study is refused before anything trains, with a message that names key, value and what is allowed."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.utils import update_config

from algorithms.core.config import ConfigError, algorithm_ids
from algorithms.core.study import Study, load_study, merge_into


@pytest.fixture(scope="module")
def smoke(root: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((root / "config/paper.yaml").read_text())
    merge_into(config, yaml.safe_load((root / "config/smoke.yaml").read_text()))
    return config


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(config: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        target: Any = config
        for key in parents:
            target = target[int(key) if key.isdigit() else key]
        target[int(last) if last.isdigit() else last] = value

    return apply


TABLE = {"id": "t", "caption": ""}
ENTRY = {"algorithm": "ppo", "tasks": ["Ant"]}
MISTAKES = {
    "unknown key": (change("sedes", [1]), ["'sedes'", "allowed:", "seeds"]),
    "unknown task": (change("runs.0.tasks", ["Pendulm"]), ["runs[0].tasks", "'Pendulm'", "Pendulum"]),
    "unknown task set": (change("runs.0.tasks", "mian"), ["runs[0].tasks", "'mian'", "main"]),
    "unknown algorithm": (change("runs.0.algorithm", "spedee"), ["runs[0].algorithm", "'spedee'", "spede"]),
    "negative steps": (change("steps", -5), ["steps", "-5", "from 1"]),
    "steps as text": (change("steps", "2e5"), ["steps", "'2e5'", "integer"]),
    "a seed twice": (change("seeds", [0, 1, 1]), ["seeds", "[0, 1, 1]", "1 more than once"]),
    "negative seed": (change("seeds", [-1]), ["seeds", "-1", "from 0"]),
    "unknown metric": (change("metric", "best"), ["metric", "'best'", "evaluation, training"]),
    "unknown straddle rule": (change("straddle", "half"), ["straddle", "'half'", "end, inside, weighted"]),
    "unknown scale": (change("scale", "huge"), ["scale", "'huge'", "desk, paper, smoke"]),
    "window longer than run": (change("window", 5000), ["window", "5000", "1200"]),
    "study name with a slash": (change("study", "a/b"), ["study", "'a/b'", "allowed"]),
    "nested unknown key": (change("evaluation", {"every": 5, "epsiodes": 2}), ["'epsiodes'", "episodes"]),
    "table of a run that is not there": (
        change("tables.0.groups", [{"title": "x", "labels": ["nobody"]}]),
        ["tables[0] (table1)", "'nobody'", "not a run of this study", "random"],
    ),
    "table of a task that is not run": (
        change("tables.0", {**TABLE, "panels": [["Ant"]], "groups": [{"title": "", "labels": ["ppo"]}]}),
        ["tables[0] (t)", "'ppo'", "no runs on Ant", "Pendulum"],
    ),
    "figure of a run that is not there": (change("figures.0.labels", ["nobody"]), ["figures[0]", "'nobody'"]),
    "unknown hyper-parameter": (
        change("runs.0", {**ENTRY, "variants": {"a": {"title": "", "overrides": {"gama": 1}}}}),
        ["runs[0]", "'gama'", "gamma"],
    ),
    "hyper-parameter that YAML read as text": (
        change("runs.0", {**ENTRY, "variants": {"a": {"title": "", "overrides": {"gamma": "9e-1"}}}}),
        ["gamma", "'9e-1'", "float", "3.0e-4"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(smoke: dict[str, Any], mistake: str) -> None:
    config = copy.deepcopy(smoke)
    apply, expected = MISTAKES[mistake]
    apply(config)
    with pytest.raises(ConfigError) as caught:
        Study.from_config(config)
    for words in expected:
        assert words in str(caught.value)


def test_all_mistakes_are_reported_at_once(smoke: dict[str, Any]) -> None:
    config = copy.deepcopy(smoke)
    config["scale"], config["runs"][0]["tasks"] = "huge", ["Pendulm"]
    with pytest.raises(ConfigError, match=r"(?s)'huge'.*'Pendulm'"):
        Study.from_config(config)


def test_the_smoke_study_has_every_discovered_algorithm(root: Path) -> None:
    study = load_study(root / "config/smoke.yaml")
    assert set(study.labels) == set(algorithm_ids())
    assert {run.task for run in study.runs} == {"Pendulum", "Hopper-ET"}
    assert len(study.runs) == 4 * len(study.labels)


def test_the_paper_study_is_the_papers(root: Path) -> None:
    study = load_study()
    tasks = Counter(run.label for run in study.runs if run.seed == 0)
    assert study.seeds == (0, 1, 2, 3)
    assert study.steps == 200_000
    assert (tasks["deepsf"], tasks["sac"], tasks["spede_reg"], tasks["spede_mlp"]) == (12, 12, 10, 8)
    assert tasks["spede"] == 12 + 2  # and HalfCheetah for the feature ablation, Hopper for LC3
    assert tasks["spede@momentum-0.9"] == tasks["spede@momentum-0.99"] == 4
    features = [label for label in study.labels if label.startswith("spede@features-")]
    assert len(features) == 4
    assert set(algorithm_ids()) <= set(study.labels), "every baseline is part of the paper study"
    assert len(set(study.runs)) == len(study.runs), "a run that several tables share exists once"


def test_overlays_merge_as_snakemake_merges_them(root: Path) -> None:
    for overlay in sorted((root / "config").glob("**/*.yaml")):
        if overlay.name in ("schema.yaml", "paper.yaml"):
            continue
        ours, theirs = (yaml.safe_load((root / "config/paper.yaml").read_text()) for _ in range(2))
        changes = yaml.safe_load(overlay.read_text())
        merge_into(ours, changes)
        update_config(theirs, changes)
        assert ours == theirs
        Study.from_config(ours)  # every study that we ship is valid


def test_an_entry_can_have_steps_and_seeds_of_its_own(smoke: dict[str, Any]) -> None:
    config = copy.deepcopy(smoke)
    config["runs"] = [{"algorithm": "random", "tasks": ["Pendulum", "Hopper-ET"], "steps": 50, "seeds": [7]}]
    study = Study.from_config(config)
    assert {(run.steps, run.seed) for run in study.runs} == {(50, 7)}


def test_no_table_uses_the_calibrations_seeds(root: Path) -> None:
    """Settings are tuned in the sweeps, on seeds from 100; what we report is on others."""
    for overlay in sorted((root / "config").glob("**/*.yaml")):
        if overlay.name != "schema.yaml":
            calibration = overlay.parent.name == "sweeps"
            for run in load_study(overlay).runs:
                assert (run.seed >= 100) is calibration, f"{overlay.name}: seed {run.seed}"
