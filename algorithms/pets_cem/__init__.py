"""PETS with the cross-entropy method."""
