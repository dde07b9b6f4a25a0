"""PETS (Chua et al. 2018): plan with a bootstrap ensemble of probabilistic networks, trajectory sampling.

At each step: candidates [N, H, k] are followed by P particles each, every particle in one member of the
ensemble (TS-infinity) with the member's own noise; a candidate's worth is its particles' mean return under
the task's own reward and termination. The first action of the planner's choice is taken, then all is
planned anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from algorithms.core.ensemble import Ensemble, EnsembleTrainer, Transitions
from algorithms.core.imagination import returns_of_plans
from algorithms.core.loop import Transition, interact
from algorithms.core.planning import Planner, RandomShooting, TrainingAndEvaluation
from algorithms.core.run import Run


class PetsAgent:
    """Random actions during warm-up, then planning; the ensemble is fitted anew every `fit_every` steps."""

    def __init__(self, run: Run, make_planner: Callable[[], Planner]) -> None:
        config, task = run.config, run.task
        self.task = task
        self.warmup, self.fit_every, self.epochs = config["warmup"], config["fit_every"], config["epochs"]
        self.first_epochs = config["first_epochs"]
        self.particles = config["particles"]
        self.ensemble = Ensemble(task.observation_dim, task.action_dim, config["hidden"], config["members"])
        self.trainer = EnsembleTrainer(
            self.ensemble,
            learning_rate=config["learning_rate"],
            weight_decay=config["weight_decay"],
            batch_size=config["batch_size"],
            updates_at_most=config["updates_at_most"],
            variance_weighting=config["variance_weighting"],
        )
        self.transitions = Transitions(
            task.observation_dim, task.action_dim, config["members"], run.steps, run.seeds["bootstrap"]
        )
        self.planners = TrainingAndEvaluation(make_planner, lambda: run.evaluations_finished)
        self.fits = 0

    @property
    def logs(self) -> Mapping[str, Transitions]:
        return {"transitions": self.transitions}

    def begin_episode(self) -> None:
        self.planners.training.begin_episode()

    def act(self, observation: np.ndarray, *, explore: bool) -> np.ndarray:
        if self.fits == 0:
            return (2.0 * torch.rand(self.task.action_dim) - 1.0).numpy()
        start = torch.from_numpy(observation).float()

        def judge(plans: torch.Tensor) -> torch.Tensor:
            dynamics = self.ensemble.trajectory_sampling
            return returns_of_plans(self.task, dynamics, start, plans, self.particles)

        return self.planners.plan(judge, explore=explore).numpy()

    def observe(self, transition: Transition) -> Mapping[str, float]:
        self.transitions.add(transition.observation, transition.action, transition.next_observation)
        since_warmup = len(self.transitions) - self.warmup
        if since_warmup < 0 or since_warmup % self.fit_every:
            return {}
        rows = self.transitions.arrays()
        self.ensemble.standardise(rows)
        for _ in range(self.epochs if self.fits else self.first_epochs):
            loss = self.trainer.epoch(rows)
        self.fits += 1
        return {"model_loss": loss}

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.trainer.state_dict(),
            "plan": self.planners.training.state_dict(),
            "fits": self.fits,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.trainer.load_state_dict(state["model"])
        self.planners.training.load_state_dict(state["plan"])
        self.fits = state["fits"]


def train(run: Run) -> None:
    config = run.config

    def planner() -> RandomShooting:
        return RandomShooting(run.task.action_dim, config["horizon"], config["candidates"])

    interact(run, PetsAgent(run, planner))
