"""TRPO (Schulman et al. 2015): sb3-contrib's implementation with MBBL's settings.

    maximise E[ratio * advantage]  subject to  E[KL(new || old)] <= target_kl

by a natural-gradient step (conjugate gradients on the Fisher matrix) and a backtracking line search.
"""

from __future__ import annotations

from sb3_contrib import TRPO
from torch import nn

from algorithms.core import sb3
from algorithms.core.run import Run


def train(run: Run) -> None:
    config = run.config
    env = sb3.whitened_env(run, config["gamma"])
    model = TRPO(
        "MlpPolicy",
        env,
        learning_rate=sb3.schedule(config["value_learning_rate"], decay=config["learning_rate_decay"]),
        n_steps=config["rollout_steps"],
        batch_size=config["rollout_steps"] // config["minibatches"],
        n_critic_updates=config["value_epochs"],
        gamma=config["gamma"],
        gae_lambda=config["gae_lambda"],
        target_kl=config["target_kl"],
        cg_max_steps=config["conjugate_gradient_steps"],
        cg_damping=config["conjugate_gradient_damping"],
        policy_kwargs={"net_arch": list(config["hidden"]), "activation_fn": nn.Tanh},
        seed=run.seeds["policy"],
        device="cpu",
    )
    sb3.learn(run, sb3.OnPolicyAgent(model, env))
