"""Real training processes for tests: started from a warm server, so that a kill test costs no imports."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

PRELOADED = ["algorithms.core.train", "stable_baselines3", "sb3_contrib"]


def start_training(arguments: list[str], log: Path) -> BaseProcess:
    """`python -m algorithms.core.train <arguments>` as a process of its own, its messages in `log`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_main, args=(arguments, str(log)))
    process.start()
    return process


def train(arguments: list[str], log: Path) -> int:
    """The same, to the end; returns the exit code."""
    process = start_training(arguments, log)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _main(arguments: list[str], log: str) -> None:
    from algorithms.core.train import main

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 2)
    sys.exit(main(arguments))
