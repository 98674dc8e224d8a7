"""Inventories of nodes, from Slurm's commands, its configuration, GCM and a site's own tables."""
