"""A simulated Slurm GPU cluster: raw logs in the real dialects, and apart from them the truth that was planted.

It is the opponent of the pipeline, so it shares no code with it: numpy, pyarrow for the truth's Parquet, and the
standard library. Randomness comes from one seed; the same seed gives the same bytes.
"""

from assets.simulation.run import SimulatedCluster, Summary, simulate

__all__ = ["SimulatedCluster", "Summary", "simulate"]
