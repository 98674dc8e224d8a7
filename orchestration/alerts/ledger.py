"""What was told, in a small SQLite file of the home that survives rebuilds and rollbacks.

An event is claimed before it is sent: after a crash between the two it is not sent again, so each event is told at most
once. A message that certainly did not arrive (refused, answered with an error) is tried again for a day; one that may
have arrived (a time-out, a broken connection) is not. A lost file means that what is known now is told once more.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.warehouse import transaction
from orchestration.home import Home
from orchestration.upkeep.permissions import private_files

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_ATTEMPTS = 5
RETRY_FOR = timedelta(days=1)
QUIET_DAYS = 28
"""A node that was off the list of lemons for so long is told again."""
BUSY_SECONDS = 30
SCHEMA = """
create table if not exists events (
    key text primary key, kind text not null, cluster_id text, subject text not null, line text not null,
    is_simulated integer not null, details text not null, is_told integer not null, claimed_at text not null
);
create table if not exists deliveries (
    key text not null, channel text not null, status text not null, attempts integer not null, error text,
    at text not null, primary key (key, channel)
);
create table if not exists lemons (
    cluster_id text not null, node_id text not null, since text not null, last text not null,
    primary key (cluster_id, node_id)
);
create table if not exists clusters (cluster_id text primary key, first_seen_at text not null);
"""
DELIVERED, FAILED, UNCERTAIN, PENDING = "delivered", "failed", "uncertain", "pending"
"""PENDING: claimed, and the process ended before it was known what became of it."""


@dataclass(frozen=True)
class Event:
    """Something to tell once.

    Attributes
    ----------
    key
        Two events with one key are the same event.
    kind, cluster_id
        What it is, and the cluster; None: the home.
    subject, line
        What it is about in a few words, and one line for people.
    is_simulated
        The cluster's logs were made by a simulator.
    details
        Values for programs.
    """

    key: str
    kind: str
    cluster_id: str | None
    subject: str
    line: str
    is_simulated: bool = False
    details: dict[str, Any] = field(default_factory=dict)


class Ledger:
    """The file. It is made when something is written to it first."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with private_files():
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._file, timeout=BUSY_SECONDS, isolation_level=None)) as con:
                con.executescript(SCHEMA)
                # One writer at a time from here on: two processes never claim one event.
                con.execute("begin immediate")
                yield con
                con.execute("commit")

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        if not self._file.exists():
            return []
        with closing(sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as con:
            con.row_factory = sqlite3.Row
            return [dict(row) for row in con.execute(sql, values).fetchall()]

    def claim(self, events: Sequence[Event], channels_of: dict[str, list[str]]) -> list[Event]:
        """Claim the events that nobody has claimed, for the channels of each; return them.

        Parameters
        ----------
        events
            All that is known now.
        channels_of
            Names of channels by key. An event without any is only remembered.
        """
        if not events:
            return []
        now = _now()
        claimed = []
        with self._writing() as con:
            for event in events:
                channels = channels_of.get(event.key, [])
                added = con.execute(
                    "insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (key) do nothing",
                    [
                        event.key,
                        event.kind,
                        event.cluster_id,
                        event.subject,
                        event.line,
                        event.is_simulated,
                        json.dumps(event.details, default=str),
                        bool(channels),
                        now,
                    ],
                )
                if added.rowcount:
                    claimed.append(event)
                    con.executemany(
                        "insert into deliveries values (?, ?, ?, 1, null, ?)",
                        [(event.key, channel, PENDING, now) for channel in channels],
                    )
        return claimed

    def claim_retries(self, channels: Sequence[str]) -> dict[str, list[Event]]:
        """Claim once more what certainly did not arrive within the last day; by channel."""
        since = (datetime.now(UTC) - RETRY_FOR).isoformat()
        wanted = "status = ? and attempts < ? and events.claimed_at > ?"
        values = [FAILED, MAX_ATTEMPTS, since]
        if not self._rows(f"select 1 from deliveries join events using (key) where {wanted} limit 1", values):
            return {}
        found: dict[str, list[Event]] = {}
        with self._writing() as con:
            con.row_factory = sqlite3.Row
            rows = con.execute(f"select * from deliveries join events using (key) where {wanted}", values).fetchall()
            for row in rows:
                if row["channel"] in channels:
                    found.setdefault(row["channel"], []).append(_event(row))
                    con.execute(
                        "update deliveries set status = ?, attempts = attempts + 1 where key = ? and channel = ?",
                        [PENDING, row["key"], row["channel"]],
                    )
        return found

    def record(self, events: Sequence[Event], channel: str, status: str, error: str | None = None) -> None:
        """Record what became of events on a channel."""
        with self._writing() as con:
            con.executemany(
                "update deliveries set status = ?, error = ?, at = ? where key = ? and channel = ?",
                [(status, error, _now(), event.key, channel) for event in events],
            )

    def lemon_episodes(self, cluster_id: str, nodes: Sequence[str], day: date) -> dict[str, date]:
        """Note that nodes are on the list of a day, and return the day since which each is.

        A node that was off the list for fewer than 28 days of the cluster's data is still in its old episode.
        """
        episodes = {}
        with self._writing() as con:
            for node in nodes:
                row = con.execute(
                    "select since, last from lemons where cluster_id = ? and node_id = ?", [cluster_id, node]
                ).fetchone()
                since, last = (date.fromisoformat(text) for text in row) if row else (day, day)
                if (day - last).days >= QUIET_DAYS:
                    since = day
                con.execute(
                    "insert or replace into lemons values (?, ?, ?, ?)",
                    [cluster_id, node, since.isoformat(), max(day, last).isoformat()],
                )
                episodes[node] = since
        return episodes

    def is_new_cluster(self, cluster_id: str) -> bool:
        """Return whether a cluster is looked at for the first time, and remember that it was."""
        if self._rows("select 1 from clusters where cluster_id = ?", [cluster_id]):
            return False
        with self._writing() as con:
            added = con.execute("insert or ignore into clusters values (?, ?)", [cluster_id, _now()])
            return bool(added.rowcount)

    def deliveries(self, limit: int | None = None) -> list[dict[str, Any]]:
        """List what was sent and what was not, the newest first; one row per event and channel."""
        return self._rows(
            "select key, kind, cluster_id, subject, line, claimed_at, channel, status, attempts, error, at"
            " from deliveries join events using (key) order by at desc, key, channel limit ?",
            [-1 if limit is None else limit],
        )

    def problems(self) -> list[dict[str, Any]]:
        """List the channels whose last message did not arrive, with the reason; mail is no channel any more."""
        return self._rows(
            """
            select channel, status, error, max(at) as at
            from deliveries where status <> 'pending' and channel <> 'email' and channel not like '%/email'
            group by channel having status <> 'delivered' order by channel
            """
        )


def _event(row: sqlite3.Row) -> Event:
    return Event(
        row["key"],
        row["kind"],
        row["cluster_id"],
        row["subject"],
        row["line"],
        bool(row["is_simulated"]),
        json.loads(row["details"]),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def copy_alerts(con: DuckDBPyConnection, home: Home) -> None:
    """Copy what was told before this run to ops.alerts; the file of alerts stays what decides."""
    columns = ("key", "kind", "cluster_id", "line", "channel", "status", "attempts", "error", "claimed_at", "at")
    rows = [[row[name] for name in columns] for row in Ledger(home.alerts).deliveries()]
    with transaction(con):
        con.execute("delete from ops.alerts")
        if rows:
            con.executemany(
                "insert into ops.alerts values (?, ?, ?, ?, ?, ?, ?, ?, ?::timestamptz::timestamp,"
                " ?::timestamptz::timestamp)",
                rows,
            )
