"""What a planning step costs: CPU seconds for one decision of each planning baseline, and what follows for a run.

    python -m benchmarks.planning                      # desk scale, measured in full
    python -m benchmarks.planning --scale paper        # one decision each; a minute or two

Prints one row per algorithm: imagined (or simulated) steps per decision, CPU milliseconds per decision, and the
CPU hours of 200,000 training steps, with and without ten evaluation episodes every 5,000 steps.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import envs_mbbl
from algorithms.core.config import load_algorithm
from algorithms.core.loop import Transition
from algorithms.core.planning import CrossEntropy, RandomShooting
from algorithms.core.run import Run, RunSettings
from algorithms.gt_rs.agent import TrueDynamicsAgent
from algorithms.lc3.agent import Lc3Agent
from algorithms.pets_rs.agent import PetsAgent

STEPS, EVALUATE_EVERY, EVALUATION_EPISODES = 200_000, 5_000, 10


def make_agent(name: str, run: Run) -> Any:
    config, action_dim = run.config, run.task.action_dim

    def planner() -> RandomShooting | CrossEntropy:
        if "elites" not in config:
            return RandomShooting(action_dim, config["horizon"], config["candidates"])
        rest = {key: config[key] for key in ("elites", "iterations", "momentum")}
        return CrossEntropy(action_dim, config["horizon"], config["candidates"], **rest)

    if name == "lc3":
        return Lc3Agent(run)
    return PetsAgent(run, planner) if name.startswith("pets") else TrueDynamicsAgent(run, planner)


def imagined_steps(config: Any) -> int:
    """Steps of a model (or of the simulator) for one decision."""
    per_candidate = config["horizon"] * config.get("particles", 1)
    return int(config["candidates"] * config.get("iterations", 1) * per_candidate)


def warm_up(agent: Any, run: Run) -> None:
    """Just enough random data for the agent to start planning; how good the model is does not matter here."""
    if not hasattr(agent, "warmup"):
        return
    env, generator = envs_mbbl.make(run.task.name), np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    for step in range(run.config["warmup"]):
        action = generator.uniform(-1.0, 1.0, run.task.action_dim)
        following, reward, terminated, truncated, _ = env.step(action)
        agent.observe(Transition(observation, action, float(reward), following, terminated, truncated, step))
        observation = env.reset(seed=step)[0] if terminated or truncated else following


def seconds_per_decision(name: str, task: str, scale: str, at_least: float) -> tuple[float, dict[str, Any]]:
    config = load_algorithm(name).resolve(scale, task, {})
    quick = {"first_epochs": 1, "epochs": 1} if name.startswith("pets") else {}
    settings = RunSettings(name, None, task, 0, 1_000, scale, {**config, **quick}, 1_000, 1)
    with tempfile.TemporaryDirectory() as directory:
        run = Run(settings, Path(directory))
        agent = make_agent(name, run)
        warm_up(agent, run)
        observation, _ = run.env.reset()
        agent.begin_episode()
        decisions, started = 0, time.process_time()
        while decisions == 0 or time.process_time() - started < at_least:
            agent.act(observation, explore=True)
            decisions += 1
        return (time.process_time() - started) / decisions, dict(config)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", default="desk", choices=("desk", "paper"))
    parser.add_argument("--task", default="Reacher", choices=tuple(envs_mbbl.TASKS))
    parser.add_argument("--seconds", type=float, default=2.0, help="measure each for at least so long")
    options = parser.parse_args()
    torch.set_num_threads(1)
    horizon = envs_mbbl.TASKS[options.task].horizon
    evaluation_steps = STEPS // EVALUATE_EVERY * EVALUATION_EPISODES * horizon
    print(f"{options.task}, {options.scale} scale, one thread, CPU time; torch {torch.__version__}")
    print(
        f"{'algorithm':<10}{'steps/decision':>16}{'ms/decision':>13}{'h/200K':>10}{'h with evaluation':>20}"
    )
    for name in ("pets_rs", "pets_cem", "lc3", "gt_rs", "gt_cem"):
        seconds, config = seconds_per_decision(name, options.task, options.scale, options.seconds)
        hours = seconds / 3600.0
        print(
            f"{name:<10}{imagined_steps(config):>16,}{1000 * seconds:>13.1f}"
            f"{hours * STEPS:>10.1f}{hours * (STEPS + evaluation_steps):>20.1f}"
        )


if __name__ == "__main__":
    main()
