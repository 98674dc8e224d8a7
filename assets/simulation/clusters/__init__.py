"""The clusters that can be simulated: two like the paper's, and two small ones.

Each cluster is a TOML file. `profiles.toml` lists the profiles of `faultline simulate`; `reading.py` reads the files.
"""

from assets.simulation.clusters.reading import profile_names, read_cluster, read_profile

__all__ = ["profile_names", "read_cluster", "read_profile"]
