"""Models: where simulated outcomes come from."""
