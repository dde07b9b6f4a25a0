"""PETS with the cross-entropy method: the agent of `pets_rs` with another planner."""

from __future__ import annotations

from algorithms.core.loop import interact
from algorithms.core.planning import CrossEntropy
from algorithms.core.run import Run
from algorithms.pets_rs.agent import PetsAgent


def train(run: Run) -> None:
    interact(run, PetsAgent(run, lambda: CrossEntropy.of_config(run.task.action_dim, run.config)))
