"""How the last refresh ended for each cluster (built, last good, no numbers): what all who tell of it select from."""

from pathlib import Path

ENDS = (Path(__file__).parent / "ends.sql").read_text(encoding="utf-8")
