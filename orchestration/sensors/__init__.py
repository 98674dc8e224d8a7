"""The sensors: what starts a refresh, and what alerts, while Dagster's daemon runs."""
