"""SAC from Stable-Baselines3: a cross-check of this project's own SAC."""
