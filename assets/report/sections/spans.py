"""What each log covers, and how that is known: outside of it the answers that rest on it are unknown."""

from __future__ import annotations

from assets.report.blocks import Cell, Table, columns, row
from assets.report.numbers import UNKNOWN, moment, printable, share, whole
from assets.report.queries import Frames, Row, of_cluster

CAPTION = "What each log covers"


def spans(frames: Frames, cluster_id: str) -> Table | None:
    """Build the table; None where no log of the cluster tells a time."""
    covered = of_cluster(frames, "spans", cluster_id)
    if not covered:
        return None
    return Table(
        CAPTION,
        columns("Log", "From", "To", "Share of the study period", "#Gaps", "Known by"),
        tuple(
            row(
                printable(log["kind"]),
                moment(log["from_at"]),
                moment(log["to_at"]),
                UNKNOWN if log["covered_ratio"] is None else share(log["covered_ratio"]),
                Cell(whole(log["gap_count"]), detail=longest_gap(log)),
                printable(log["known_by"]),
            )
            for log in covered
        ),
        note="Outside of these times what rests on the log is unknown, or is taken from the next best log. ops.spans "
        "has every interval; [[spans]] in cluster.toml overrides what is wrong here.",
    )


def longest_gap(covered: Row) -> str:
    """Say where the longest gap lies; nothing where there is none.

    >>> import datetime as dt
    >>> gap = dt.datetime(2026, 9, 1), dt.datetime(2026, 9, 8)
    >>> longest_gap({"gap_count": 1, "longest_gap_from_at": gap[0], "longest_gap_to_at": gap[1]})
    '2026-09-01 00:00 to 2026-09-08 00:00'
    """
    if not covered["gap_count"]:
        return ""
    text = f"{moment(covered['longest_gap_from_at'])} to {moment(covered['longest_gap_to_at'])}"
    return text if covered["gap_count"] == 1 else f"the longest: {text}"
