"""Watch a study live while Snakemake runs elsewhere.

    python -m algorithms.core.watch results/paper

Reads the small progress files that every run writes; it never touches the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from algorithms.core.progress import PROGRESS_FILE

STALE_SECONDS = 120.0  # a run that says nothing for this long has been killed
ORDER = ("running", "stalled", "interrupted", "failed", "waiting", "done")
STYLES = {
    "done": "green",
    "running": "cyan",
    "failed": "bold red",
    "stalled": "yellow",
    "interrupted": "yellow",
}


@dataclass(frozen=True)
class RunStatus:
    """What is known of one run at this moment."""

    label: str
    task: str
    seed: int
    steps: int
    state: str
    step: int = 0
    steps_per_second: float | None = None
    eta_seconds: float | None = None
    last_return: float | None = None


def read_study(directory: Path, now: float) -> list[RunStatus]:
    """The status of every run that the study plans."""
    study = json.loads((directory / "study.json").read_text())
    return [_status(directory, planned, now) for planned in study["runs"]]


def _status(directory: Path, planned: dict[str, Any], now: float) -> RunStatus:
    folder = directory / planned["path"]
    identity = (planned["label"], planned["task"], planned["seed"], planned["steps"])
    if (folder / "manifest.json").exists():
        return RunStatus(*identity, "done", planned["steps"], last_return=_last_return(folder))
    try:
        progress = json.loads((folder / PROGRESS_FILE).read_text())
    except (OSError, ValueError):
        return RunStatus(*identity, "waiting")
    state = progress["state"]
    if state == "running" and now - progress["updated"] > STALE_SECONDS:
        state = "stalled"
    running = state == "running"
    return RunStatus(
        *identity,
        state,
        progress["step"],
        progress["steps_per_second"] if running else None,
        progress["eta_seconds"] if running else None,
        progress["last_return"],
    )


def _last_return(folder: Path) -> float | None:
    try:
        with (folder / "episodes.csv").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 200))
            return float(file.read().splitlines()[-1].split(b",")[2])
    except (OSError, IndexError, ValueError):
        return None


def study_eta(statuses: Sequence[RunStatus]) -> float | None:
    """Steps that remain over the speed of all running runs: what it takes if as many go on running."""
    speed = sum(status.steps_per_second or 0.0 for status in statuses)
    remaining = sum(status.steps - status.step for status in statuses)
    return remaining / speed if speed else None


def render(directory: Path, statuses: Sequence[RunStatus], rows: int) -> Group:
    counts = {state: sum(status.state == state for status in statuses) for state in ORDER}
    total_steps = sum(status.steps for status in statuses)
    done_steps = sum(status.step for status in statuses)
    summary = Text(f"{directory}: ", style="bold")
    summary.append_text(Text(", ".join(f"{count} {state}" for state, count in counts.items() if count)))
    speed = sum(status.steps_per_second or 0.0 for status in statuses)
    summary.append(f"; {speed:,.0f} steps/s; {_duration(study_eta(statuses))} left")
    bar = ProgressBar(total=max(total_steps, 1), completed=done_steps)
    return Group(summary, bar, _table(statuses, rows))


def _table(statuses: Sequence[RunStatus], rows: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1))
    for name in ("run", "task", "seed"):
        table.add_column(name)
    for name in ("state", "steps", "steps/s", "return", "left"):
        table.add_column(name, justify="right")
    ordered = sorted(statuses, key=lambda status: ORDER.index(status.state))
    for status in ordered[:rows]:
        table.add_row(*_cells(status), style=STYLES.get(status.state))
    if len(ordered) > rows:
        table.add_row(f"... and {len(ordered) - rows} more", style="dim")
    return table


def _cells(status: RunStatus) -> Iterator[str]:
    yield from (status.label, status.task, str(status.seed), status.state)
    yield f"{status.step:,}/{status.steps:,}"
    yield "" if status.steps_per_second is None else f"{status.steps_per_second:,.0f}"
    yield "" if status.last_return is None else f"{status.last_return:,.1f}"
    yield "" if status.eta_seconds is None else _duration(status.eta_seconds)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours}h {minutes:02d}m" if hours else f"{minutes}m {int(seconds) % 60:02d}s"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m algorithms.core.watch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", type=Path, help="the study's folder, e.g. results/paper")
    parser.add_argument("--once", action="store_true", help="print the state once and stop")
    parser.add_argument("--every", type=float, default=2.0, metavar="S", help="seconds between updates")
    options = parser.parse_args(arguments)
    console = Console()
    if not (options.study / "study.json").exists():
        console.print(f"{options.study}/study.json does not exist yet: start the study with snakemake first")
        return 1
    if options.once:
        statuses = read_study(options.study, time.time())
        console.print(render(options.study, statuses, len(statuses)))
        return 0
    try:
        with Live(console=console, screen=False, auto_refresh=False) as live:
            while True:
                statuses = read_study(options.study, time.time())
                live.update(render(options.study, statuses, max(5, console.height - 6)), refresh=True)
                if all(status.state == "done" for status in statuses):
                    return 0
                time.sleep(options.every)
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
