"""A made-up study of the paper's size: returns drawn around the published figures.

`python -m analysis.synthetic results/synthetic` writes `study.json` and the run directories, so that every
table and figure can be rendered before anything was trained. The numbers mean nothing and the page says so
(the study's scale is `synthetic`).
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from analysis import reference
from analysis.files import write_text
from analysis.window import Floats

# task → (the paper's name, horizon)
TASKS: dict[str, tuple[str, int]] = {
    "Swimmer-v0": ("Swimmer", 1000),
    "Reacher": ("Reacher", 50),
    "MountainCar": ("MountainCar", 200),
    "Pendulum": ("Pendulum", 200),
    "InvertedPendulum": ("I-Pendulum", 100),
    "Ant-ET": ("Ant-ET", 1000),
    "Hopper-ET": ("Hopper-ET", 1000),
    "SlimHumanoid-ET": ("S-Humanoid-ET", 1000),
    "Humanoid-ET": ("Humanoid-ET", 1000),
    "Walker2D-ET": ("Walker-ET", 1000),
    "CartPole": ("Cartpole", 200),
    "Acrobot": ("Acrobot", 200),
    "Hopper": ("Hopper", 1000),
    "HalfCheetah": ("HalfCheetah", 1000),
}
EARLY_FALL = 30  # steps of a first episode where falling ends it
MAIN = list(TASKS)[:10]
FULL = list(TASKS)[:12]
MOMENTUM = ["Hopper-ET", "Ant-ET", "SlimHumanoid-ET", "Humanoid-ET"]
MLP = [
    "Reacher",
    "MountainCar",
    "CartPole",
    "Acrobot",
    "Pendulum",
    "InvertedPendulum",
    "Walker2D-ET",
    "SlimHumanoid-ET",
]
FEATURES = (128, 256, 512, 2048)

# label → (title, kind, tasks)
LABELS: dict[str, tuple[str, str, list[str]]] = {
    "me_trpo": ("ME-TRPO", "model-based", FULL),
    "pets_rs": ("PETS-RS", "model-based", FULL),
    "pets_cem": ("PETS-CEM", "model-based", FULL),
    "deepsf": ("DeepSF", "representation", FULL),
    "spede": ("SPEDE", "representation", [*FULL, "Hopper", "HalfCheetah"]),
    "ppo": ("PPO", "model-free", FULL),
    "trpo": ("TRPO", "model-free", FULL),
    "td3": ("TD3", "model-free", FULL),
    "sac": ("SAC", "model-free", FULL),
    "spede_reg": ("SPEDE-REG", "representation", MAIN),
    "spede_mlp": ("SPEDE-MLP", "representation", MLP),
    "lc3": ("LC3", "model-based", ["Reacher", "MountainCar", "Hopper-ET", "Hopper"]),
    "random": ("Random", "reference", FULL),
    "spede@momentum-0.9": ("SPEDE-0.9", "representation", MOMENTUM),
    "spede@momentum-0.99": ("SPEDE-0.99", "representation", MOMENTUM),
    **{f"spede@features-{m}": (f"SPEDE ({m} features)", "representation", ["HalfCheetah"]) for m in FEATURES},
}


def study_json(name: str = "synthetic", steps: int = 200_000, seeds: int = 4) -> dict[str, Any]:
    """The whole study in the format of `docs/architecture.md`."""
    runs = [
        {
            "label": label,
            "task": task,
            "seed": seed,
            "steps": steps,
            "path": f"runs/{label}/{task}/seed-{seed}",
        }
        for label, (_, _, tasks) in LABELS.items()
        for task in tasks
        for seed in range(seeds)
    ]
    return {
        "format": 1,
        "study": name,
        "scale": "synthetic",
        "steps": steps,
        "seeds": list(range(seeds)),
        "window": max(steps // 20, 1),
        "metric": "evaluation",
        "evaluation": {"every": max(steps // 40, 1), "episodes": 10},
        "tasks": {
            task: {"paper_name": paper, "horizon": horizon} for task, (paper, horizon) in TASKS.items()
        },
        "labels": {label: _label(label) for label in LABELS},
        "runs": runs,
        "tables": _tables(),
        "figures": [
            {"id": "curves", "caption": "Return against environment steps", "tasks": FULL, "labels": "*"},
            {
                "id": "random-features",
                "caption": "The number of random features, on HalfCheetah",
                "tasks": ["HalfCheetah"],
                "labels": [
                    *(f"spede@features-{m}" for m in FEATURES[:3]),
                    "spede",
                    f"spede@features-{FEATURES[3]}",
                ],
            },
        ],
    }


def _label(label: str) -> dict[str, Any]:
    algorithm, _, variant = label.partition("@")
    title, kind, _ = LABELS[label]
    config: dict[str, Any] = {"batch_size": 256, "gamma": 0.99}
    overrides: dict[str, Any] = {}
    if algorithm.startswith("spede") or algorithm == "deepsf":
        config |= {"actor_lr": 3e-4, "model_lr": 1e-4, "actor_hidden": [1024, 1024, 1024]}
        config |= {"features": 1024, "tau": 0.005, "momentum": 0.999}
    if variant:
        key, value = variant.split("-")
        overrides = {key: float(value) if "." in value else int(value)}
    return {
        "algorithm": algorithm,
        "variant": variant or None,
        "title": title,
        "kind": kind,
        "overrides": overrides,
        "config": config | overrides,
    }


def _tables() -> list[dict[str, Any]]:
    learned = [
        {"title": "Model-based RL", "labels": ["me_trpo", "pets_rs", "pets_cem", "deepsf", "spede"]},
        {"title": "Model-free RL", "labels": ["ppo", "trpo", "td3", "sac", "spede_reg"]},
    ]
    appendix = [learned[0], {"title": "Model-free RL", "labels": ["sac"]}]
    momentum = ["spede@momentum-0.9", "spede@momentum-0.99", {"label": "spede", "title": "SPEDE-0.999"}]
    head = [{"label": "spede", "title": "SPEDE-Linear"}, "spede_mlp", "sac"]

    def table(
        name: str, caption: str, paper: str, panels: list[list[str]], groups: list[Any]
    ) -> dict[str, Any]:
        return {
            "id": name,
            "caption": caption,
            "paper_table": paper,
            "panels": panels,
            "groups": groups,
            "others": False,
        }

    return [
        table(
            "table1",
            "Performance on the MBBL tasks (the paper's Table 1)",
            "main_table1",
            [MAIN[:5], MAIN[5:]],
            learned,
        )
        | {"others": True},
        table(
            "appendix",
            "Performance on all 12 tasks (the paper's appendix)",
            "appendix_full",
            [
                ["Swimmer-v0", "Ant-ET", "Hopper-ET", "Pendulum"],
                ["Reacher", "CartPole", "InvertedPendulum", "Walker2D-ET"],
                ["MountainCar", "Acrobot", "SlimHumanoid-ET", "Humanoid-ET"],
            ],
            appendix,
        ),
        table(
            "momentum",
            "The momentum of the representation",
            "appendix_momentum",
            [MOMENTUM],
            [{"title": "", "labels": momentum}],
        ),
        table(
            "mlp",
            "A linear head against an MLP",
            "appendix_mlp",
            [MLP[:4], MLP[4:]],
            [{"title": "", "labels": head}],
        ),
        table(
            "lc3",
            "SPEDE against LC3",
            "appendix_lc3",
            [["Reacher", "MountainCar", "Hopper", "Hopper-ET"]],
            [{"title": "", "labels": ["spede", "lc3"]}],
        ),
    ]


def _target(title: str, task: str, config: dict[str, Any]) -> tuple[float, float, float]:
    """Published (mean, std) for the cell and Random's mean; something plausible where nothing is published."""
    low = reference.mbbl_value(task, "Random")
    start = low.mean if low else 0.0
    cells = reference.paper_cells()
    cells = cells[(cells["task"] == task) & (cells["agent"] == title)]
    published = reference.mbbl_value(task, title)
    if published is not None:
        return published.mean, published.std, start
    if len(cells):
        return float(cells.iloc[0]["mean"]), float(cells.iloc[0]["std"]), start
    scale = reference.published_scale(task)
    high = scale.high if scale else 100.0
    share = 0.2 + 0.06 * np.log2(config.get("features", 1024) / 64)
    return start + share * (high - start), 0.05 * abs(high - start), start


