"""Fetch the logs of a cluster from Slurm into its sources folder, in windows of a day."""
