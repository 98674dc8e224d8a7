"""A pull from a real Slurm, held against the faults that were planted in it."""
