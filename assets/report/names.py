"""Names of people and of their work, hidden where a cluster's settings say so.

Users and accounts become numbers, which mean the same person on the whole page but not elsewhere. Words that people
wrote and text of logs, which may hold a name anywhere, are left out; a reason becomes the label of its category if
that is known. `assets/public/contents.yml` lists what each column holds.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from assets.public.contents import content_of
from assets.report.queries import QueryRows, Row

NUMBERED = {"user_name": "user", "account": "account", "cause": "cause"}
"""Ends of the columns whose values become numbers, and the word before such a number."""
OWN_CAUSES = ("all", "not recorded")
"""Causes that are not words of the site."""
CODES = ("check", "xid")
"""Kinds of unmapped signals that are the name of a check or a number."""
HIDDEN = "hidden"
NOTE = "Names are hidden by [report] names in cluster.toml; a number means the same user or account on this page only."


def hide_names(query_rows: QueryRows) -> QueryRows:
    """Replace the names of every cluster that hides them; what is unknown stays unknown."""
    clusters = [*query_rows["clusters"], *query_rows.get("clusters_without_numbers", ())]
    hiding = {cluster["cluster_id"] for cluster in clusters if cluster["are_names_hidden"]}
    if not hiding:
        return query_rows
    numbers: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)

    def shown(frame: str, row: Row, column: str) -> Any:
        value = row[column]
        if not value or content_of(frame, column) in ("none", None):
            return value
        if kind := next((kind for end, kind in NUMBERED.items() if column.endswith(end)), None):
            known = numbers[row["cluster_id"], kind]
            return value if value in OWN_CAUSES else f"{kind} {known.setdefault(value, len(known) + 1)}"
        if column == "signal" and row["kind"] in CODES:
            return value
        text = (column.endswith("_reason") and row.get("label")) or HIDDEN
        return [text] if isinstance(value, list) else text

    kept = QueryRows(
        (
            frame,
            [
                {column: shown(frame, row, column) for column in row} if row.get("cluster_id") in hiding else row
                for row in rows
            ],
        )
        for frame, rows in query_rows.items()
    )
    # A check judges all clusters at once, and what it observed may quote any of them.
    kept["checks"] = [check | {"observed": None if check["passed"] else HIDDEN} for check in kept["checks"]]
    kept["not_computed"] = [row | {"reason": row["reason"].partition(":")[0]} for row in kept["not_computed"]]
    return kept
