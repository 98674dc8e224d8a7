"""The clusters that can be simulated, each a TOML file: two like the paper's, and two small ones."""

from assets.simulation.clusters.reading import profile_names, read_cluster, read_profile

__all__ = ["profile_names", "read_cluster", "read_profile"]
