"""How fast is training, against what the machine could do and against Stable-Baselines3?

    python benchmarks/training.py                # all three parts, some minutes
    python benchmarks/training.py desk paper     # only these

desk     environment steps per second at 256 x 256, side by side with Stable-Baselines3's SAC of the same width
paper    arithmetic rate at the paper's size, as a share of that of a plain matrix product of the same shape
memory   peak memory of SPEDE at the paper's size on Humanoid-ET with a full replay of 200K steps
parity   (only when asked for) do our SAC and Stable-Baselines3's reach the same return? Same widths, rates, warm-up

Every figure is of the whole loop: environment, acting, replay, update, checks. The contestants take turns in short
blocks, so that a busy machine slows all of them alike; medians of the blocks. CPU time is the fairer measure on a
shared machine, wall time is what one waits for. `precision: bfloat16` is measured beside the default where the machine
has it; all rates are shares of the float32 product's.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import envs_mbbl
from algorithms.core.bfloat16 import bfloat16_works
from algorithms.core.config import load_algorithm
from algorithms.core.loop import SteppingAgent, take_step
from algorithms.core.run import Run, RunSettings

AGENTS = {
    "sac": "Sac",
    "spede": "Spede",
    "spede_mlp": "SpedeMlp",
    "spede_reg": "SpedeReg",
    "deepsf": "DeepSuccessorFeatures",
}
WARMUP = 500


class CountFlops(TorchDispatchMode):
    """Adds up the multiplications and additions of all matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().split(".")[0]
        if name in ("aten::mm", "aten::addmm", "aten::addmm_"):
            a, b = args[-2:] if len(args) >= 2 else args
            self.flops += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return func(*args, **(kwargs or {}))


@dataclass
class Contestant:
    """Something that can take `n` training steps, and how long they took."""

    name: str
    advance: Callable[[int], None]
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def block(self, steps: int) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        self.advance(steps)
        self.cpu.append((time.process_time() - cpu) / steps)
        self.wall.append((time.perf_counter() - wall) / steps)

    @property
    def cpu_ms(self) -> float:
        return 1e3 * statistics.median(self.cpu)

    @property
    def wall_ms(self) -> float:
        return 1e3 * statistics.median(self.wall)


def our_agent(
    algorithm: str, task: str, scale: str, directory: Path, *, seed: int = 100, **overrides: Any
) -> tuple[Any, Contestant]:
    """One of our agents in the real harness, past its warm-up."""
    config = load_algorithm(algorithm).resolve(scale, task, {"warmup": WARMUP, **overrides})
    settings = RunSettings(
        algorithm=algorithm, variant=None, task=task, seed=seed, steps=10**6, scale=scale, config=config,
        evaluate_every=10**6, evaluation_episodes=1,
    )  # fmt: skip
    directory.mkdir(exist_ok=True)
    run = Run(settings, directory, checkpoint_seconds=1e9)
    agent: SteppingAgent = getattr(import_module(f"algorithms.{algorithm}.agent"), AGENTS[algorithm])(run)
    run.attach(agent)

    def advance(steps: int) -> None:
        for _ in range(steps):
            take_step(run, agent)

    advance(WARMUP + 20)
    suffix = "" if config["precision"] == "float32" else f", {config['precision']}"
    return agent, Contestant(f"{algorithm} ({scale}{suffix})", advance)


def stable_baselines(task: str, hidden: Sequence[int]) -> Contestant:
    from stable_baselines3 import SAC

    model = SAC(
        "MlpPolicy", envs_mbbl.make(task), learning_starts=WARMUP, device="cpu", seed=0,
        policy_kwargs={"net_arch": list(hidden)},
    )  # fmt: skip
    model.learn(WARMUP + 20)
    return Contestant(
        "Stable-Baselines3 SAC", lambda steps: model.learn(steps, reset_num_timesteps=False) and None
    )


def matrix_product(batch: int, width: int) -> Contestant:
    a, b, out = torch.randn(batch, width), torch.randn(width, width), torch.empty(batch, width)

    def advance(steps: int) -> None:
        for _ in range(steps):
            torch.mm(a, b, out=out)

    return Contestant(f"matrix product {batch} x {width} x {width}", advance)


def precisions() -> list[str]:
    return ["float32", "bfloat16"] if bfloat16_works() else ["float32"]


def cycle(agent: Any) -> int:
    """After so many updates all kinds of work have been done once: SPEDE solves for its heads now and then."""
    return int(agent.config["head_every"]) if hasattr(agent, "plan") else 1


@torch.inference_mode()
def flops_per_update(agent: Any) -> int:
    updates = cycle(agent)
    with CountFlops() as counter:
        for _ in range(updates):
            agent.update(agent.sample(agent.config["batch_size"]))
    return counter.flops // updates


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def desk(blocks: int, task: str) -> None:
    steps = 100  # as many as between two solutions for SPEDE's heads
    print(f"\n== desk: 256 x 256, batch 256, {task}; {blocks} blocks of {steps} steps each, in turns ==")
    with scratch() as directory:
        pairs = [
            our_agent(algorithm, task, "desk", directory / f"{algorithm}-{precision}", precision=precision)
            for algorithm in ("sac", "spede", "spede_reg")
            for precision in precisions()
        ]
        contestants = [contestant for _, contestant in pairs]
        library = stable_baselines(task, [256, 256])
        gemm = matrix_product(256, 256)
        for _ in range(blocks):
            for contestant in (*contestants, library):
                contestant.block(steps)
                gemm.block(steps)
        rate = 2 * 256**3 / (gemm.cpu_ms * 1e6)
        print(f"{gemm.name}: {rate:.0f} GFLOP/s")
        print(
            f"{'':26} {'CPU ms/step':>12} {'wall ms/step':>13} {'steps/s (CPU)':>14} {'x SB3 (CPU, wall)':>18}"
        )
        for c in (library, *contestants):
            print(
                f"{c.name:26} {c.cpu_ms:12.2f} {c.wall_ms:13.2f} {1e3 / c.cpu_ms:14.0f} "
                f"{library.cpu_ms / c.cpu_ms:10.2f} {library.wall_ms / c.wall_ms:7.2f}"
            )
        for agent, contestant in pairs:
            flops = flops_per_update(agent)
            share = flops / (contestant.cpu_ms * 1e6) / rate
            print(
                f"{contestant.name}: {flops / 1e9:.2f} GFLOP per update, {100 * share:.0f}% of the product's rate"
            )


