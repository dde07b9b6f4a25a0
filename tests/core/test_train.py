"""The command that trains one run: its errors are clear, and it never overwrites what it does not own."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from algorithms.core.config import load_algorithm
from algorithms.core.train import EXIT_FAILED, EXIT_USAGE, main


def arguments(out: Path, **changes: object) -> list[str]:
    options = {
        "algorithm": "random",
        "task": "Pendulum",
        "seed": 0,
        "steps": 250,
        "evaluate-every": 100,
        **changes,
    }
    return [f"--{key}={value}" for key, value in options.items()] + [
        "--evaluation-episodes=1",
        f"--out={out}",
    ]


def test_a_run_by_hand(tmp_path: Path) -> None:
    assert main(arguments(tmp_path / "run")) == 0
    assert sorted(os.listdir(tmp_path / "run")) == ["episodes.csv", "evaluations.csv", "manifest.json"]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["config"] == {"range": 1.0}
    assert {"fingerprint", "versions", "git", "machine", "time", "peak_memory_mb", "command"} <= set(manifest)
    assert manifest["machine"]["threads"] == 1
    header = (tmp_path / "run" / "episodes.csv").read_text().splitlines()[0]
    assert header == "episode,step,return,length,terminated"


def test_a_finished_run_is_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path)) == 0
    before = (tmp_path / "manifest.json").read_bytes()
    assert main(arguments(tmp_path)) == 0
    assert "already finished" in capsys.readouterr().err
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_another_runs_results_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path)) == 0
    before = (tmp_path / "episodes.csv").read_bytes()
    assert main(arguments(tmp_path, seed=1)) == EXIT_FAILED
    assert "other settings" in capsys.readouterr().err
    assert (tmp_path / "episodes.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": "Pendulm"}, ["--task", "'Pendulm'", "Pendulum"]),
        ({"algorithm": "sacc"}, ["'sacc'", "random"]),
        ({"steps": 0}, ["--steps", "0", "at least 1"]),
        ({"seed": -1}, ["--seed", "-1"]),
        ({"set": "rnage=2"}, ["'rnage'", "range"]),
        ({"set": "range"}, ["key=value"]),
    ],
)
def test_wrong_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], words: list[str]
) -> None:
    assert main(arguments(tmp_path / "run", **changes)) == EXIT_USAGE
    message = capsys.readouterr().err
    assert all(word in message for word in words), message
    assert not (tmp_path / "run").exists()


def test_an_unusable_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main(arguments(tmp_path / "file" / "run")) == EXIT_USAGE
    assert "cannot write to --out" in capsys.readouterr().err


def test_two_processes_cannot_share_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / ".lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert main(arguments(tmp_path)) == EXIT_USAGE
    assert "another process" in capsys.readouterr().err


def test_a_corrupted_checkpoint_stops_the_run_and_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"rubbish")
    assert main(arguments(tmp_path)) == EXIT_FAILED
    assert "not a checkpoint of this project" in capsys.readouterr().err
    assert (tmp_path / "checkpoint.pt").read_bytes() == b"rubbish"


def test_no_space_left_is_said_plainly_and_the_checkpoint_stays_good(tmp_path: Path, root: Path) -> None:
    """A real process that really cannot write: the system limits the size of its files."""
    out = tmp_path / "run"
    command = [sys.executable, "-m", "algorithms.core.train", *arguments(out, steps=4000)]
    command += ["--checkpoint-seconds=0"]

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))

    done = subprocess.run(
        command, cwd=root, preexec_fn=small_files, capture_output=True, text=True, check=False
    )
    assert done.returncode == EXIT_FAILED, done.stderr
    assert "no space left" in done.stderr
    assert json.loads((out / "failure.json").read_text())["step"] > 0
    again = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    reference = tmp_path / "reference"
    assert main(arguments(reference, steps=4000)) == 0
    assert (out / "episodes.csv").read_bytes() == (reference / "episodes.csv").read_bytes()
    assert not (out / "failure.json").exists()


def test_a_crash_is_recorded_and_the_last_checkpoint_kept(tmp_path: Path, root: Path) -> None:
    """An algorithm folder in a tree of its own that fails at a step of our choice."""
    for package in ("algorithms", "envs_mbbl"):
        (tmp_path / package).symlink_to(root / package)
    code = textwrap.dedent("""
        import sys
        import numpy as np
        import algorithms.random.agent as agent
        from algorithms.core import train

        class Fails(agent.RandomAgent):
            def observe(self, transition):
                return {"critic_loss": float("nan") if transition.step == 60 else 0.0}

        agent.RandomAgent = Fails
        sys.exit(train.main(sys.argv[1:]))
    """)
    out = tmp_path / "run"
    command = [sys.executable, "-c", code, *arguments(out), "--checkpoint-seconds=0"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_FAILED
    assert "critic_loss is nan at step 60" in done.stderr
    assert "last checkpoint is kept" in done.stderr
    assert (out / "checkpoint.pt").exists()
    assert "critic_loss" in json.loads((out / "failure.json").read_text())["error"]
    again = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "starting at step 59" in again.stderr, "the last good step is kept, not the bad one"


def test_help_is_for_newcomers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    for word in ("Train one algorithm", "Hopper-ET", "random", "paper (default)", "Ctrl-C"):
        assert word in text


def test_a_planners_evaluations_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = dataclasses.replace(load_algorithm("random"), evaluation_episodes=2)
    monkeypatch.setattr("algorithms.core.train.load_algorithm", lambda name: planner)
    for asked, done in ((1, 1), (5, 2)):
        out = tmp_path / str(asked)
        assert main([*arguments(out, steps=100), f"--evaluation-episodes={asked}"]) == 0
        assert json.loads((out / "manifest.json").read_text())["evaluation_episodes"] == done


def test_tensorboard_is_optional_and_changes_no_result(tmp_path: Path) -> None:
    assert main(arguments(tmp_path / "plain")) == 0
    assert main([*arguments(tmp_path / "logged"), "--tensorboard"]) == 0
    assert list((tmp_path / "logged" / "tensorboard").glob("events.*"))
    for name in ("episodes.csv", "evaluations.csv"):
        assert (tmp_path / "logged" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
