"""Every random stream of a run, derived from its one seed."""

from __future__ import annotations

import random
import zlib

import numpy as np
import torch


class Seeds:
    """Independent integer seeds by name: `seeds["policy"]`, or `seeds["environment", episode]`.

    A seed depends on the run's seed and its name only, so that asking for one more stream changes no other.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __getitem__(self, name: str | tuple[str, *tuple[int, ...]]) -> int:
        label, *indices = (name,) if isinstance(name, str) else name
        entropy = [self.seed, zlib.crc32(label.encode()), *indices]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])

    def seed_global_generators(self) -> None:
        random.seed(self["python"])
        np.random.seed(self["numpy"])  # noqa: NPY002 - Stable-Baselines3 and others draw from it
        torch.manual_seed(self["torch"])
