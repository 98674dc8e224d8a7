"""Rows of tables whose columns `cluster.toml` names."""
