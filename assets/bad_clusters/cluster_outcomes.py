"""The shared query for each cluster's outcome of the last refresh (built, last good, no numbers)."""

from pathlib import Path

CLUSTER_OUTCOMES = (Path(__file__).parent / "cluster_outcomes.sql").read_text(encoding="utf-8")
