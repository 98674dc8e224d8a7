"""A run of Dagster's: its job, its storage, what it holds of a home, how it ends and why it failed."""