def write_run(directory: Path, study: dict[str, Any], run: dict[str, Any]) -> None:
    """Training and evaluation episodes whose return rises from Random's to about the published value."""
    label, task, seed, steps = run["label"], run["task"], run["seed"], run["steps"]
    rng = np.random.default_rng([zlib.crc32(f"{label}/{task}".encode()), seed])
    entry = study["labels"][label]
    mean, std, start = _target(entry["title"], task, entry.get("config") or {})
    final = mean + std * rng.standard_normal()
    pace = steps * rng.uniform(0.08, 0.3)
    noise = max(std * 0.6, 0.02 * abs(final - start), 0.01)

    def level(step: Floats) -> Floats:
        return start + (final - start) * (1 - np.exp(-step / pace))

    horizon = study["tasks"][task]["horizon"]
    lengths = _lengths(rng, steps, horizon, EARLY_FALL if task.endswith("-ET") else horizon)
    ends = np.cumsum(lengths)
    lengths, ends = lengths[ends <= steps], ends[ends <= steps]
    returns = level(ends) + noise * rng.standard_normal(len(ends))
    episodes = zip(range(len(ends)), ends, returns, lengths, lengths < horizon, strict=True)
    every, count = study["evaluation"]["every"], study["evaluation"]["episodes"]
    grid = np.repeat(np.arange(every, steps + 1, every), count)
    tested = level(grid) + 0.5 * noise * rng.standard_normal(len(grid))
    evaluations = zip(
        grid, np.tile(np.arange(count), len(grid) // count), tested, [horizon] * len(grid), strict=True
    )

    folder = directory / run["path"]
    write_text(folder / "episodes.csv", _csv("episode,step,return,length,terminated", episodes))
    write_text(folder / "evaluations.csv", _csv("step,episode,return,length", evaluations))
    manifest = _manifest(study, run, rng, len(ends))
    write_text(folder / "manifest.json", json.dumps(manifest, indent=1) + "\n")


def _lengths(rng: np.random.Generator, steps: int, horizon: int, early: int) -> Floats:
    if early >= horizon:
        return np.full(steps // horizon + 1, float(horizon))
    count = steps // early + 1
    # Falls get rarer as the agent learns.
    typical = np.linspace(early, horizon, count)
    return np.clip(np.round(rng.gamma(4.0, typical / 4.0)), 5, horizon)


def _csv(header: str, rows: Iterator[tuple[Any, ...]]) -> str:
    lines = (
        ",".join(f"{cell:.4f}" if isinstance(cell, float) and cell % 1 else f"{cell:.0f}" for cell in row)
        for row in rows
    )
    return "\n".join([header, *lines]) + "\n"


def _manifest(
    study: dict[str, Any], run: dict[str, Any], rng: np.random.Generator, episodes: int
) -> dict[str, Any]:
    entry = study["labels"][run["label"]]
    seconds = float(rng.uniform(0.01, 0.12) * run["steps"])
    return {
        "format": 1,
        "algorithm": entry["algorithm"],
        "variant": entry["variant"],
        "label": run["label"],
        "task": run["task"],
        "seed": run["seed"],
        "steps": run["steps"],
        "scale": study["scale"],
        "config": entry["config"],
        "fingerprint": "synthetic",
        "command": f"python -m analysis.synthetic results/{study['study']}",
        "versions": {"mujoco": "4.0.0", "numpy": "2.4.6", "torch": "2.13.0"},
        "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
        "machine": {"cpu": "Synthetic CPU", "threads": 1, "platform": "Linux", "python": "3.11"},
        "time": {
            "started": "2022-08-01T00:00:00+00:00",
            "finished": "2022-08-01T06:00:00+00:00",
            "wall_seconds": round(seconds, 1),
            "cpu_seconds": round(seconds * 0.98, 1),
            "attempts": 1,
        },
        "peak_memory_mb": round(float(rng.uniform(300, 1500)), 1),
        "episodes": episodes,
    }


def write_study(directory: Path, study: dict[str, Any]) -> None:
    write_text(directory / "study.json", json.dumps(study, indent=1) + "\n")
    for run in study["runs"]:
        write_run(directory, study, run)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="where the study goes, e.g. results/synthetic")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument(
        "--like", type=Path, help="a study.json whose runs to make up, instead of the paper's"
    )
    chosen = parser.parse_args(arguments)
    name = chosen.directory.name
    study = study_json(name, chosen.steps, chosen.seeds)
    if chosen.like:
        study = json.loads(chosen.like.read_text(encoding="utf-8")) | {"study": name, "scale": "synthetic"}
    write_study(chosen.directory, study)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
