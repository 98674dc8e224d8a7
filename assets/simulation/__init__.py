"""A simulator of Slurm GPU clusters. It writes raw logs in the formats of real sites, and the planted truth apart.

The simulator tests the rest of Faultline, so it shares no code with it. It uses numpy, pyarrow (to write the truth as
Parquet) and pydantic (to read the clusters). The same seed gives the same bytes.
"""

from assets.simulation.run import SimulatedCluster, Summary, simulate

__all__ = ["SimulatedCluster", "Summary", "simulate"]
