"""GT-CEM: the cross-entropy method with the true dynamics."""

from __future__ import annotations

from algorithms.core.loop import interact
from algorithms.core.planning import CrossEntropy
from algorithms.core.run import Run
from algorithms.gt_rs.agent import TrueDynamicsAgent


def train(run: Run) -> None:
    config = run.config

    def planner() -> CrossEntropy:
        return CrossEntropy(
            run.task.action_dim,
            config["horizon"],
            config["candidates"],
            elites=config["elites"],
            iterations=config["iterations"],
            momentum=config["momentum"],
        )

    interact(run, TrueDynamicsAgent(run, planner))
