"""SAC: soft actor-critic with two ordinary critics (Haarnoja et al. 2018). All of it is the shared core."""

from __future__ import annotations

from algorithms.core.loop import interact
from algorithms.core.run import Run
from algorithms.core.sac import TwinCritic


class Sac(TwinCritic):
    """Q_i(s, a) is a perceptron that learns from the TD error alone."""


def train(run: Run) -> None:
    interact(run, Sac(run))
