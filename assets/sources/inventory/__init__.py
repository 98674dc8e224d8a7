"""Inventories of nodes: as Slurm's commands, its configuration, GCM and tables of a site's own show them."""
