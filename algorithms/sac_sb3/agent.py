"""SAC (Haarnoja et al. 2018) as Stable-Baselines3 has it: a cross-check of this project's own SAC."""

from __future__ import annotations

from stable_baselines3 import SAC

from algorithms.core import sb3
from algorithms.core.run import Run


def train(run: Run) -> None:
    config = run.config
    model = SAC(
        "MlpPolicy",
        sb3.plain_env(run),
        learning_rate=config["learning_rate"],
        buffer_size=run.steps,  # all of the run: the buffer is a log that never wraps around
        learning_starts=config["warmup"],
        batch_size=config["batch_size"],
        tau=config["tau"],
        gamma=config["gamma"],
        train_freq=config["train_every"],
        gradient_steps=config["updates"],
        ent_coef=f"auto_{config['initial_temperature']}",
        policy_kwargs={"net_arch": list(config["hidden"])},
        seed=run.seeds["policy"],
        device="cpu",
    )
    sb3.learn(run, sb3.OffPolicyAgent(model))
