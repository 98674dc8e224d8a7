"""A new cluster's folder: what Slurm tells of it, and the `cluster.toml` with what a site decides."""
