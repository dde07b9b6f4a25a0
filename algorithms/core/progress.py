"""What a person sees of a run: a bar on a terminal, a line now and then in a log, a file for `watch`."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from tqdm import tqdm

from algorithms.core.files import write_json

PROGRESS_FILE = "progress.json"
SECONDS_BETWEEN_FILES = 2.0
SECONDS_BETWEEN_LINES = 30.0
SPEED_WINDOW = 30  # speed is over the last so many reports, so that it follows a change


class Progress:
    """Counts steps for people. It reads the clock, and nothing that it does can change a result."""

    def __init__(self, directory: Path, title: str, total: int, attempt: int) -> None:
        self._path = directory / PROGRESS_FILE
        self._title = title
        self._total = total
        self._attempt = attempt
        self._last_return: float | None = None
        self._last_evaluation: float | None = None
        self._history: deque[tuple[float, int]] = deque(maxlen=SPEED_WINDOW)
        self._next_file = self._next_line = 0.0
        self._bar: tqdm[Any] | None = None
        if sys.stderr.isatty():
            self._bar = tqdm(total=total, unit="step", dynamic_ncols=True, desc=title, smoothing=0.1)

    def start(self, step: int) -> None:
        self._history.append((time.monotonic(), step))
        if self._bar is not None:
            self._bar.update(step - self._bar.n)
        self.say(f"starting at step {step:,} of {self._total:,}")
        self.report(step, "running")

    def episode(self, episode_return: float) -> None:
        self._last_return = episode_return

    def evaluation(self, step: int, mean_return: float) -> None:
        self._last_evaluation = mean_return
        self.say(f"step {step:,}: evaluation return {mean_return:.1f}")

    def tick(self, step: int) -> None:
        """Called at every step; does something only when a report is due."""
        if self._bar is not None:
            self._bar.update(1)
        if time.monotonic() >= self._next_file:
            self.report(step, "running")

    def report(self, step: int, state: str) -> None:
        now = time.monotonic()
        self._next_file = now + SECONDS_BETWEEN_FILES
        self._history.append((now, step))
        speed = self._speed()
        eta = (self._total - step) / speed if speed else None
        content = {
            "state": state,
            "step": step,
            "steps": self._total,
            "steps_per_second": speed,
            "eta_seconds": eta,
            "last_return": self._last_return,
            "last_evaluation": self._last_evaluation,
            "attempt": self._attempt,
            "pid": os.getpid(),
            "updated": time.time(),
        }
        write_json(self._path, content, durable=False)
        shown = "none yet" if self._last_return is None else f"{self._last_return:.1f}"
        if self._bar is not None:
            self._bar.set_postfix_str(f"return {shown}", refresh=False)
        elif now >= self._next_line and speed:
            self._next_line = now + SECONDS_BETWEEN_LINES
            remaining = time.strftime("%H:%M:%S", time.gmtime(eta or 0.0))
            self.say(
                f"step {step:,} of {self._total:,} ({step / self._total:.0%}), "
                f"return {shown}, {speed:.0f} steps/s, {remaining} left"
            )

    def say(self, message: str) -> None:
        line = f"[{time.strftime('%H:%M:%S')}] {self._title}: {message}"
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def _speed(self) -> float | None:
        (first_time, first_step), (last_time, last_step) = self._history[0], self._history[-1]
        if last_step <= first_step or last_time <= first_time:
            return None
        return (last_step - first_step) / (last_time - first_time)
