"""The agents: one folder each, discovered by its config.yaml, all trained by algorithms.core.train."""
