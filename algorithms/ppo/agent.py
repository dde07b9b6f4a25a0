"""PPO (Schulman et al. 2017): Stable-Baselines3's implementation with MBBL's settings."""

from __future__ import annotations

from stable_baselines3 import PPO
from torch import nn

from algorithms.core import sb3
from algorithms.core.run import Run


def train(run: Run) -> None:
    config = run.config
    env = sb3.whitened_env(run, config["gamma"])
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=sb3.schedule(config["learning_rate"], decay=config["learning_rate_decay"]),
        n_steps=config["rollout_steps"],
        batch_size=config["rollout_steps"] // config["minibatches"],
        n_epochs=config["epochs"],
        gamma=config["gamma"],
        gae_lambda=config["gae_lambda"],
        clip_range=config["clip_range"],
        ent_coef=config["entropy_coefficient"],
        vf_coef=config["value_coefficient"],
        max_grad_norm=config["max_grad_norm"],
        policy_kwargs={"net_arch": list(config["hidden"]), "activation_fn": nn.Tanh},
        seed=run.seeds["policy"],
        device="cpu",
    )
    sb3.learn(run, sb3.OnPolicyAgent(model, env))
