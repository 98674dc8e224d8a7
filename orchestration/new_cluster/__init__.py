"""A new cluster's folder: what Slurm tells of it, and the `cluster.toml` that shows every key."""
