"""Train one algorithm on one task with one seed.

    python -m algorithms.core.train --algorithm sac --task Pendulum --seed 0 --steps 20000 --out runs/try-1

Writes episodes.csv (the training returns), evaluations.csv (deterministic evaluation) and manifest.json
(what was run, on what, how long it took) to the output directory. Stop it whenever you like (Ctrl-C): the
same command continues where it was, and the results are the same as if it had never been stopped.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are loaded

import torch

from algorithms.core.checkpoint import CheckpointError
from algorithms.core.config import ConfigError, algorithm_ids, allowed, load_algorithm, parse_setting
from algorithms.core.files import write_json
from algorithms.core.progress import PROGRESS_FILE
from algorithms.core.run import (
    OUTPUTS,
    BudgetReached,
    Interrupted,
    NotFiniteError,
    Run,
    RunSettings,
)
from algorithms.core.tracking import Tracker
from envs_mbbl.tasks import TASKS

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 75  # EX_TEMPFAIL: "try again"; not zero, so Snakemake retries
FAILURE_FILE = "failure.json"
LOCK_FILE = ".lock"


class RunDirectoryError(RuntimeError):
    """The output directory cannot be used; nothing in it has been changed."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
        _prepare_directory(options.out)
        lock = _lock(options.out)
    except (ConfigError, RunDirectoryError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
    with lock:
        code = _train(settings, options)
        if code == 0:
            (options.out / LOCK_FILE).unlink(missing_ok=True)
        return code


def _train(settings: RunSettings, options: argparse.Namespace) -> int:
    torch.set_num_threads(1)  # the number of threads changes the bits
    tracker = Tracker(options.out) if options.tensorboard else None
    run = Run(
        settings,
        options.out,
        attempt=_attempt(options.out),
        checkpoint_seconds=options.checkpoint_seconds,
        tracker=tracker,
    )
    try:
        if _finished_before(run):
            return 0
        _stop_on_signals(run)
        run.seeds.seed_global_generators()
        _algorithm(settings.algorithm)(run)
    except BudgetReached:
        pass  # a library that owns its loop is stopped like this
    except Interrupted as interruption:
        run.progress.report(run.step, "interrupted")
        run.progress.say(
            f"stopped by {interruption} at step {run.step:,}; the same command continues from here"
        )
        return EXIT_INTERRUPTED
    except (CheckpointError, RunDirectoryError) as error:
        run.progress.say(f"error: {error}")
        return EXIT_FAILED
    except Exception as error:
        _record_failure(run, error)
        return EXIT_FAILED
    finally:
        run.progress.close()
        if tracker is not None:
            tracker.close()
    return _finish(run)


def _finish(run: Run) -> int:
    if run.step < run.steps:
        error = RuntimeError(f"train(run) returned after {run.step:,} of {run.steps:,} steps")
        _record_failure(run, error)
        return EXIT_FAILED
    try:
        run.finish()
    except OSError as error:
        _record_failure(run, error)
        return EXIT_FAILED
    (run.directory / FAILURE_FILE).unlink(missing_ok=True)
    run.progress.say(f"done: {run.directory}")
    return 0


def _algorithm(identifier: str) -> Callable[[Run], None]:
    train: Callable[[Run], None] = importlib.import_module(f"algorithms.{identifier}.agent").train
    return train


def _settings(options: argparse.Namespace) -> RunSettings:
    if options.task not in TASKS:
        raise ConfigError(f"--task {options.task!r} is unknown; {allowed(TASKS)}")
    for name in ("steps", "evaluate_every", "evaluation_episodes"):
        if getattr(options, name) < 1:
            raise ConfigError(f"--{name.replace('_', '-')} {getattr(options, name)} must be at least 1")
    if options.seed < 0:
        raise ConfigError(f"--seed {options.seed} must not be negative")
    algorithm = load_algorithm(options.algorithm)
    limit = algorithm.evaluation_episodes
    overrides = dict(parse_setting(text) for text in options.set)
    return RunSettings(
        algorithm=options.algorithm,
        variant=options.variant,
        task=options.task,
        seed=options.seed,
        steps=options.steps,
        scale=options.scale,
        config=algorithm.resolve(options.scale, options.task, overrides),
        evaluate_every=options.evaluate_every,
        evaluation_episodes=min(options.evaluation_episodes, limit) if limit else options.evaluation_episodes,
    )


def _prepare_directory(directory: Path) -> None:
    """Find out now, not after an hour, that results cannot be written."""
    probe = directory / f".probe-{os.getpid()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"can this directory be written to?")
        probe.unlink()
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write to --out {directory}: {error.strerror}. Choose another directory."
        ) from error