def paper(blocks: int, task: str) -> None:
    print(f"\n== paper: actor 1024 x 1024 x 1024, 1024 features, batch 256, {task} ==")
    with scratch() as directory:
        for algorithm, precision in itertools.product(("spede", "spede_reg"), precisions()):
            agent, contestant = our_agent(
                algorithm, task, "paper", directory / f"{algorithm}-{precision}", precision=precision
            )
            gemm = matrix_product(256, 1024)
            steps = max(5, cycle(agent))
            for _ in range(max(3, 5 * blocks // steps)):
                contestant.block(steps)
                gemm.block(20)
            flops = flops_per_update(agent)
            rate = 2 * 256 * 1024**2 / (gemm.cpu_ms * 1e6)
            reached = flops / (contestant.cpu_ms * 1e6)
            print(
                f"{contestant.name:26} {flops / 1e9:6.2f} GFLOP per update, {contestant.cpu_ms:7.1f} ms CPU per step "
                f"({contestant.wall_ms:.1f} wall): {reached:.0f} GFLOP/s of {rate:.0f} ({gemm.name}) "
                f"= {100 * reached / rate:.0f}%"
            )
            del agent, contestant


def evaluate(task: str, act: Callable[[np.ndarray], np.ndarray], episodes: int = 10) -> float:
    """Mean return of deterministic episodes, the same starts for everyone."""
    env, returns = envs_mbbl.make(task), []
    for episode in range(episodes):
        observation, _ = env.reset(seed=10_000 + episode)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(act(observation))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return statistics.mean(returns)


def parity(tasks: Sequence[str], steps: int, seeds: int) -> None:
    """Our SAC without standardisation, as the library has none, against the library's."""
    from stable_baselines3 import SAC

    points = [round(steps * share) for share in (0.4, 0.6, 0.8, 1.0)]
    print(f"\n== parity: SAC 256 x 256, deterministic returns after {points} steps ==")
    for task in tasks:
        for seed in range(100, 100 + seeds):
            with scratch() as directory:
                agent, ours = our_agent(
                    "sac", task, "desk", directory, seed=seed, warmup=WARMUP, standardise=False
                )
                model = SAC(
                    "MlpPolicy", envs_mbbl.make(task), learning_starts=WARMUP, device="cpu", seed=seed
                )
                model.learn(WARMUP + 20)
                done, rows = WARMUP + 20, []
                for point in points:
                    ours.advance(point - done)
                    model.learn(point - done, reset_num_timesteps=False)
                    done = point
                    mine = evaluate(task, lambda o, agent=agent: agent.act(o, explore=False))  # type: ignore[misc]
                    theirs = evaluate(task, lambda o, model=model: model.predict(o, deterministic=True)[0])  # type: ignore[misc]
                    rows.append((mine, theirs))
            columns = "  ".join(f"{mine:8.1f} / {theirs:8.1f}" for mine, theirs in rows)
            print(f"{task:18} seed {seed}  ours / SB3: {columns}", flush=True)


def memory() -> None:
    """In a process of its own, so that nothing else counts."""
    code = "import benchmarks.training as t; t.fill_humanoid()"
    root = Path(__file__).resolve().parents[1]
    print("\n== memory: SPEDE (paper), Humanoid-ET, replay of 200K steps ==", flush=True)
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)


def fill_humanoid() -> None:
    with scratch() as directory:
        agent, contestant = our_agent("spede", "Humanoid-ET", "paper", directory)
        before = _peak_mb()
        rows = agent.replay.rows(0, 100).copy()
        rows["end"] = 0.0
        for _ in range(2000):
            agent.replay.extend(rows)
        contestant.advance(cycle(agent))  # with a solution for the heads, which takes the most
        print(
            f"replay: {len(agent.replay):,} rows; peak {_peak_mb():.0f} MB, of which before filling {before:.0f} MB"
        )


def _peak_mb() -> float:
    """Of this program alone; getrusage would count what the parent had when it started this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["desk", "paper", "memory"], metavar="PART")
    parser.add_argument("--task", default="Hopper-ET")
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--parity-tasks", nargs="+", default=["Pendulum", "InvertedPendulum", "Reacher"])
    parser.add_argument("--parity-steps", type=int, default=20_000)
    parser.add_argument("--parity-seeds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="stable_baselines3")
    print(
        f"torch {torch.__version__}, {_cpu()}, one thread, load {os.getloadavg()[0]:.1f}, numpy {np.__version__}"
    )
    for part in options.parts:
        if part == "desk":
            desk(options.blocks, options.task)
        elif part == "paper":
            paper(options.blocks, options.task)
        elif part == "memory":
            memory()
        elif part == "parity":
            parity(options.parity_tasks, options.parity_steps, options.parity_seeds)
        else:
            parser.error(f"unknown part {part!r}; allowed: desk, paper, memory, parity")


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown CPU"


if __name__ == "__main__":
    main()
