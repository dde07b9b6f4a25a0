"""PETS with random shooting."""
