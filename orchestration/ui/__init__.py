"""The web UI: Dagster's own pages behind a guard, with the daemon that runs the schedule."""
