"""Names of people and of their work, hidden in the report where a cluster's settings say so.

Users and accounts become numbers that mean the same person on the whole page and nothing beyond it. Job names and
quoted log text, which may hold a name anywhere, are left out.
"""

from __future__ import annotations

from collections import defaultdict

from assets.report.queries import Frames, Row

PEOPLE = {
    "user_name": "user",
    "victim_user_name": "user",
    "instigator_user_name": "user",
    "account": "account",
    "cause": "cause",
    "last_cause": "cause",
}
"""Columns that hold a name, or what people wrote of a failure, and what a number stands behind in place of it."""
OWN_CAUSES = ("all", "not recorded")
"""Causes that nobody wrote."""
TEXTS = ("job_name", "victim_job_name", "example_raw", "example_detail", "message")
"""Columns whose text people chose, or that quote a line of a log."""
REASONS = ("last_fault_reason", "open_reason", "last_reason", "unmapped_reason")
"""Reasons of outages, which are recorded causes where records of failures are all there is."""
SIGNALS, WRITTEN_SIGNALS = ("signal", "example"), ("failure_record", "repair_action")
"""Columns of unmapped signals, and the kinds of them that are words of people."""
HIDDEN = "hidden"
NOTE = "Names are hidden by [report] names in cluster.toml; a number means the same user or account on this page only."


def hide_names(frames: Frames) -> Frames:
    """Replace the names of every cluster that hides them; what is unknown stays unknown."""
    hiding = {cluster["cluster_id"] for cluster in frames["clusters"] if cluster["are_names_hidden"]}
    if not hiding:
        return frames
    of_records = {cluster["cluster_id"] for cluster in frames["clusters"] if cluster["has_records_alone"]}
    numbers: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)

    def without_names(row: Row) -> Row:
        if row.get("cluster_id") not in hiding:
            return row
        shown = dict(row)
        for column, kind in PEOPLE.items():
            if shown.get(column) and shown[column] not in OWN_CAUSES:
                known = numbers[row["cluster_id"], kind]
                shown[column] = f"{kind} {known.setdefault(shown[column], len(known) + 1)}"
        texts = TEXTS + (SIGNALS if shown.get("kind") in WRITTEN_SIGNALS else ())
        texts += REASONS if row["cluster_id"] in of_records else ()
        return shown | {column: HIDDEN for column in texts if shown.get(column)}

    kept = Frames((name, [without_names(row) for row in rows]) for name, rows in frames.items())
    # A check judges all clusters at once, and what it observed may quote any of them.
    kept["checks"] = [check | {"observed": None if check["passed"] else HIDDEN} for check in kept["checks"]]
    kept["not_computed"] = [row | {"reason": row["reason"].partition(":")[0]} for row in kept["not_computed"]]
    return kept
