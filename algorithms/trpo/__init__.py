"""TRPO, from sb3-contrib."""
