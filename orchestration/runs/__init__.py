"""A Dagster run: its job, its storage, its stages, how it ends and why it failed."""
