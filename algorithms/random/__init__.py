"""Random actions."""
