"""What was observed of a cluster: its quoted rate, whether enough was seen, and the time that was seen."""

from __future__ import annotations

import datetime as dt

from assets.report.numbers import UNKNOWN, duration
from assets.report.queries import ClusterData, Row


def reference_of(data: ClusterData) -> Row:
    """Find the failure rate of a cluster that is quoted."""
    return data.row("rates", is_reference=True)


def is_doubtful(data: ClusterData) -> bool:
    """Return whether the logs may miss much of what failed, so that losses are at least what is told."""
    return bool(data.row("evidence_reach").get("is_doubtful"))


def has_enough(data: ClusterData) -> bool:
    """Return whether enough was observed for the estimates to say something of the machine."""
    return bool(reference_of(data).get("has_enough_data"))


def through(cluster: Row) -> dt.datetime | None:
    """Give the end of what was observed: that of accounting, where there is any. An inventory may be much younger."""
    end: dt.datetime | None = cluster.get("data_through_at") or cluster["last_at"]
    return end


def observed(cluster: Row) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Give begin and end of what was observed: those of the study period, where there is one."""
    return cluster.get("study_from_at") or cluster["first_at"], cluster.get("study_to_at") or through(cluster)


def period(cluster: Row) -> str:
    """Write the observed span of time, and how much of it accounting lacks."""
    begin, end = observed(cluster)
    if begin is None or end is None:
        return UNKNOWN
    span = duration((end - begin).total_seconds() / 3600)
    return f"{span}, {duration(24 * cluster['gap_days'])} of them without accounting" if cluster["gap_days"] else span
