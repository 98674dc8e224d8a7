"""The record of sent alerts, in a small SQLite file of the home that survives rebuilds and rollbacks.

A process claims an event before it sends it, and one process sends at a time, so that no event is sent twice. An alert
that certainly did not arrive is sent again with later refreshes. One that may have arrived (a time-out, a process
killed while it sent) is sent once more. If the file is lost, all current events are sent once more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

from orchestration.upkeep.permissions import private_files

QUIET_DAYS = 28
"""A node that returns to the list of lemons after so many days is a new event."""
WAIT_SECONDS = 120
"""How long to wait while another process sends."""
SCHEMA = """
create table sent (
    key text not null,
    channel text not null,      -- '': remembered, and sent nowhere
    time text not null,         -- when it was last sent
    attempts integer not null,
    unanswered integer,         -- how many of them may have arrived; null: one did
    primary key (key, channel)
)
"""
CLAIM = """
update sent set time = strftime('%Y-%m-%d %H:%M:%f', 'now'), attempts = attempts + 1, unanswered = unanswered + 1
where key = ? and channel = ? and attempts < 5 and unanswered < 2
"""
RECORD = """
update sent set unanswered = case ? when true then null when false then unanswered - 1 else unanswered end
where key = ? and channel = ?
"""
TAKE_OVER = (
    "insert into sent select key, '', datetime(claimed_at), 0, null from events",
    "insert into sent select key, channel, datetime(at), attempts,"
    " case status when 'failed' then 0 when 'delivered' then null else 2 end"
    " from deliveries where channel <> 'email' and channel not like '%/email'",
    "insert into sent select 'seen:' || cluster_id, '', datetime(first_seen_at), 0, null from clusters",
    "insert into sent select 'seen:' || cluster_id || ':' || node_id || ':' || since, '', last, 0, null from lemons",
    *(f"drop table {table}" for table in ("events", "deliveries", "clusters", "lemons")),
)
"""Fills the table from those of versions before 0.2.0."""


class Ledger:
    """The open file; no other process sends meanwhile."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con

    def knows(self, key: str) -> bool:
        """Return whether an event was noted before."""
        return self._con.execute("select 1 from sent where key = ?", [key]).fetchone() is not None

    def note(self, channels_of: Mapping[str, Sequence[str]]) -> None:
        """Note events that are new, each for its channels; without a channel it is never sent."""
        with self._con:
            for key, channels in channels_of.items():
                if not self.knows(key):
                    rows = [(key, channel) for channel in channels or [""]]
                    self._con.executemany("insert into sent values (?, ?, datetime('now'), 0, 0)", rows)

    def claim(self, keys: Sequence[str], channel: str) -> list[str]:
        """Claim the events to send on a channel, and return their keys."""
        with self._con:
            return [key for key in keys if self._con.execute(CLAIM, [key, channel]).rowcount]

    def record(self, keys: Sequence[str], channel: str, has_arrived: bool | None) -> None:
        """Record whether claimed events arrived; None leaves the claim's state: they may have."""
        with self._con:
            self._con.executemany(RECORD, [(has_arrived, key, channel) for key in keys])

    def lemon_episodes(self, cluster_id: str, nodes: Sequence[str], day: date) -> dict[str, str]:
        """Note that nodes are on the list on a day, and return the first day of each node's episode.

        A node that was off the list for fewer than 28 days of the cluster's data continues its old episode.
        """
        episodes = {}
        seen = "select key, time from sent where channel = '' and key like 'seen:%' order by key"
        known = {
            name: (since, last) for key, last in self._con.execute(seen) for name, _, since in [key.rpartition(":")]
        }
        with self._con:
            for node in nodes:
                name = f"seen:{cluster_id}:{node}"
                since, last = known.get(name, (str(day), str(day)))
                if (day - date.fromisoformat(last)).days >= QUIET_DAYS:
                    since = str(day)
                episodes[node] = since
                row = [f"{name}:{since}", max(str(day), last)]
                self._con.execute("insert or replace into sent values (?, '', ?, 0, null)", row)
        return episodes


@contextmanager
def open_ledger(file: Path) -> Iterator[Ledger]:
    """Open or create the file once no other process sends; the lock ends with the block or with the process."""
    with private_files():
        file.parent.mkdir(parents=True, exist_ok=True)
        lock, con = (sqlite3.connect(path, timeout=WAIT_SECONDS) for path in (file.with_suffix(".lock"), file))
    with closing(lock), closing(con):
        lock.execute("begin exclusive")
        tables = {name for (name,) in con.execute("select name from sqlite_master")}
        if "sent" not in tables:
            with con:
                for statement in ("begin", SCHEMA, *(TAKE_OVER if "events" in tables else ())):
                    con.execute(statement)
        yield Ledger(con)
