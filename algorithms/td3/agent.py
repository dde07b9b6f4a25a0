"""TD3 (Fujimoto et al. 2018): Stable-Baselines3's implementation with MBBL's settings.

y = r + gamma (1 - d) min_i Q_i'(s', clip(pi'(s') + clip(eps)))      d: a fall, not the time limit
"""

from __future__ import annotations

import numpy as np
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise

from algorithms.core import sb3
from algorithms.core.run import Run


def train(run: Run) -> None:
    config = run.config
    noise = np.full(run.task.action_dim, config["exploration_noise"])
    model = TD3(
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
        action_noise=NormalActionNoise(np.zeros_like(noise), noise),
        policy_delay=config["policy_delay"],
        target_policy_noise=config["target_noise"],
        target_noise_clip=config["target_noise_clip"],
        policy_kwargs={"net_arch": list(config["hidden"])},
        seed=run.seeds["policy"],
        device="cpu",
    )
    sb3.learn(run, sb3.OffPolicyAgent(model))
