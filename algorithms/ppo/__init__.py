"""PPO, from Stable-Baselines3."""
