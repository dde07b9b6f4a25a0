"""What all agents share: the run, its loop, its checkpoints and its configuration."""
