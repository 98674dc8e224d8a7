"""What was sent of alerts, to whom, and whether it arrived: for `faultline alerts`, doctor, the metrics and ops.alerts.

`orchestration/alerts/ledger.py` writes the file that is read here.
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
    """Return the kind of an event and its cluster, None for the home, by its key.

    >>> about("lemon:alpha:node001:2026-03-01"), about("stale:never"), about("test")
    (('lemon', 'alpha'), ('stale', None), ('test', None))
    """
    kind, _, rest = key.partition(":")
    return kind, None if kind in {"failure", "stale"} else rest.partition(":")[0] or None


def deliveries(home: Home) -> list[dict[str, Any]]:
    """List what was sent, the newest first, one row per event and channel; times are UTC."""
    if not home.alerts.exists():
        return []
    with closing(sqlite3.connect(f"{home.alerts.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as con:
        # The first run of this version takes over the file of an earlier one.
        is_taken_over = con.execute("select 1 from sqlite_master where name = 'sent'").fetchone()
        rows = con.execute(SENT).fetchall() if is_taken_over else []
    columns = ("key", "kind", "cluster_id", "channel", "status", "attempts", "time")
    return [dict(zip(columns, (key, *about(key), *values), strict=True)) for key, *values in rows]


def problems(home: Home) -> list[dict[str, Any]]:
    """List the last delivery of each channel if it did not arrive, or may not have."""
    newest = {row["channel"]: row for row in reversed(deliveries(home))}
    return [row for _, row in sorted(newest.items()) if row["status"] != "delivered"]


def copy_alerts(con: DuckDBPyConnection, home: Home) -> None:
    """Copy what was sent before this run to ops.alerts; the file of alerts stays what decides."""
    rows = [list(row.values()) for row in deliveries(home)]
    with transaction(con):
        con.execute("delete from ops.alerts")
        if rows:
            con.executemany("insert into ops.alerts values (?, ?, ?, ?, ?, ?, ?::timestamp)", rows)
