"""Names of people and of their work, hidden in the report where a cluster's settings say so.

Users and accounts become numbers that mean the same person on the whole page and nothing beyond it. Job names and
quoted log text, which may hold a name anywhere, are left out.
"""

from __future__ import annotations

from collections import defaultdict

from assets.report.queries import Frames, Row

PEOPLE = {"user_name": "user", "victim_user_name": "user", "instigator_user_name": "user", "account": "account"}
"""Columns that hold a name, and what a number stands behind in place of it."""
TEXTS = ("job_name", "victim_job_name", "example_raw", "example_detail", "message")
"""Columns whose text people chose, or that quote a line of a log."""
HIDDEN = "hidden"
NOTE = "Names are hidden by [report] names in cluster.toml; a number means the same user or account on this page only."


def hide_names(frames: Frames) -> Frames:
    """Replace the names of every cluster that hides them; what is unknown stays unknown."""
    hiding = {cluster["cluster_id"] for cluster in frames["clusters"] if cluster["are_names_hidden"]}
    if not hiding:
        return frames
    numbers: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)

    def without_names(row: Row) -> Row:
        if row.get("cluster_id") not in hiding:
            return row
        shown = dict(row)
        for column, kind in PEOPLE.items():
            if shown.get(column):
                known = numbers[row["cluster_id"], kind]
                shown[column] = f"{kind} {known.setdefault(shown[column], len(known) + 1)}"
        return shown | {column: HIDDEN for column in TEXTS if shown.get(column)}

    kept = Frames((name, [without_names(row) for row in rows]) for name, rows in frames.items())
    # A check judges all clusters at once, and what it observed may quote any of them.
    kept["checks"] = [check | {"observed": None if check["passed"] else HIDDEN} for check in kept["checks"]]
    return kept
