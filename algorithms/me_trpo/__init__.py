"""ME-TRPO: TRPO on rollouts that are imagined with an ensemble."""