def _lock(directory: Path) -> IO[bytes]:
    """One process per run directory. The lock goes with the process, however it ends."""
    file = (directory / LOCK_FILE).open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise RunDirectoryError(
                f"another process is training in {directory}; wait for it, or stop it"
            ) from None
        raise RunDirectoryError(f"cannot lock {directory}: {error.strerror}") from error
    return file


def _attempt(directory: Path) -> int:
    """How many times this run has been started, this one included."""
    try:
        return int(json.loads((directory / PROGRESS_FILE).read_text())["attempt"]) + 1
    except (OSError, ValueError, KeyError):
        return 1


def _finished_before(run: Run) -> bool:
    path = run.directory / "manifest.json"
    if not path.exists():
        return False
    try:
        owner = json.loads(path.read_text()).get("fingerprint")
    except ValueError:
        owner = None
    if owner != run.store.fingerprint:
        raise RunDirectoryError(
            f"{run.directory} holds a finished run with other settings or sources. "
            f"Nothing was changed. Choose another --out, or delete {', '.join(OUTPUTS)} there."
        )
    run.progress.say(f"already finished: {run.directory}")
    return True


def _stop_on_signals(run: Run) -> None:
    """The first signal asks for a checkpoint at the next safe point; a second Ctrl-C stops at once."""

    def handler(number: int, frame: FrameType | None) -> None:
        if run.interrupted_by is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        run.interrupted_by = signal.Signals(number).name

    signal.signal(signal.SIGTERM, handler)
    signal.signal(signal.SIGINT, handler)


def _record_failure(run: Run, error: Exception) -> None:
    """Say what went wrong, in the log and in a file beside the (missing) results."""
    known = isinstance(error, (NotFiniteError, OSError, ConfigError))
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        message = (
            f"no space left for {run.directory} ({error.strerror}); free some and run the same command again"
        )
    if not known:
        traceback.print_exception(error)
    run.progress.say(f"FAILED at step {run.step:,}: {message}")
    if run.store.exists():
        run.progress.say("its last checkpoint is kept; the same command continues from there")
    failure = {"step": run.step, "error": message, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    try:
        write_json(run.directory / FAILURE_FILE, failure)
        run.progress.report(run.step, "failed")
    except OSError as second:
        run.progress.say(f"(and {FAILURE_FILE} could not be written: {second.strerror})")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m algorithms.core.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--algorithm",
        required=True,
        metavar="NAME",
        help="a folder of algorithms/: " + ", ".join(algorithm_ids()),
    )
    parser.add_argument("--task", required=True, metavar="NAME", help="an environment: " + ", ".join(TASKS))
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="all randomness follows from it (default 0)"
    )
    parser.add_argument(
        "--steps", type=int, required=True, metavar="N", help="environment steps to train for"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the results go")
    parser.add_argument(
        "--scale", default="paper", metavar="NAME",
        help="the set of hyper-parameters: paper (default), desk (small networks) or smoke (seconds)",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="change one hyper-parameter of the algorithm's config.yaml; may be repeated",
    )  # fmt: skip
    parser.add_argument("--variant", metavar="NAME", help="a name for the changed settings, for the manifest")
    parser.add_argument(
        "--evaluate-every",
        type=int,
        default=5000,
        metavar="N",
        help="steps between evaluations (default 5000)",
    )
    parser.add_argument(
        "--evaluation-episodes",
        type=int,
        default=10,
        metavar="N",
        help="episodes per evaluation (default 10)",
    )
    parser.add_argument(
        "--checkpoint-seconds", type=float, metavar="S",
        help="time between checkpoints (default: a minute or more, so that they cost under 1%% of the time)",
    )  # fmt: skip
    parser.add_argument(
        "--tensorboard", action="store_true", help="also write TensorBoard logs to DIR/tensorboard"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
