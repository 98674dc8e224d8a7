"""How the last refresh ended for each cluster (built, last good, no numbers): the shared query."""

from pathlib import Path

CLUSTER_OUTCOMES = (Path(__file__).parent / "cluster_outcomes.sql").read_text(encoding="utf-8")
