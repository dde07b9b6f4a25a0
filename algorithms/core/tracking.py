"""TensorBoard, for those who ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import SupportsFloat


class Tracker:
    """Writes scalars to `<directory>/tensorboard`."""

    def __init__(self, directory: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import, and optional

        self._writer = SummaryWriter(str(directory / "tensorboard"))

    def scalars(self, step: int, metrics: Mapping[str, SupportsFloat]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, float(value), step)

    def close(self) -> None:
        self._writer.close()
