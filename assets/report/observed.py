"""What was observed of a cluster: its quoted rate, whether enough was seen, and the observed time."""

from __future__ import annotations

import datetime as dt

from assets.report.numbers import UNKNOWN, duration
from assets.report.queries import ClusterData, Row


def reference_of(data: ClusterData) -> Row:
    """Return the quoted failure rate of a cluster."""
    return data.row("rates", is_reference=True)


def is_doubtful(data: ClusterData) -> bool:
    """Return whether the logs may miss many failures, so that losses are a lower bound."""
    return bool(data.row("evidence_reach").get("is_doubtful"))


def has_enough(data: ClusterData) -> bool:
    """Return whether enough was observed for estimates."""
    return bool(reference_of(data).get("has_enough_data"))


def through(cluster: Row) -> dt.datetime | None:
    """Return the end of the observed time: that of accounting, if any. An inventory may be much younger."""
    end: dt.datetime | None = cluster.get("data_through_at") or cluster["last_at"]
    return end


def observed(cluster: Row) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Return begin and end of the observed time: those of the study period, if there is one."""
    return cluster.get("study_from_at") or cluster["first_at"], cluster.get("study_to_at") or through(cluster)


def period(cluster: Row) -> str:
    """Write the length of the observed time, and how much of it accounting lacks."""
    begin, end = observed(cluster)
    if begin is None or end is None:
        return UNKNOWN
    span = duration((end - begin).total_seconds() / 3600)
    return f"{span}, {duration(24 * cluster['gap_days'])} of them without accounting" if cluster["gap_days"] else span
