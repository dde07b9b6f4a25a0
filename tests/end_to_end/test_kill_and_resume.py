"""A run that is killed, at any moment and any number of times, ends with the same bytes."""

from __future__ import annotations

import json
import os
import random
import re
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from algorithms.core.config import algorithm_ids
from algorithms.core.run import OUTPUTS
from algorithms.core.train import EXIT_INTERRUPTED
from tests.processes import start_training, train

STEPS = 400
LONG_ENOUGH = 0.5  # seconds of processor time: a run that is over sooner may be gone when a signal comes
KILLS = 3
COMPARED = ("episodes.csv", "evaluations.csv")


def results(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in COMPARED}


def starting_steps(log: Path) -> list[int]:
    """The steps at which the attempts began, from the run's own messages."""
    return [int(text.replace(",", "")) for text in re.findall(r"starting at step ([\d,]+)", log.read_text())]


@dataclass(frozen=True)
class Undisturbed:
    """An algorithm, a number of steps, the results of a run that nobody disturbed, and how long its training took."""

    algorithm: str
    steps: int
    results: dict[str, bytes]
    seconds: float

    def arguments(self, out: Path, *extra: str) -> list[str]:
        return [*arguments(self.algorithm, self.steps, out), *extra]


def arguments(algorithm: str, steps: int, out: Path) -> list[str]:
    return [
        *("--algorithm", algorithm, "--task", "Hopper-ET", "--seed", "3", "--steps", str(steps)),
        *("--scale", "smoke", "--evaluate-every", str(steps // 2), "--evaluation-episodes", "1"),
        *("--out", str(out)),
    ]


@pytest.fixture(scope="module", params=algorithm_ids())
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    steps = STEPS
    while True:
        folder = tmp_path_factory.mktemp(f"undisturbed-{request.param}")
        log = folder / "log"
        assert train(arguments(request.param, steps, folder / "run"), log) == 0, log.read_text()
        spent = json.loads((folder / "run" / "manifest.json").read_text())["time"]
        if spent["cpu_seconds"] >= LONG_ENOUGH:
            return Undisturbed(request.param, steps, results(folder / "run"), spent["wall_seconds"])
        steps *= 4


def test_the_same_seed_gives_the_same_bytes(undisturbed: Undisturbed, tmp_path: Path) -> None:
    assert train(undisturbed.arguments(tmp_path / "run"), tmp_path / "log") == 0
    assert results(tmp_path / "run") == undisturbed.results


def test_sigkill_at_random_instants(undisturbed: Undisturbed, tmp_path: Path) -> None:
    instants = random.Random(undisturbed.algorithm)
    out, log = tmp_path / "run", tmp_path / "log"
    command = undisturbed.arguments(out, "--checkpoint-seconds", "0.05")
    for kill in range(KILLS):
        process = start_training(command, log)
        wait_until_training(process, out)
        if kill == 0:  # right after the first checkpoint, so that there is something to resume from
            while process.is_alive() and not (out / "checkpoint.pt").exists():
                time.sleep(0.001)
        else:  # whenever it comes
            process.join(instants.uniform(0.0, 0.5) * undisturbed.seconds)
        process.kill()
        process.join()
    assert train(command, log) == 0, log.read_text()
    assert results(out) == undisturbed.results
    assert max(starting_steps(log)) > 0, "no kill came after a checkpoint: the test has shown nothing"
    assert sorted(os.listdir(out)) == sorted(OUTPUTS), "a finished run leaves nothing else behind"


def test_sigterm_saves_first_and_asks_for_a_retry(undisturbed: Undisturbed, tmp_path: Path) -> None:
    for share in (0.5, 0.2, 0.1, 0.05, 0.02):  # a run that was over before the signal came has shown nothing
        out, log = tmp_path / f"run-{share}", tmp_path / f"log-{share}"
        command = undisturbed.arguments(out)  # the first checkpoint would come after a minute
        process = start_training(command, log)
        wait_until_training(process, out)
        process.join(share * undisturbed.seconds)
        process.terminate()
        process.join()
        if process.exitcode != 0:
            break
    assert process.exitcode == EXIT_INTERRUPTED
    assert (out / "checkpoint.pt").exists()
    interrupted_at = json.loads((out / "progress.json").read_text())["step"]
    assert train(command, log) == 0
    assert starting_steps(log)[-1] == interrupted_at
    assert results(out) == undisturbed.results


def wait_until_training(process: BaseProcess, out: Path) -> None:
    """Until this very process has reported progress."""
    while process.is_alive():
        try:
            if json.loads((out / "progress.json").read_text())["pid"] == process.pid:
                return
        except OSError:
            pass
        time.sleep(0.001)
