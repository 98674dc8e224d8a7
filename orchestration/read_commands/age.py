"""The age of a cluster's data, and whether it exceeds `FAULTLINE_FRESHNESS_HOURS`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from assets.report.numbers import duration, moment


def with_age(row: Mapping[str, Any], fresh_hours: float) -> dict[str, Any]:
    """Add `data_age_hours` and `is_old` to a row with `data_through_at`, which is UTC without a zone or None.

    >>> with_age({"data_through_at": None}, 36)
    {'data_through_at': None, 'data_age_hours': None, 'is_old': False}
    """
    end: datetime | None = row["data_through_at"]
    hours = None if end is None else (datetime.now(UTC).replace(tzinfo=None) - end).total_seconds() / 3600
    age = None if hours is None else round(hours, 2)
    return {**row, "data_age_hours": age, "is_old": hours is not None and hours > fresh_hours}


def as_of(row: Mapping[str, Any]) -> str:
    """Return the time of a row's numbers in words, and how to update old ones; the row is from `with_age`."""
    if row["data_through_at"] is None:
        return ""
    said = f"as of {moment(row['data_through_at'])} UTC, the end of its accounting"
    if not row["is_old"]:
        return said
    old = f"{said}, {ago(row['data_age_hours'])}: old"
    return f"{old}; put newer logs into sources/{row['cluster_id']} and run `faultline refresh`"


def ago(hours: float) -> str:
    """Return an age in words, as the report writes it.

    >>> ago(1.5), ago(207), ago(-3)
    ('1.50 h ago', '8.62 days ago', "3.00 h ahead of this machine's clock")
    """
    if hours < -0.1:
        return f"{duration(-hours)} ahead of this machine's clock"
    return f"{duration(max(hours, 0))} ago"
