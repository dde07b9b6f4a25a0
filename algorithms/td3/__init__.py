"""TD3, from Stable-Baselines3."""
