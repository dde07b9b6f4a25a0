"""GT-CEM: the cross-entropy method with the true dynamics."""

from __future__ import annotations

from algorithms.core.loop import interact
from algorithms.core.planning import CrossEntropy
from algorithms.core.run import Run
from algorithms.gt_rs.agent import TrueDynamicsAgent


def train(run: Run) -> None:
    interact(run, TrueDynamicsAgent(run, lambda: CrossEntropy.of_config(run.task.action_dim, run.config)))
