"""A pull from a real Slurm, compared with the faults that were planted in it."""
