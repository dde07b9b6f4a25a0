"""What a checkpoint costs: Humanoid-ET at paper scale with a full replay buffer, the largest state we have.

    python -m benchmarks.checkpoints [--algorithm spede] [--steps 200000]

Prints the time and the bytes of a checkpoint that writes everything and of the usual one, which appends what is new,
the share of the training time at the interval that the harness chooses, and the peak memory.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from algorithms.core.config import load_algorithm
from algorithms.core.manifest import peak_memory_mb
from algorithms.core.run import CHECKPOINT_COST_LIMIT, MINIMUM_CHECKPOINT_SECONDS, Run, RunSettings
from algorithms.core.sac import SoftActorCritic

TASK = "Humanoid-ET"
CLASSES = {"spede": "Spede", "sac": "Sac"}


def make_agent(algorithm: str, steps: int, directory: Path) -> tuple[Run, SoftActorCritic]:
    config = load_algorithm(algorithm).resolve("paper", TASK)
    run = Run(RunSettings(algorithm, None, TASK, 0, steps, "paper", config, 5000, 10), directory)
    module = importlib.import_module(f"algorithms.{algorithm}.agent")
    agent: SoftActorCritic = getattr(module, CLASSES[algorithm])(run)
    run.attach(agent)
    return run, agent


def fill(agent: SoftActorCritic, count: int) -> None:
    """Random rows, a thousand steps to an episode."""
    rows = np.zeros(count, agent.replay.row_dtype)
    for name in rows.dtype.names or ():
        if rows.dtype[name].base.kind == "f":
            rows[name] = np.random.default_rng(0).standard_normal(rows[name].shape, dtype=np.float32)
    agent.replay.extend(rows)


def timed_save(run: Run) -> tuple[float, int]:
    before = {path: path.stat().st_size for path in run.directory.glob("*.rows")}
    started = time.monotonic()
    run.save_checkpoint()
    seconds = time.monotonic() - started
    appended = sum(path.stat().st_size - before.get(path, 0) for path in run.directory.glob("*.rows"))
    return seconds, appended + run.store.state_path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--algorithm", choices=sorted(CLASSES), default="spede")
    parser.add_argument("--steps", type=int, default=200_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        run, agent = make_agent(options.algorithm, options.steps, Path(folder))
        run.env.reset()
        fill(agent, options.steps - 1000)
        run.step = options.steps - 1000
        everything = timed_save(run)
        fill(agent, 1000)
        usual = timed_save(run)
    share = usual[0] / max(MINIMUM_CHECKPOINT_SECONDS, usual[0] / CHECKPOINT_COST_LIMIT)
    print(f"{options.algorithm} on {TASK}, {options.steps:,} steps in the replay buffer, one thread")
    for name, (seconds, size) in (("everything", everything), ("1000 new steps", usual)):
        print(f"  checkpoint of {name:15s} {seconds:6.2f} s  {size / 1e6:8.1f} MB written")
    print(f"  share of the time at the chosen interval: {share:.2%} (limit 2%)")
    print(f"  peak memory: {peak_memory_mb():,.0f} MB")


if __name__ == "__main__":
    main()
