"""What starts workers, and nothing else: one file each, with `workers` and `run`."""
