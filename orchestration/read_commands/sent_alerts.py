"""Sent alerts, their channels, and whether they arrived: for `faultline alerts`, doctor, the metrics and ops.alerts.

`orchestration/alerts/ledger.py` writes the file.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from assets.warehouse import transaction
from orchestration.settings.home import Home

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BUSY_SECONDS = 30
SENT = """
select
    key,
    channel,
    case when unanswered is null then 'delivered' when unanswered = 0 then 'failed' else 'uncertain' end as status,
    attempts,
    time
from sent
where attempts > 0
order by time desc, key, channel
"""


def about(key: str) -> tuple[str, str | None]:
    """Return the kind and the cluster (None for the home) of an event's key.

    >>> about("lemon:alpha:node001:2026-03-01"), about("stale:never"), about("test")
    (('lemon', 'alpha'), ('stale', None), ('test', None))
    """
    kind, _, rest = key.partition(":")
    return kind, None if kind in {"failure", "stale"} else rest.partition(":")[0] or None


def deliveries(home: Home) -> list[dict[str, Any]]:
    """List the sent alerts, the newest first, one row per event and channel; times are UTC."""
    if not home.alerts.exists():
        return []
    with closing(sqlite3.connect(f"{home.alerts.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as con:
        # The first run of this version converts the file of an earlier one.
        is_taken_over = con.execute("select 1 from sqlite_master where name = 'sent'").fetchone()
        rows = con.execute(SENT).fetchall() if is_taken_over else []
    columns = ("key", "kind", "cluster_id", "channel", "status", "attempts", "time")
    return [dict(zip(columns, (key, *about(key), *values), strict=True)) for key, *values in rows]


def problems(home: Home) -> list[dict[str, Any]]:
    """List the last delivery of each channel, if it did not or may not have arrived."""
    newest = {row["channel"]: row for row in reversed(deliveries(home))}
    return [row for _, row in sorted(newest.items()) if row["status"] != "delivered"]


def copy_alerts(con: DuckDBPyConnection, home: Home) -> None:
    """Copy the alerts sent before this run to ops.alerts; the alerts file still decides what is sent."""
    rows = [list(row.values()) for row in deliveries(home)]
    with transaction(con):
        con.execute("delete from ops.alerts")
        if rows:
            con.executemany("insert into ops.alerts values (?, ?, ?, ?, ?, ?, ?::timestamp)", rows)
