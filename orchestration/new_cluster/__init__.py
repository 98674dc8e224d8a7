"""A new cluster's folder and its `cluster.toml`: the site's settings, filled in from Slurm where possible."""
