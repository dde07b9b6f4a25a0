"""What a finished run says of itself: settings, versions, machine, time and memory."""

from __future__ import annotations

import platform
import resource
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import torch

from algorithms.core.config import PROJECT_ROOT
from algorithms.core.sources import library_versions

FORMAT = 1


@cache
def git_state(root: Path = PROJECT_ROOT) -> dict[str, Any]:
    """The commit and whether tracked files were changed; nulls outside a git checkout."""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "threads": torch.get_num_threads(),
        "platform": platform.platform(),
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0 if sys.platform != "darwin" else 1024.0**2)


def environment() -> dict[str, Any]:
    """The part of the manifest that is about this process rather than about the run."""
    # as typed, but with paths relative to the project: it may be copied to another machine
    words = [word.replace(f"{PROJECT_ROOT}/", "") for word in sys.argv[1:]]
    return {
        "command": shlex.join(["python", "-m", "algorithms.core.train", *words]),
        "versions": library_versions(),
        "git": git_state(),
        "machine": machine(),
    }
